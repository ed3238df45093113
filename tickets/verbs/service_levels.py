"""The work of service levels: due times anew after a change of a level, and word of deadlines."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from callcentre.core.actor import SYSTEM
from callcentre.core.advisory_locks import try_lock
from callcentre.core.errors import Conflict
from tickets import events
from tickets.models.agent_preferences import NoticeKind
from tickets.models.automation import AutomationState
from tickets.models.service_level import LEVELS, SOON, DeadlineNotice
from tickets.models.ticket import RESPONSE_IS_OWED, Ticket
from tickets.verbs.due_times import due_times, level_of
from tickets.verbs.notices import notify
from tickets.verbs.ticket_row import lock_ticket, log_ticket

_BATCH = 1000
# The lock of the worker that computes.
_COMPUTING = 7_312
_COLUMNS = ("service_level_id", "response_due_at", "resolution_due_at")
_SET = """
UPDATE tickets_ticket t SET service_level_id = n.level, response_due_at = n.response, resolution_due_at = n.resolution
FROM unnest(%s::bigint[], %s::bigint[], %s::timestamptz[], %s::timestamptz[]) AS n(id, level, response, resolution)
WHERE t.id = n.id
"""
# Word of a deadline that was missed while no worker ran comes later, but not for ever.
_CATCHES_UP = timedelta(days=1)
# The most tickets of which one run tells. The next one, a minute later, takes the rest.
_MOST_AT_ONCE = 1000
# Column of a due time -> its name for receivers, and the condition for tickets that owe it.
DEADLINES = {"response_due_at": ("response", RESPONSE_IS_OWED), "resolution_due_at": ("resolution", Q())}


def compute_open_tickets() -> int:
    """Compute the levels and due times of open tickets anew if a level or calendar has changed since the last time.

    `updated_at` stays, no event is recorded, no rule runs. Return how many tickets have changed. A worker that dies
    leaves the rest to the next run, which begins from the start.
    """
    state = AutomationState.objects.filter(pk=1).first()
    if state is None or state.computed_token == state.levels_token:
        return 0
    with try_lock(_COMPUTING) as is_ours:
        return _compute_all(state.levels_token) if is_ours else 0


def _compute_all(token: UUID) -> int:
    last, count = 0, 0
    unfinished = Ticket.objects.filter(closed_at=None).order_by("pk")
    while ids := list(unfinished.filter(pk__gt=last).values_list("pk", flat=True)[:_BATCH]):
        with transaction.atomic():
            rows = Ticket.objects.filter(pk__in=ids, closed_at=None).select_related("customer").order_by("pk")
            count += _compute(rows.select_for_update(of=("self",), no_key=True))
        last = ids[-1]
    AutomationState.objects.filter(levels_token=token).update(computed_token=token)
    return count


def _compute(tickets: Iterable[Ticket]) -> int:
    levels = LEVELS.get()
    changed = []
    for ticket in tickets:
        before = [getattr(ticket, name) for name in _COLUMNS]
        ticket.service_level_id = level_of(ticket, levels)
        found = due_times(ticket, levels)
        after = [ticket.service_level_id, *found.values()]
        if after != before:
            changed.append((ticket.pk, *after))
    if changed:
        with connection.cursor() as cursor:
            cursor.execute(_SET, [list(column) for column in zip(*changed, strict=True)])
    return len(changed)


def tell_deadlines() -> None:
    """Record an event, and an entry of the history, for each deadline that comes soon or was missed, once."""
    now = timezone.now()
    spans = {False: (now, now + SOON), True: (now - _CATCHES_UP, now)}
    for column in DEADLINES:
        for is_missed, span in spans.items():
            for pk in list(_untold(column, span, is_missed=is_missed).values_list("pk", flat=True)[:_MOST_AT_ONCE]):
                with transaction.atomic():
                    _tell(pk, column, span, is_missed=is_missed)


def _untold(column: str, span: tuple[datetime, datetime], *, is_missed: bool) -> "QuerySet[Ticket]":
    after, until = span
    due: dict[str, Any] = {f"{column}__gt": after, f"{column}__lte": until}
    told = DeadlineNotice.objects.filter(
        ticket=OuterRef("pk"), deadline=column, is_missed=is_missed, due_at=OuterRef(column)
    )
    tickets = Ticket.objects.filter(DEADLINES[column][1], closed_at=None, **due)
    return tickets.filter(~Exists(told)).order_by(column, "pk")


def _tell(pk: int, column: str, span: tuple[datetime, datetime], *, is_missed: bool) -> None:
    try:
        ticket = lock_ticket(Ticket(pk=pk))
    except Conflict:  # it was deleted meanwhile
        return
    if not _untold(column, span, is_missed=is_missed).filter(pk=pk).exists():
        return
    due_at: datetime = getattr(ticket, column)
    DeadlineNotice.objects.update_or_create(
        ticket=ticket, deadline=column, is_missed=is_missed, defaults={"due_at": due_at}
    )
    name = DEADLINES[column][0]
    word = "missed" if is_missed else "soon"
    log_ticket(ticket, SYSTEM, "deadline", {word: [None, name]})
    tell = events.deadline_missed if is_missed else events.deadline_soon
    tell(ticket, deadline=name, due_at=due_at)
    key = f"{word}-{ticket.pk}-{name}-{due_at:%Y%m%d%H%M%S}"
    notify(ticket, NoticeKind.DEADLINE, key, to_followers=NoticeKind.DEADLINE)
