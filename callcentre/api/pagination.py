import re
from collections.abc import Sequence
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.core.errors import ErrorCode, Fault, Invalid

# The default of `limit`, and its maximum in most lists.
MAX_LIMIT = 100
MAX_OFFSET = 2**63 - 1


def read_limit(params: Any, faults: list[Fault], most: int = MAX_LIMIT) -> int:
    """Read `limit` from a query; add its fault to the list. A higher limit than the maximum counts as the maximum."""
    return min(_whole(params, faults, "limit", default=MAX_LIMIT, low=1, high=most), most)


def limit_and_offset(params: Any, faults: list[Fault], most: int = MAX_LIMIT) -> tuple[int, int]:
    """Read `limit` and `offset` from a query; add their faults to the list."""
    return read_limit(params, faults, most), _whole(params, faults, "offset", default=0, low=0, high=MAX_OFFSET)


def _whole(params: Any, faults: list[Fault], name: str, *, default: int, low: int, high: int) -> int:
    text = params.get(name, "").strip()
    if not text:
        return default
    if not re.fullmatch("-?[0-9]+", text):
        faults.append(Fault(ErrorCode.NOT_INTEGER, name))
        return default
    # A number with more digits is beyond every end; Python refuses to read thousands of digits.
    value = min(int(text), MAX_OFFSET) if len(text) < 20 else MAX_OFFSET * (-1 if text[0] == "-" else 1)
    if value < low:
        faults.append(Fault(ErrorCode.OUT_OF_RANGE, name, {"low": low, "high": high}))
        return default
    return value


class LimitOffset:
    """Pages of {count, result}. An unordered queryset is refused: its pages would overlap."""

    def __init__(self, most: int = MAX_LIMIT) -> None:
        self.most = most

    def faults(self, request: Request) -> list[Fault]:
        """Return the faults of limit and offset, for a view that reports them together with those of its filters."""
        faults: list[Fault] = []
        limit_and_offset(request.query_params, faults, self.most)
        return faults

    def paginate_queryset(self, queryset: Any, request: Request, columns: Sequence[str] = ()) -> list[Any]:
        """Return the objects of the page, or with `columns` its rows as dictionaries."""
        keys = self.keys_of_page(queryset, request)
        if keys is None:
            return []
        page = queryset.model.objects.filter(pk__in=keys)
        page = page.order_by(*queryset.query.order_by or queryset.model._meta.ordering)
        return list(page.values(*columns) if columns else page)

    def keys_of_page(self, queryset: Any, request: Request) -> Any:
        """Return a queryset of the page's primary keys, in order; None past the end.

        Skipped rows are not read: their keys are skipped in an index, and joins are made for the page alone.
        """
        if not queryset.ordered:
            raise TypeError(f"{queryset.model.__name__} is paged unordered")
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults, self.most)
        if faults:
            raise Invalid(faults)
        self.count = self.count_of(queryset)
        return queryset.values("pk")[offset : offset + limit] if offset < self.count else None

    def count_of(self, queryset: Any) -> int:
        return int(queryset.order_by().count())

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"count": self.count, "result": data})
