"""Rows of a span of time, found by their ids: lists are in their order, and no walk leads through millions of rows.

Ids grow with the time of their row, but for some that were given out by transactions side by side.
"""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.db import connection, models
from django.db.models import F, Max, Min, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminDateWidget

from webhooks.models import Event

# Rows that may lie on the wrong side of a bound that was found by halving; looked at one by one.
MARGIN = 20_000
# An event has the time at which its transaction began, and its id from when it was recorded. What records more than a
# row takes this long at most, an import of a million records included.
LONGEST_RECORDING = timedelta(minutes=10)
# The sum keeps the planner from walking along the primary key until it meets one.
ID = F("id") + 0

_SEARCH = """
WITH RECURSIVE search(low, high) AS (
  SELECT (SELECT min(id) FROM {table}), (SELECT max(id) + 1 FROM {table})
  UNION ALL
  SELECT CASE WHEN found.at < %s THEN found.id + 1 ELSE low END, CASE WHEN found.at < %s THEN high ELSE middle END
  FROM (SELECT low, high, (low + high) / 2 AS middle FROM search WHERE low < high) AS half
  CROSS JOIN LATERAL (SELECT id, {column} AS at FROM {table} WHERE id >= middle ORDER BY id LIMIT 1) AS found
)
SELECT high FROM search WHERE low >= high
"""


def first_id_since(model: type[models.Model], column: str, bound: datetime | int) -> int:
    """An id below which hardly any row has this value or a later one, in a column that grows as the ids do.

    One statement, some 25 look-ups of the key.
    """
    query = _SEARCH.format(table=model._meta.db_table, column=column)
    with connection.cursor() as cursor:
        cursor.execute(query, [bound, bound])
        found = cursor.fetchone()
    return int(found[0]) if found else 0


def within(queryset: QuerySet[Any], column: str, since: datetime | None, until: datetime | None) -> QuerySet[Any]:
    """Those from `since` on and before `until`."""
    if since:
        low = first_id_since(queryset.model, column, since)
        queryset = queryset.filter(pk__gte=low - MARGIN, **{f"{column}__gte": since})
    if until:
        high = first_id_since(queryset.model, column, until)
        queryset = queryset.filter(pk__lte=high + MARGIN, **{f"{column}__lt": until})
    return queryset


def first_event_since(since: datetime) -> int | None:
    """The lowest id of an event of this time or a later one, by the index on the time."""
    later = Event.objects.filter(created_at__gte=since).order_by("created_at")
    nearest = later.values_list("created_at", flat=True).first()
    if nearest is None:
        return None
    found: int = later.filter(created_at__lte=nearest + LONGEST_RECORDING).aggregate(id=Min(ID))["id"]
    return found


def last_event_before(until: datetime) -> int | None:
    """The highest id of an event of an earlier time."""
    earlier = Event.objects.filter(created_at__lt=until).order_by("-created_at")
    nearest = earlier.values_list("created_at", flat=True).first()
    if nearest is None:
        return None
    found: int = earlier.filter(created_at__gte=nearest - LONGEST_RECORDING).aggregate(id=Max(ID))["id"]
    return found


class DatesForm(forms.Form):
    """From a day to a day, both included."""

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for end, label in (("from", _("From")), ("to", _("To"))):
            widget = UnfoldAdminDateWidget(attrs={"placeholder": label, "aria-label": label})
            self.fields[f"{name}_{end}"] = forms.DateField(label=label, required=False, widget=widget)


class DatesFilter(admin.SimpleListFilter):
    """By day; `column` is what counts as a row's time, and has no index."""

    title = _("date")
    parameter_name = "date"
    template = "unfold/filters/filters_date_range.html"
    form_class = DatesForm
    column = ""

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        self.request = request
        for name in self.expected_parameters():
            if name in params:
                value = params.pop(name)
                self.used_parameters[name] = value[-1] if isinstance(value, list) else value

    def has_output(self) -> bool:
        return True

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[str, Any]]:
        return ()

    def expected_parameters(self) -> list[str | None]:
        return [f"{self.parameter_name}_from", f"{self.parameter_name}_to"]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        first, last = self._day("from"), self._day("to")
        since = _midnight(first) if first else None
        until = _midnight(last + timedelta(days=1)) if last else None
        return self.of_span(queryset, since, until) if since or until else queryset

    def of_span(self, queryset: QuerySet[Any], since: datetime | None, until: datetime | None) -> QuerySet[Any]:
        return within(queryset, self.column, since, until)

    def _day(self, end: str) -> date | None:
        text = self.used_parameters.get(f"{self.parameter_name}_{end}") or ""
        try:
            day = parse_date(text)
        except ValueError:
            return None
        return day if day and date(1971, 1, 1) < day < date(9000, 1, 1) else None

    def choices(self, changelist: Any) -> Any:
        form = self.form_class(self.parameter_name, data=self.used_parameters or None)
        yield {"request": self.request, "parameter_name": self.parameter_name, "form": form}


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
