"""Exports as tests ask for them, and what their files say."""

import csv
import io
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

from reports import exporting as builds
from reports.measures import NAMES
from reports.models import Export
from reports.verbs.exports import ask_export
from tests.conftest import ACTOR

SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def an_export(span: Any, aggregation: str = "day", **values: Any) -> Export:
    """Of all agents, with all columns."""
    return ask_export(ACTOR, *span, **{"aggregation": aggregation, "columns": NAMES, **values})


def built(export: Export) -> Export:
    while builds.build_next():
        pass
    export.refresh_from_db()
    assert export.state == "finished", export.message
    return export


def rows_of(export: Export) -> list[dict[str, str]]:
    """Of a CSV file: a row is name -> text."""
    with export.file.open("rb") as file:
        text = file.read().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def cells_of(export: Export) -> list[list[Any]]:
    """Of the first sheet of an XLSX file: numbers as such, texts as such, None for nothing."""
    with export.file.open("rb") as file, ZipFile(file) as book:
        tree = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    return [list(_cells(row)) for row in tree.iter(f"{SHEET}row")]


def _cells(row: ElementTree.Element) -> Iterable[Any]:
    place = 0
    for cell in row.iter(f"{SHEET}c"):
        letters = "".join(sign for sign in cell.attrib["r"] if sign.isalpha())
        column = 0
        for letter in letters:
            column = 26 * column + ord(letter) - 64
        while place < column - 1:
            yield None
            place += 1
        yield _value(cell)
        place += 1


def _value(cell: ElementTree.Element) -> Any:
    if cell.attrib.get("t") == "inlineStr":
        return "".join(part.text or "" for part in cell.iter(f"{SHEET}t"))
    value = cell.find(f"{SHEET}v")
    return None if value is None or value.text is None else float(value.text)
