"""The column beside a conversation: due times, other tickets, history, canned replies and recipients."""

from collections.abc import Iterable, Sequence
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
from tickets.models import BouncedAddress, CustomField, Priority, Ticket, TicketChange, TicketStatus, as_read
from tickets.models.participants import participants_of
from tickets.models.service_level import SOON
from tickets.models.ticket import MARKETPLACES, REPLY_SOURCES

OTHERS = 5
MAX_PEOPLE = 20

NAMES = {
    "status": _("status"),
    "queue": _("ticket queue"),
    "category": _("category"),
    "type": pgettext_lazy("of a ticket", "type"),
    "priority": _("priority"),
    "team": _("team"),
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
    "answered": _("the customer was answered"),
    "rule": _("rule"),
    "matched": _("because"),
    "trouble": _("not possible"),
    "macro": _("macro"),
    "postponed_until": _("postponed until"),
    "soon": _("due within the hour"),
    "missed": _("overdue"),
    "follower": _("follower"),
}
ACTIONS = {
    "merge": _("merged"),
    "split": _("split"),
    "connect": _("linked"),
    "answer": pgettext_lazy("of a customer", "answered"),
    "resend": _("sent again"),
    "rule": _("a rule ran"),
    "deadline": _("deadline"),
    "macro": _("a macro was used"),
    "wake": _("back, as its time has come"),
    "bounce": _("bounced"),
    "follow": _("followed"),
    "unfollow": _("no longer followed"),
    "delete_message": _("message deleted"),
    "delete_file": _("file deleted"),
}


DEADLINES = {"response": _("response"), "resolution": _("resolution")}
# How a customer was answered outside the mails of a ticket.
ANSWERS = {"comment": _("another way, as a comment says"), "call": _("in a call"), "chat": _("in a chat")}


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
    is_postponed = ticket.status.kind == TicketStatus.Kind.POSTPONED
    return [_due(label, at, now, is_postponed=is_postponed) for label, at in owed]


def answers_of(ticket: Ticket) -> str:
    """Return what ends the response target of a ticket of this source."""
    if ticket.source in REPLY_SOURCES:
        return _now("A reply, or a comment “answered another way”, ends the target of the response.")
    return _now(
        "A mail, an answered call to the customer, a message to the customer in a chat, or a comment “answered another"
        " way” ends the target of the response."
    )


def _due(label: str, at: datetime, now: datetime, *, is_postponed: bool) -> Due:
    if at < now:
        colour = "info" if is_postponed else "danger"
        return Due(label, at, colour, _now("overdue by %(time)s") % {"time": timesince(at, now, depth=1)})
    colour = "warning" if at - now < SOON else "info"
    return Due(label, at, colour, _now("in %(time)s") % {"time": timeuntil(at, now, depth=1)})


def history_of(ticket: Ticket, fields: Sequence[CustomField], after: int = 0) -> list[Entry]:
    """Return the newest changes, or those after the change with the id `after`."""
    return entries_of(TicketChange.objects.filter(ticket=ticket, pk__gt=after).order_by("-id")[:SHOWN], fields)


def entries_of(changes: Iterable[TicketChange], fields: Sequence[CustomField]) -> list[Entry]:
    names = {str(field.pk): field.name for field in fields}
    return [entry_of(change, changes_of(change, names), ACTIONS) for change in changes]


def changes_of(change: TicketChange, names: dict[str, str]) -> list[Change]:
    """Return name, before and after of each changed value. `names` has the names of custom fields by id."""
    found: list[Change] = []
    for name, (old, new) in change.changes.items():
        if name == "custom_fields":
            found += changes_of_values(old, new, names)
        elif name in ("merged_into", "merged", "split", "split_from", "connected"):
            found.append((NAMES[name], "", f"#{new}"))
        elif name in ("soon", "missed"):
            found.append((NAMES[name], "", DEADLINES[new]))
        elif name == "priority":
            found.append((NAMES[name], Priority(old).label, Priority(new).label))
        elif name == "answered":
            found.append((NAMES[name], "", ANSWERS.get(new, new)))
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


@dataclass(frozen=True, slots=True)
class Audience:
    """The recipients of a reply by mail, and the other participants."""

    to: str
    others: Sequence[str]


def audience_of(ticket: Ticket) -> Audience | None:
    """Return the sender of the last mail and the other participants; without a mail, the customer.

    Replies to a marketplace are no mails, and a ticket that came another way needs an address: None.
    """
    if ticket.source in MARKETPLACES:
        return None
    recipients, copies = participants_of(ticket)
    audience = Audience(", ".join(recipients) or (ticket.customer.email if ticket.customer else ""), copies)
    return audience if audience.to or ticket.source in REPLY_SOURCES else None


def bounced_among(addresses: str) -> list[BouncedAddress]:
    """Return those of the addresses, which commas separate, that mail did not reach."""
    names = [each.strip().lower() for each in addresses.split(",")]
    return list(BouncedAddress.objects.filter(address__in=names)) if any(names) else []
