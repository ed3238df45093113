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
    return _nearest(tickets, soon_conditions(now), count)


def counts(tickets: QuerySet[Ticket], most: int, now: datetime) -> tuple[int, int]:
    """Count the overdue tickets and those that are due soon, each up to a limit, in two statements."""
    late, soon = (_count(tickets, conditions, most) for conditions in (late_conditions(now), soon_conditions(now)))
    return late, soon


def late_conditions(now: datetime) -> dict[str, Q]:
    """Return each due time with the condition that it has passed."""
    return {
        "response_due_at": RESPONSE_IS_OWED & Q(response_due_at__lt=now),
        "resolution_due_at": Q(resolution_due_at__lt=now),
    }


def soon_conditions(now: datetime) -> dict[str, Q]:
    """Return each due time with the condition that it comes soon, and that none has passed."""
    until, is_late = now + SOON, reduce(or_, late_conditions(now).values())
    return {
        "response_due_at": RESPONSE_IS_OWED & Q(response_due_at__gte=now, response_due_at__lt=until) & ~is_late,
        "resolution_due_at": Q(resolution_due_at__gte=now, resolution_due_at__lt=until) & ~is_late,
    }


def _count(tickets: QuerySet[Ticket], conditions: dict[str, Q], most: int) -> int:
    """Count the open tickets for which one of the conditions holds. Each condition reads its own index."""
    unfinished = tickets.filter(closed_at=None).order_by().values("pk")
    first, *others = (unfinished.filter(condition)[:most] for condition in conditions.values())
    return min(first.union(*others).count(), most)


def _nearest(tickets: QuerySet[Ticket], conditions: dict[str, Q], count: int) -> list[int]:
    unfinished = tickets.filter(closed_at=None)
    due_at: dict[int, datetime] = {}
    for name, condition in conditions.items():
        for pk, instant in unfinished.filter(condition).order_by(name).values_list("pk", name)[:count]:
            due_at[pk] = min(instant, due_at.get(pk, instant))
    return sorted(due_at, key=lambda pk: (due_at[pk], pk))[:count]
