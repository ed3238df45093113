"""Rows named by an id in an address."""

import re
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet, UUIDField

from callcentre.core.errors import ErrorCode, NotFound
from callcentre.core.integers import integer_of

Row = TypeVar("Row")
_UUID = re.compile(r"[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}", re.IGNORECASE)


def found_or_404(row: Row | None, code: ErrorCode) -> Row:
    """Return the row; raise NotFound with the code for None."""
    if row is None:
        raise NotFound(code)
    return row


def pk_or_404(model: type[Model], raw_id: str, code: ErrorCode) -> Any:
    """Return the primary key that the text spells; raise NotFound if it spells none."""
    if isinstance(model._meta.pk, UUIDField):
        pk: Any = UUID(raw_id) if _UUID.fullmatch(raw_id) else None
    else:
        pk = integer_of(raw_id)
    return found_or_404(pk, code)


def get_or_404(rows: QuerySet[Any, Row], raw_id: str, code: ErrorCode) -> Row:
    """Return the row with this primary key; raise NotFound for an unknown or malformed id."""
    return found_or_404(rows.filter(pk=pk_or_404(rows.model, raw_id, code)).first(), code)
