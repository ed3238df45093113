"""Cells of CSV and XLSX files: Python and PostgreSQL find the same formulas."""

import ast
import csv
import io
import re
import zipfile
from itertools import product
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


def test_a_formula_gets_apostrophes_that_an_import_removes_and_other_cells_stay_as_they_are():
    cells = FORMULAS | dict(zip(HARMLESS, HARMLESS, strict=True))

    assert {text: harmless(text) for text in cells} == cells
    assert {as_entered(cell): cell for cell in cells.values()} == cells


@pytest.mark.parametrize("ours", [",", ";"])
@pytest.mark.parametrize("theirs", [",", ";", "\t", "|"])
def test_no_cell_is_a_formula_to_a_spreadsheet_of_another_separator(ours, theirs):
    quotings: tuple[Any, ...] = (csv.QUOTE_MINIMAL, csv.QUOTE_NONE)
    for text, quoting in product(FORMULAS, quotings):
        output = io.StringIO()
        CsvWriter(output, delimiter=ours).write([["first", text, text, 1]])

        lines = re.split("\r\n|\r|\n", output.getvalue())
        cells = [cell for row in csv.reader(lines, delimiter=theirs, quoting=quoting) for cell in row]
        assert [cell for cell in cells if cell.lstrip('\x01\x7f\u00a0" \t\n\r')[:1] in tuple("=+@＝-")] == [], text


@pytest.mark.django_db
def test_postgresql_finds_the_same_formulas():
    texts = [*FORMULAS, *HARMLESS]
    columns = sql.SQL(", ").join(harmless_in_sql(sql.Literal(text)) for text in texts)

    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("SELECT {}").format(columns).as_string(cursor.connection))
        written = cursor.fetchone()

    assert dict(zip(texts, written, strict=True)) == {text: harmless(text) for text in texts}


def test_a_csv_file_has_no_formula_in_headings_or_cells():
    output = io.StringIO()

    CsvWriter(output, delimiter=";").write([["=name", "number"], ["@SUM(A1)", -5], [None, {"a,=1": 2}]])

    assert output.getvalue() == "'=name;number\n'@SUM(A1);-5\n;{'a,'=1': 2}\n"


def test_an_xlsx_file_never_has_a_formula():
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
def test_every_spreadsheet_of_the_product_is_written_by_the_one_module():
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
