"""Open tickets that are overdue, or due soon: by the response or the resolution, of which the earlier one counts."""

from datetime import datetime, timedelta
from functools import reduce
from operator import or_

from django.db.models import Q, QuerySet

from tickets.models import Ticket
from tickets.models.ticket import RESPONSE_IS_OWED

# A ticket is due soon within this time.
SOON = timedelta(hours=1)


def late(tickets: QuerySet[Ticket], count: int, now: datetime) -> list[int]:
    """Return the tickets that are overdue the longest, in that order. Each kind of due time has an index of its own."""
    return _nearest(tickets, late_conditions(now), count)


def soon(tickets: QuerySet[Ticket], count: int, now: datetime) -> list[int]:
    """Return the tickets that are due next, in that order, without those that are overdue already."""
    found = _nearest(tickets, _due_between(now, now + SOON), count)
    is_late = reduce(or_, late_conditions(now).values())
    overdue = set(tickets.filter(is_late, pk__in=found).order_by().values_list("pk", flat=True))
    return [pk for pk in found if pk not in overdue]


def late_conditions(now: datetime) -> dict[str, Q]:
    """Return each due time with the condition that it has passed."""
    return {
        "response_due_at": RESPONSE_IS_OWED & Q(response_due_at__lt=now),
        "resolution_due_at": Q(resolution_due_at__lt=now),
    }


def soon_condition(now: datetime) -> Q:
    """Build the condition for tickets that are due soon, for lists that another condition has made short."""
    return reduce(or_, _due_between(now, now + SOON).values()) & ~reduce(or_, late_conditions(now).values())


def _due_between(since: datetime, until: datetime) -> dict[str, Q]:
    return {
        "response_due_at": RESPONSE_IS_OWED & Q(response_due_at__gte=since, response_due_at__lt=until),
        "resolution_due_at": Q(resolution_due_at__gte=since, resolution_due_at__lt=until),
    }


def _nearest(tickets: QuerySet[Ticket], conditions: dict[str, Q], count: int) -> list[int]:
    unfinished = tickets.filter(closed_at=None)
    due_at: dict[int, datetime] = {}
    for name, condition in conditions.items():
        for pk, instant in unfinished.filter(condition).order_by(name).values_list("pk", name)[:count]:
            due_at[pk] = min(instant, due_at.get(pk, instant))
    return sorted(due_at, key=lambda pk: (due_at[pk], pk))[:count]
