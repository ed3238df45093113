import re
from collections.abc import Sequence
from typing import Any

from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.core.errors import ErrorCode, Fault, Invalid

MAX_LIMIT = 100
MAX_OFFSET = 2**63 - 1


def limit_and_offset(params: Any, faults: list[Fault]) -> tuple[int, int]:
    """Read `limit` (default and maximum 100) and `offset` from a query; add their faults to the list."""

    def whole(name: str, default: int, lowest: int) -> int:
        text = params.get(name, "").strip()
        if not text:
            return default
        if not re.fullmatch("-?[0-9]+", text):
            faults.append(Fault(ErrorCode.NOT_INTEGER, name))
            return default
        # A number with more digits is beyond every end; Python refuses to read thousands of digits.
        value = min(int(text), MAX_OFFSET) if len(text) < 20 else MAX_OFFSET * (-1 if text[0] == "-" else 1)
        if value < lowest:
            faults.append(Fault(ErrorCode.OUT_OF_RANGE, name, {"low": lowest, "high": MAX_OFFSET}))
            return default
        return value

    return min(whole("limit", MAX_LIMIT, 1), MAX_LIMIT), whole("offset", 0, 0)


class LimitOffset(BasePagination):
    """Pages of {count, result}. An unordered queryset is refused: its pages would overlap."""

    @staticmethod
    def faults(request: Request) -> list[Fault]:
        """Return the faults of limit and offset, for a view that reports them together with those of its filters."""
        faults: list[Fault] = []
        limit_and_offset(request.query_params, faults)
        return faults

    def paginate_queryset(
        self, queryset: Any, request: Request, view: Any = None, columns: Sequence[str] = ()
    ) -> list[Any]:
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
        limit, offset = limit_and_offset(request.query_params, faults)
        if faults:
            raise Invalid(faults)
        self.count = self.count_of(queryset)
        return queryset.values("pk")[offset : offset + limit] if offset < self.count else None

    def count_of(self, queryset: Any) -> int:
        return int(queryset.order_by().count())

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"count": self.count, "result": data})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "required": ["count", "result"],
            "properties": {"count": {"type": "integer"}, "result": schema},
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return [
            {
                "name": "limit",
                "in": "query",
                "description": "Entries a page: 1 to 100; more counts as 100.",
                "schema": {"type": "integer", "minimum": 1, "default": MAX_LIMIT},
            },
            {
                "name": "offset",
                "in": "query",
                "description": "Entries to skip.",
                "schema": {"type": "integer", "minimum": 0, "default": 0},
            },
        ]
