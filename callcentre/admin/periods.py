"""A filter of a list that leaves exactly the rows that a figure of a report counts."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import reduce
from operator import or_
from typing import Any, ClassVar

from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter

from callcentre.core.counted import PARAMETER, Spans, read

# Longer than any call lasts.
LONGEST = timedelta(days=31)


def within(column: str, spans: Spans) -> Q:
    """Build the condition for rows whose instant lies in one of the spans."""
    return reduce(or_, (Q(**{f"{column}__gte": a, f"{column}__lt": b}) for a, b in spans))


def touching(start: str, end: str, spans: Spans) -> Q:
    """Build the condition for rows that last during a part of one of the spans. A row without an end still lasts."""
    lasts = Q(**{end: None}) | Q(**{f"{end}__gt": F(start)})
    return lasts & reduce(
        or_, (Q(**{f"{start}__lt": b}) & (Q(**{f"{end}__gt": a}) | Q(**{end: None})) for a, b in spans)
    )


def near(column: str, spans: Spans) -> Q:
    """Build the condition for rows that begin inside the spans or shortly before, for the index of the column."""
    return Q(**{f"{column}__gte": spans[0][0] - LONGEST, f"{column}__lt": spans[-1][1]})


class PeriodFilter(DropdownFilter):
    """A filter that links from a report set. The panel shows it while it is in use, so that people can remove it."""

    title = _("the report")
    parameter_name = PARAMETER
    # Way of counting -> its name in the panel.
    ways: ClassVar[Mapping[str, Any]] = {}

    def of(self, way: str, arguments: Sequence[int], spans: Spans) -> Q:
        """Build the condition for the rows counted this way in these spans. There is at least one argument."""
        raise NotImplementedError

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        value = self.value() or ""
        if (found := self._read()) is None:
            return []
        way, _arguments, spans = found
        first, last = timezone.localtime(spans[0][0]), timezone.localtime(spans[-1][1])
        label = f"{self.ways[way]}, {first:%Y-%m-%d %H:%M} – {last:%Y-%m-%d %H:%M}"
        if len(spans) > 1:
            label += _now(" (in parts)")
        return [(value, label)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        found = self._read()
        return queryset if found is None else queryset.filter(self.of(*found))

    def _read(self) -> tuple[str, list[int], Spans] | None:
        found = read(self.value() or "")
        return found if found and found[0] in self.ways else None
