"""The overview as a client reads it."""

from typing import Any

from django.urls import reverse

from tests.backoffice import BackOffice


def answer_of(client: BackOffice, query: str = "") -> dict[str, Any]:
    """Return the answer to a poll of the overview."""
    response = client.get(f"{reverse('overview')}{query}")
    assert response.status_code == 200
    answer: dict[str, Any] = response.json()
    return answer


def parts_of(client: BackOffice, query: str = "") -> dict[str, Any]:
    """Return the parts by their keys."""
    return {part["key"]: part for part in answer_of(client, query)["parts"]}


def notes_of(client: BackOffice) -> dict[str, Any]:
    """Return the notes by their keys."""
    return {note["key"]: note for note in parts_of(client).get("notes", {}).get("notes", ())}


def row_of(part: dict[str, Any], key: str) -> list[Any]:
    """Return the cells of a row."""
    found: list[Any] = next(row["cells"] for row in part["rows"] if row["key"] == key)
    return found


def texts_of(cells: list[Any]) -> list[str]:
    return [cell["text"] for cell in cells]
