"""The column beside a conversation: due times, other tickets, history, canned replies and recipients."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.timesince import timesince, timeuntil
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.admin.history import SHOWN, Entry, entry_of, in_words
from callcentre.core.scope import Scope
from tickets.admin.custom_field_inputs import Change, changes_of_values
from tickets.due_tickets import SOON
from tickets.models import CannedReply, CustomField, Ticket, TicketChange, as_read
from tickets.models.participants import participants_of

OTHERS = 5
MAX_PEOPLE = 20

NAMES = {
    "status": _("status"),
    "queue": _("ticket queue"),
    "category": _("category"),
    "agent": _("agent"),
    "customer": _("customer"),
    "source": _("source"),
    "sender": _("from"),
    "sender_name": _("sender's name"),
    "subject": pgettext_lazy("of a mail", "subject"),
    "tags": _("tags"),
    "merged_into": _("merged into"),
    "merged": _("merged in"),
    "split": _("split off"),
    "split_from": _("split from"),
    "connected": _("linked to"),
    "state": _("state"),
}
ACTIONS = {
    "merge": _("merged"),
    "split": _("split"),
    "connect": _("linked"),
    "resend": _("sent again"),
    "bounce": _("bounced"),
    "delete_message": _("message deleted"),
    "delete_file": _("file deleted"),
}


@dataclass(frozen=True, slots=True)
class Due:
    """A response or resolution that the customer waits for."""

    label: str
    at: datetime
    colour: str
    distance: str


def dues_of(ticket: Ticket, now: datetime | None = None) -> list[Due]:
    """Return the due times of a ticket that is still open."""
    now = now or timezone.now()
    owed = []
    if ticket.owes_response and ticket.response_due_at:
        is_first = ticket.first_agent_responded_at is None
        owed.append((_now("first response") if is_first else _now("response"), ticket.response_due_at))
    if ticket.closed_at is None and ticket.resolution_due_at:
        owed.append((_now("resolution"), ticket.resolution_due_at))
    return [_due(label, at, now) for label, at in owed]


def _due(label: str, at: datetime, now: datetime) -> Due:
    if at < now:
        return Due(label, at, "danger", _now("overdue by %(time)s") % {"time": timesince(at, now, depth=1)})
    colour = "warning" if at - now < SOON else "info"
    return Due(label, at, colour, _now("in %(time)s") % {"time": timeuntil(at, now, depth=1)})


def history_of(ticket: Ticket, fields: Sequence[CustomField], after: int = 0) -> list[Entry]:
    """Return the newest changes, or those after the change with the id `after`."""
    names = {str(field.pk): field.name for field in fields}
    changes = TicketChange.objects.filter(ticket=ticket, pk__gt=after).order_by("-id")[:SHOWN]
    return [entry_of(change, changes_of(change, names), ACTIONS) for change in changes]


def changes_of(change: TicketChange, names: dict[str, str]) -> list[Change]:
    """Return name, before and after of each changed value. `names` has the names of custom fields by id."""
    found: list[Change] = []
    for name, (old, new) in change.changes.items():
        if name == "custom_fields":
            found += changes_of_values(old, new, names)
        elif name in ("merged_into", "merged", "split", "split_from", "connected"):
            found.append((NAMES[name], "", f"#{new}"))
        elif name == "status":
            found.append((NAMES[name], as_read(old), as_read(new)))
        else:
            found.append((NAMES.get(name, name), in_words(old), in_words(new)))
    return found


def others_of_customer(ticket: Ticket, scope: Scope) -> list[Ticket]:
    """Return the customer's other tickets within the scope, the last changed first: one more than the page shows."""
    if ticket.customer_id is None:
        return []
    others = scope.within(Ticket.objects.filter(customer_id=ticket.customer_id).exclude(pk=ticket.pk))
    return list(others.select_related("status").order_by("-updated_at", "-id")[: OTHERS + 1])


def connected_with(ticket: Ticket, scope: Scope) -> list[Ticket]:
    found: QuerySet[Ticket] = Ticket.objects.filter(Q(pk__in=ticket.connected_ids) | Q(merged_into=ticket))
    return list(scope.within(found).select_related("status").order_by("-id")[:MAX_PEOPLE])


def canned_replies_for(ticket: Ticket) -> list[CannedReply]:
    return list(CannedReply.objects.filter(Q(queue=None) | Q(queue=ticket.queue_id)))


@dataclass(frozen=True, slots=True)
class Audience:
    """The recipients of a reply, and the other participants."""

    to: str
    others: Sequence[str]


def audience_of(ticket: Ticket) -> Audience:
    """Return the sender of the last mail and the other participants; without a mail, the customer."""
    recipients, copies = participants_of(ticket)
    return Audience(", ".join(recipients) or (ticket.customer.email if ticket.customer else ""), copies)
