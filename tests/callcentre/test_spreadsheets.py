"""Cells of CSV and XLSX files: Python and PostgreSQL find the same formulas."""

import ast
import csv
import io
import re
import zipfile
from typing import Any

import pytest
from django.db import connection
from psycopg import sql

from callcentre.core.spreadsheets import CsvWriter, as_entered, harmless, harmless_in_sql, workbook
from tests.processes import ROOT

# Text -> the cell. An apostrophe stands where a spreadsheet of any separator would begin to read a formula.
FORMULAS = {
    "=1+1": "'=1+1",
    " =1+1": "' =1+1",
    "\u00a0=1": "'\u00a0=1",
    "\t=1": "\t'=1",
    "\n=1": "\n'=1",
    "\r\n=1": "'\r\n'=1",
    " \n +cmd": " \n' +cmd",
    "'=1": "''=1",
    "' =1": "'' =1",
    " '=1": "' '=1",
    "＝1": "'＝1",
    "\tplain": "'\tplain",
    "\n": "'\n",
    "@x": "'@x",
    "+": "'+",
    "\x01=1": "'\x01=1",
    "\x7f@1": "'\x7f@1",
    "+48 22 555 =1": "'+48 22 555 =1",
    "a;=cmd|'/C calc'!A0": "a;'=cmd|'/C calc'!A0",
    "a,=1": "a,'=1",
    "a|-1": "a|'-1",
    "a\t@x": "a\t'@x",
    "a\n=1": "a\n'=1",
    "a\r= 1": "a\r'= 1",
    'a;"=1"': 'a;\'"=1"',
    "a; '\u00a0=1": "a;' '\u00a0=1",
    "=a;;=b": "'=a;;'=b",
    "5,+48,0*cmd|' /C calc'!A0": "5,'+48,0*cmd|' /C calc'!A0",
}
HARMLESS = [
    *("", " ", "it's", "a=b", " Nowak", "+48 (22) 555-01.01/2", " +48 22", "-5", "-", "' '", "Łódź"),
    *("a; b, c", "a;'b'", "a - b", "+48 22 555 01 01, +48 22 555 01 02", "1;-2\n3"),
]


@pytest.mark.parametrize(("text", "cell"), FORMULAS.items())
def test_a_formula_gets_apostrophes_that_an_import_removes(text: str, cell: str) -> None:
    assert harmless(text) == cell
    assert as_entered(cell) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_other_cells_stay_as_they_are(text: str) -> None:
    assert harmless(text) == text
    assert as_entered(text) == text


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("ours", [",", ";"])
@pytest.mark.parametrize("theirs", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_NONE])
def test_no_cell_is_a_formula_to_a_spreadsheet_of_another_separator(
    text: str, ours: str, theirs: str, quoting: Any
) -> None:
    output = io.StringIO()
    CsvWriter(output, delimiter=ours).write([["first", text, text, 1]])

    lines = re.split("\r\n|\r|\n", output.getvalue())
    cells = [cell for row in csv.reader(lines, delimiter=theirs, quoting=quoting) for cell in row]
    assert [cell for cell in cells if cell.lstrip('\x01\x7f\u00a0" \t\n\r')[:1] in tuple("=+@＝-")] == []


@pytest.mark.django_db
@pytest.mark.parametrize("text", [*FORMULAS, *HARMLESS])
def test_postgresql_finds_the_same_formulas(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SELECT {}").format(harmless_in_sql(sql.Literal(text))).as_string(cursor.connection))
        [written] = cursor.fetchone()

    assert written == harmless(text)


def test_a_csv_file_has_no_formula_in_headings_or_cells() -> None:
    output = io.StringIO()

    CsvWriter(output, delimiter=";").write([["=name", "number"], ["@SUM(A1)", -5], [None, {"a,=1": 2}]])

    assert output.getvalue() == "'=name;number\n'@SUM(A1);-5\n;{'a,'=1': 2}\n"


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


@pytest.mark.slow("reads the whole code")
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
