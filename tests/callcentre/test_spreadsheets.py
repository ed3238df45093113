"""Cells of CSV files: what a spreadsheet would take for a formula, to Python and to PostgreSQL alike."""

import pytest
from django.db import connection

from callcentre.spreadsheets import FORMULA, NUMBER, as_entered, harmless

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
]
HARMLESS = ["", " ", "it's", "a=b", " Nowak", "+48 (22) 555-01.01/2", " +48 22", "-5", "-", "' '", "Łódź"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_gets_an_apostrophe_that_an_import_takes_away(text: str) -> None:
    assert harmless(text) == f"'{text}"
    assert as_entered(f"'{text}") == text


@pytest.mark.parametrize("text", HARMLESS)
def test_other_cells_stay_as_they_are(text: str) -> None:
    assert harmless(text) == text
    assert as_entered(text) == text


@pytest.mark.django_db
@pytest.mark.parametrize("text", [*FORMULAS, *HARMLESS])
def test_postgresql_tells_them_alike(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s ~ %s AND %s !~ %s", [text, FORMULA, text, NUMBER])
        [found] = cursor.fetchone()

    assert found == (text in FORMULAS)
