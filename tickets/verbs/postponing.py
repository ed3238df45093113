"""The return of postponed tickets when their time has come."""

from contextlib import suppress

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import SYSTEM
from callcentre.core.errors import Conflict
from callcentre.core.sweeps import going_on
from tickets import events
from tickets.models.agent_preferences import NoticeKind
from tickets.models.automation import Happening
from tickets.models.ticket import Ticket
from tickets.verbs.automation import after_change
from tickets.verbs.due_times import Kind, change_status, set_columns, status_of_kind
from tickets.verbs.notices import notify
from tickets.verbs.ticket_row import add_system_comment, lock_ticket, log_ticket, save_ticket

# The most tickets of one run. The next one, a minute later, takes the rest.
_MOST_AT_ONCE = 1000


def bring_back() -> None:
    """Bring back the postponed tickets whose time has come, each in a transaction of its own.

    One that was deleted meanwhile, or that fails, does not stop the others.
    """
    due = Ticket.objects.filter(postponed_until__lte=timezone.now(), status__kind=Kind.POSTPONED, closed_at=None)
    for pk in list(due.order_by("postponed_until", "pk").values_list("pk", flat=True)[:_MOST_AT_ONCE]):
        with going_on("a postponed ticket did not come back", ticket=pk), suppress(Conflict), transaction.atomic():
            _bring_back(lock_ticket(Ticket(pk=pk)))


def _bring_back(ticket: Ticket) -> None:
    """Set the ticket in progress, or new if it has no agent. The time stays: rules count from it."""
    now, until, before = timezone.now(), ticket.postponed_until, ticket.full_status_name
    if until is None or until > now or ticket.status.kind != Kind.POSTPONED:
        return
    kind = Kind.IN_PROGRESS if ticket.agent_id else Kind.NEW
    columns, comment = change_status(ticket, status_of_kind(kind), None, now)
    save_ticket(ticket, set_columns(ticket, columns | {"postponed_until": until}), now)
    add_system_comment(ticket, comment, now)
    change_id = log_ticket(ticket, SYSTEM, "wake", {"status": [before, ticket.full_status_name]})
    events.ticket_updated(ticket)
    notify(ticket, NoticeKind.WOKEN, f"woken-{change_id}", to_followers=NoticeKind.FOLLOWED)
    after_change(ticket, Happening.CHANGED, changed={"status"})
