"""Cells of CSV and XLSX files: Python and PostgreSQL find the same formulas."""

import ast
import io
import zipfile

import pytest
from django.db import connection
from psycopg import sql

from callcentre.core.spreadsheets import CsvWriter, as_entered, harmless, harmless_in_sql, workbook
from tests.processes import ROOT

FORMULAS = [
    "=1+1",
    " =1+1",
    "\u00a0=1",
    "\t=1",
    "\n=1",
    "\r\n=1",
    " \n +cmd",
    "'=1",
    "' =1",
    "＝1",
    "\tplain",
    "\n",
    "@x",
    "+",
    "\x01=1",
    "\x7f@1",
    "+48 22 555 =1",
]
HARMLESS = ["", " ", "it's", "a=b", " Nowak", "+48 (22) 555-01.01/2", " +48 22", "-5", "-", "' '", "Łódź"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_gets_an_apostrophe_that_an_import_removes(text: str) -> None:
    assert harmless(text) == f"'{text}"
    assert as_entered(f"'{text}") == text


@pytest.mark.parametrize("text", HARMLESS)
def test_other_cells_stay_as_they_are(text: str) -> None:
    assert harmless(text) == text
    assert as_entered(text) == text


@pytest.mark.django_db
@pytest.mark.parametrize("text", [*FORMULAS, *HARMLESS])
def test_postgresql_finds_the_same_formulas(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SELECT {}").format(harmless_in_sql(sql.Literal(text))).as_string(cursor.connection))
        [written] = cursor.fetchone()

    assert written == harmless(text)


def test_a_csv_file_has_no_formula_in_headings_or_cells() -> None:
    output = io.StringIO()

    CsvWriter(output, delimiter=";").write([["=name", "number"], ["@SUM(A1)", -5], [None, "+48 22 555"]])

    assert output.getvalue() == "'=name;number\n'@SUM(A1);-5\n;+48 22 555\n"


def test_an_xlsx_file_never_has_a_formula() -> None:
    output = io.BytesIO()
    book = workbook(output)
    sheet = book.add_worksheet()
    sheet.write_string(0, 0, "=1+1")
    sheet.write(0, 1, "@SUM(A1)")
    sheet.write_row(1, 0, ["-cmd", "plain", -5])
    book.close()

    written = zipfile.ZipFile(output).read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in written
    assert [text for text in ("'=1+1", "'@SUM(A1)", "'-cmd", ">plain<", ">-5<") if text not in written] == []


def test_every_spreadsheet_of_the_product_is_written_by_the_one_module() -> None:
    writing = {"csv.writer", "csv.DictWriter", "xlsxwriter.Workbook", "Workbook"}
    root = ROOT
    apps = ("callcentre", "campaigns", "knowledgebase", "reports", "telephony", "tickets", "webhooks")
    found = {
        path.relative_to(root).as_posix()
        for app in apps
        for path in (root / app).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in writing
    }
    # The workbook class there is a subclass, under another name.
    assert found == {"callcentre/core/spreadsheets.py"}
