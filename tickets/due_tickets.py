"""Open tickets that are overdue, or due soon: by the response or the resolution, of which the earlier one counts.

Overdue tickets that a person has postponed are apart: their due times go on, and the person knows that they wait.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial, reduce
from operator import or_

from django.db.models import Q, QuerySet

from callcentre.core.scope import ALL, Scope
from callcentre.core.statements import rows_of
from callcentre.core.times import zone
from tickets.models import Ticket, TicketStatus
from tickets.models.service_level import SOON
from tickets.models.ticket import RESPONSE_IS_OWED

LATE, POSTPONED, SOON_DUE = "late", "postponed", "soon"
_IS_POSTPONED = Q(status__kind=TicketStatus.Kind.POSTPONED)


def nearest(tickets: QuerySet[Ticket], kind: str, count: int, now: datetime) -> list[int]:
    """Return the tickets of one of the KINDS whose due time is the earliest. Each due time has an index of its own."""
    unfinished = tickets.filter(closed_at=None)
    due_at: dict[int, datetime] = {}
    for name, condition in KINDS[kind](now).items():
        for pk, instant in unfinished.filter(condition).order_by(name).values_list("pk", name)[:count]:
            due_at[pk] = min(instant, due_at.get(pk, instant))
    return sorted(due_at, key=lambda pk: (due_at[pk], pk))[:count]


def counts(tickets: QuerySet[Ticket], most: int, now: datetime) -> dict[str, int]:
    """Count the tickets of each kind, up to a limit, in a statement each."""
    return {kind: _count(tickets, conditions(now), most) for kind, conditions in KINDS.items()}


def _passed(now: datetime, also: Q) -> dict[str, Q]:
    """Return each due time with the condition that it has passed, and another one."""
    return {
        "response_due_at": RESPONSE_IS_OWED & Q(response_due_at__lt=now) & also,
        "resolution_due_at": Q(resolution_due_at__lt=now) & also,
    }


def _soon(now: datetime) -> dict[str, Q]:
    """Return each due time with the condition that it comes soon, and that none has passed."""
    until, is_late = now + SOON, reduce(or_, _passed(now, Q()).values())
    return {
        "response_due_at": RESPONSE_IS_OWED & Q(response_due_at__gte=now, response_due_at__lt=until) & ~is_late,
        "resolution_due_at": Q(resolution_due_at__gte=now, resolution_due_at__lt=until) & ~is_late,
    }


def _count(tickets: QuerySet[Ticket], conditions: dict[str, Q], most: int) -> int:
    """Count the open tickets for which one of the conditions holds. Each condition reads its own index."""
    unfinished = tickets.filter(closed_at=None).order_by().values("pk")
    first, *others = (unfinished.filter(condition)[:most] for condition in conditions.values())
    return min(first.union(*others).count(), most)


KINDS: Mapping[str, Callable[[datetime], dict[str, Q]]] = {
    LATE: partial(_passed, also=~_IS_POSTPONED),
    POSTPONED: partial(_passed, also=_IS_POSTPONED),
    SOON_DUE: _soon,
}


# A ticket that was closed today was changed today: the index of changes finds it.
_COUNTS = """
SELECT 'in', extract(hour FROM created_at AT TIME ZONE %(zone)s)::int, count(*)
FROM tickets_ticket t WHERE created_at >= %(since)s{inside} GROUP BY 2
UNION ALL
SELECT 'closed', extract(hour FROM closed_at AT TIME ZONE %(zone)s)::int, count(*)
FROM tickets_ticket t WHERE updated_at >= %(since)s AND closed_at >= %(since)s{inside} GROUP BY 2
"""


def of_day(since: datetime, scope: Scope = ALL) -> dict[tuple[str, int], int]:
    """Return the counts since this midnight within the scope, by `in` or `closed` and the hour of the day."""
    values = {"since": since, "zone": zone().key, **scope.by_column}
    found = rows_of(_COUNTS.format(inside=scope.sql(Ticket, "t")), values)
    return {(kind, hour): count for kind, hour, count in found}
