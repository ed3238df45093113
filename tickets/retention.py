"""The kinds of a retention: tickets, mails, chats and customers (callcentre/core/retention.py).

A legal hold on a customer also keeps the customer's tickets and the chats of its address.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Upper
from django.utils.translation import gettext_lazy as _

from callcentre.core import legal_holds
from callcentre.core.deletions import FileRemoval
from callcentre.core.legal_holds import held
from callcentre.core.retention import Kind, register
from telephony.deletions import forget_now
from telephony.models import Connection
from tickets.addresses import any_of
from tickets.deletions.mail_and_files import delete_messages, strip
from tickets.deletions.tickets import delete_rows
from tickets.models import (
    Chat,
    ChatMessage,
    Customer,
    CustomerChange,
    CustomerNote,
    Dispatch,
    Message,
    ReceivedMail,
    Ticket,
    TicketChange,
)

_OPEN_OUTCOMES = (ReceivedMail.Outcome.RECEIVED, ReceivedMail.Outcome.QUARANTINED)


def _merged(model: Any) -> Callable[[set[int]], set[int]]:
    """Return the function that returns the rows that others were merged into."""
    return lambda ids: set(model.objects.filter(merged__in=ids).order_by().values_list("pk", flat=True))


def _held_tickets() -> set[int]:
    """Return the tickets on hold, and those that have the messages of a ticket of a customer on hold."""
    taken = Ticket.objects.filter(merged__customer__in=held("customer"))
    return held("ticket") | set(taken.order_by().values_list("pk", flat=True))


def _free(prefix: str = "") -> Q:
    """Return the condition that a ticket, and its customer, is on no legal hold."""
    return ~Q(**{f"{prefix}pk__in": _held_tickets()}) & (
        Q(**{f"{prefix}customer": None}) | ~Q(**{f"{prefix}customer__in": held("customer")})
    )


def _tickets(before: datetime) -> "QuerySet[Ticket]":
    """Return old closed tickets. Those that were merged go with the ticket that they lead to."""
    waiting = Dispatch.objects.filter(message__ticket=OuterRef("pk"), state=Dispatch.State.QUEUED)
    old = Ticket.objects.filter(_free(), closed_at__lt=before, updated_at__lt=before, merged_into=None)
    return old.exclude(Exists(waiting))


def _delete_tickets(ids: Sequence[int]) -> None:
    every = list(Ticket.objects.filter(Q(pk__in=ids) | Q(merged_into__in=ids)).values_list("pk", "connected_ids"))
    gone = {pk for pk, _connected in every}
    strip(ReceivedMail.objects.filter(message__ticket__in=gone))
    delete_rows(sorted(gone), sorted({pk for _pk, connected in every for pk in connected} - gone))


def _messages(before: datetime) -> "QuerySet[Message]":
    """Return old messages of closed tickets."""
    waiting = Dispatch.objects.filter(message=OuterRef("pk"), state=Dispatch.State.QUEUED)
    old = Message.objects.filter(_free("ticket__"), created_at__lt=before, ticket__closed_at__lt=before)
    return old.exclude(Exists(waiting))


def _raw_mails(before: datetime) -> "QuerySet[ReceivedMail]":
    return _mails(before).exclude(path="")


def _mails(before: datetime) -> "QuerySet[ReceivedMail]":
    decided = ReceivedMail.objects.filter(received_at__lt=before).exclude(outcome__in=_OPEN_OUTCOMES)
    kept = Q(message__ticket__in=_held_tickets()) | Q(message__ticket__customer__in=held("customer"))
    return decided.exclude(Q(message__isnull=False) & kept)


def _remove_raw(ids: Sequence[int]) -> None:
    mails = ReceivedMail.objects.filter(pk__in=ids)
    FileRemoval.add(list(mails.values_list("path", flat=True)))
    mails.update(path="")


def _chats(before: datetime) -> "QuerySet[Chat]":
    kept = Customer.objects.filter(pk__in=held("customer")).exclude(email="").values_list("email", flat=True)
    return Chat.objects.filter(closed_at__lt=before).exclude(any_of("client_email", kept))


def _delete_chats(ids: Sequence[Any]) -> None:
    ChatMessage.objects.filter(chat__in=ids).delete()
    Chat.objects.filter(pk__in=ids).delete()


def _customers(before: datetime) -> "QuerySet[Customer]":
    """Return customers without a ticket, and without a change, note, call or chat since then."""
    the_customer: Any = OuterRef("pk")
    same_address = Chat.objects.alias(address=Upper("client_email")).filter(address=Upper(OuterRef("email")))
    old = Customer.objects.filter(created_at__lt=before, updated_at__lt=before, merged_into=None, merged=None)
    return old.exclude(pk__in=held("customer")).exclude(
        Exists(Ticket.objects.filter(customer=the_customer))
        | Exists(CustomerNote.objects.filter(customer=the_customer, created_at__gte=before))
        | Exists(Connection.objects.filter(customer_id=the_customer, created_at__gte=before))
        | ~Q(email="") & Exists(same_address.filter(created_at__gte=before))
    )


def _delete_customers(ids: Sequence[int]) -> None:
    forget_now(Connection.objects.filter(customer_id__in=ids))
    Customer.objects.filter(pk__in=ids).delete()


def register_kinds() -> None:
    legal_holds.merged |= {"ticket": _merged(Ticket), "customer": _merged(Customer)}
    register(
        tickets=Kind(
            _("Closed tickets"),
            _("Tickets closed and unchanged for so long, with messages, files, ratings, mails and history."),
            _tickets,
            _delete_tickets,
            is_ledger=True,
            portion=200,
        ),
        messages=Kind(
            _("Messages of closed tickets"),
            _("Messages with their files and mails. The tickets stay."),
            _messages,
            delete_messages,
            is_ledger=True,
        ),
        raw_mails=Kind(
            _("Mails as they came"),
            _("The files of received mails. Messages made of them stay."),
            _raw_mails,
            _remove_raw,
        ),
        received_mails=Kind(
            _("Log of received mail"),
            _("Sender, subject and file of received mails. A checksum stays: by it no mail is taken in again."),
            lambda before: _mails(before).exclude(outcome=ReceivedMail.Outcome.DELETED),
            lambda ids: strip(ReceivedMail.objects.filter(pk__in=ids)),
        ),
        dispatches=Kind(
            _("Log of sent mail"),
            _("When a message was sent, and to whom. The messages stay."),
            lambda before: Dispatch.objects.filter(_free("message__ticket__"), queued_at__lt=before).exclude(
                state=Dispatch.State.QUEUED
            ),
            lambda ids: Dispatch.objects.filter(pk__in=ids).delete(),
        ),
        chats=Kind(_("Chats"), _("Closed chats with their messages."), _chats, _delete_chats, is_ledger=True),
        customers=Kind(
            _("Customers without contact"),
            _(
                "Customers without a ticket, and without a change, note, call or chat for so long. Their calls stay,"
                " without the person."
            ),
            _customers,
            _delete_customers,
            portion=100,
        ),
        ticket_changes=Kind(
            _("Histories of tickets"),
            _("Who changed tickets. The tickets stay."),
            lambda before: TicketChange.objects.filter(_free("ticket__"), at__lt=before),
            lambda ids: TicketChange.objects.filter(pk__in=ids).delete(),
        ),
        customer_changes=Kind(
            _("Histories of customers"),
            _("Who changed customers. The customers stay."),
            lambda before: CustomerChange.objects.filter(at__lt=before).exclude(customer__in=held("customer")),
            lambda ids: CustomerChange.objects.filter(pk__in=ids).delete(),
        ),
    )
