"""Find the ids of the rows of a period by binary search, because an index on the time is missing.

Ids grow with the time of their rows, except for a few from transactions that ran at the same time.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import F, Max, Min, QuerySet

from callcentre.core.statements import row_of
from webhooks.models import Event

# Rows that may lie on the wrong side of a bound that was found. They are checked one by one.
MARGIN = 20_000
# An event has the time when its transaction began, and an id from the moment when it was recorded. No transaction that
# records events takes longer, including an import of a million records.
LONGEST_RECORDING = timedelta(minutes=10)
# The sum keeps the planner from scanning the primary key until it finds such a row.
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
    """Return an id below which hardly any row has this value or a later one, in a column that grows with the ids.

    The one statement makes some 25 look-ups of the key.
    """
    found = row_of(_SEARCH.format(table=model._meta.db_table, column=column), [bound, bound])
    return int(found[0]) if found else 0


def within(queryset: QuerySet[Any], column: str, since: datetime | None, until: datetime | None) -> QuerySet[Any]:
    """Return the rows from `since` on and before `until`."""
    if since:
        low = first_id_since(queryset.model, column, since)
        queryset = queryset.filter(pk__gte=low - MARGIN, **{f"{column}__gte": since})
    if until:
        high = first_id_since(queryset.model, column, until)
        queryset = queryset.filter(pk__lte=high + MARGIN, **{f"{column}__lt": until})
    return queryset


def first_event_since(since: datetime) -> int | None:
    """Return the lowest id of an event at or after this time, by the index on the time."""
    later = Event.objects.filter(created_at__gte=since).order_by("created_at")
    nearest = later.values_list("created_at", flat=True).first()
    if nearest is None:
        return None
    found: int = later.filter(created_at__lte=nearest + LONGEST_RECORDING).aggregate(id=Min(ID))["id"]
    return found


def last_event_before(until: datetime) -> int | None:
    """Return the highest id of an event before this time."""
    earlier = Event.objects.filter(created_at__lt=until).order_by("-created_at")
    nearest = earlier.values_list("created_at", flat=True).first()
    if nearest is None:
        return None
    found: int = earlier.filter(created_at__gte=nearest - LONGEST_RECORDING).aggregate(id=Max(ID))["id"]
    return found
