"""The demonstration, and data for load tests (`load`). Names, texts and files are in `data`."""

from pathlib import Path
from typing import Any, TypeVar

import yaml
from django.db.models import Model

DATA = Path(__file__).parent / "data"
Row = TypeVar("Row", bound=Model)


def data(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((DATA / f"{name}.yaml").read_text()))


def add(model: type[Row], rows: list[dict[str, Any]], key: str = "name", **same: Any) -> list[Row]:
    """Return all rows; first create those that are missing by their key and by the values that are the same in all."""
    known = model._default_manager
    return [known.filter(**{key: row[key]}, **same).first() or known.create(**row, **same) for row in rows]
