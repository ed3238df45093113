"""Rows named by an id in an address."""

import re
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet, UUIDField
from django.http import Http404

from callcentre.core.integers import integer_of

Row = TypeVar("Row")
_UUID = re.compile(r"[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}", re.IGNORECASE)


def pk_or_404(model: type[Model], raw_id: str) -> Any:
    """Return the primary key that the text spells; raise Http404 if it spells none."""
    if isinstance(model._meta.pk, UUIDField):
        pk: Any = UUID(raw_id) if _UUID.fullmatch(raw_id) else None
    else:
        pk = integer_of(raw_id)
    if pk is None:
        raise Http404
    return pk


def get_or_404(rows: QuerySet[Any, Row], raw_id: str) -> Row:
    """Return the row with this primary key; raise Http404 for an unknown or malformed id."""
    row = rows.filter(pk=pk_or_404(rows.model, raw_id)).first()
    if row is None:
        raise Http404
    return row
