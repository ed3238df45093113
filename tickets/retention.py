"""The kinds of a retention: tickets, mails, chats and customers (callcentre/core/retention.py)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Upper
from django.utils.translation import gettext_lazy as _

from callcentre.core.file_removals import FileRemoval
from callcentre.core.retention import Kind, register
from telephony.deletions import forget_now
from telephony.models import Connection
from tickets.deletions import customers, tickets
from tickets.deletions.mail_and_files import delete_messages, strip
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


def _tickets(before: datetime) -> "QuerySet[Ticket]":
    """Return old closed tickets. Those that were merged go with the ticket that they lead to."""
    waiting = Dispatch.objects.filter(message__ticket=OuterRef("pk"), state=Dispatch.State.QUEUED)
    old = Ticket.objects.filter(closed_at__lt=before, updated_at__lt=before, merged_into=None)
    return old.exclude(Exists(waiting))


def _delete_tickets(ids: Sequence[int]) -> None:
    every = list(Ticket.objects.filter(Q(pk__in=ids) | Q(merged_into__in=ids)).values_list("pk", "connected_ids"))
    gone = {pk for pk, _connected in every}
    strip(ReceivedMail.objects.filter(message__ticket__in=gone))
    tickets.delete_rows(sorted(gone), sorted({pk for _pk, connected in every for pk in connected} - gone))


def _messages(before: datetime) -> "QuerySet[Message]":
    """Return old messages of closed tickets."""
    waiting = Dispatch.objects.filter(message=OuterRef("pk"), state=Dispatch.State.QUEUED)
    old = Message.objects.filter(created_at__lt=before, ticket__closed_at__lt=before)
    return old.exclude(Exists(waiting))


def _delete_messages(ids: Sequence[int]) -> None:
    strip(ReceivedMail.objects.filter(message__in=ids))
    delete_messages(Message.objects.filter(pk__in=ids))


def _raw_mails(before: datetime) -> "QuerySet[ReceivedMail]":
    return _mails(before).exclude(path="")


def _mails(before: datetime) -> "QuerySet[ReceivedMail]":
    return ReceivedMail.objects.filter(received_at__lt=before).exclude(outcome__in=_OPEN_OUTCOMES)


def _remove_raw(ids: Sequence[int]) -> None:
    mails = ReceivedMail.objects.filter(pk__in=ids)
    FileRemoval.add(list(mails.values_list("path", flat=True)))
    mails.update(path="")


def _delete_chats(ids: Sequence[Any]) -> None:
    ChatMessage.objects.filter(chat__in=ids).delete()
    Chat.objects.filter(pk__in=ids).delete()


def _customers(before: datetime) -> "QuerySet[Customer]":
    """Return customers that have no ticket, and had no change, note, call or chat since then, nor those merged into
    them. The merged ones go with them.
    """
    old = Customer.objects.filter(created_at__lt=before, updated_at__lt=before, merged_into=None)
    for which in (Q(pk=OuterRef("pk")), Q(merged_into=OuterRef("pk"))):
        old = old.exclude(Exists(_in_contact(Customer.objects.filter(which), before)))
    return old


def _in_contact(rows: "QuerySet[Customer]", before: datetime) -> "QuerySet[Customer]":
    """Return those of these customers that have a ticket, or had a note, call or chat since then."""
    the_customer: Any = OuterRef("pk")
    same_address = Chat.objects.alias(address=Upper("client_email")).filter(address=Upper(OuterRef("email")))
    return rows.filter(
        Exists(Ticket.objects.filter(customer=the_customer))
        | Exists(CustomerNote.objects.filter(customer=the_customer, created_at__gte=before))
        | Exists(Connection.objects.filter(customer_id=the_customer, created_at__gte=before))
        | ~Q(email="") & Exists(same_address.filter(created_at__gte=before))
    )


def _delete_customers(ids: Sequence[int]) -> None:
    merged = Customer.objects.filter(merged_into__in=ids).order_by().values_list("pk", flat=True)
    together = [*ids, *merged]
    forget_now(Connection.objects.filter(customer_id__in=together))
    customers.delete_rows(together)


def register_kinds() -> None:
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
            _delete_messages,
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
            lambda before: Dispatch.objects.filter(queued_at__lt=before).exclude(state=Dispatch.State.QUEUED),
        ),
        chats=Kind(
            _("Chats"),
            _("Closed chats with their messages."),
            lambda before: Chat.objects.filter(closed_at__lt=before),
            _delete_chats,
            is_ledger=True,
        ),
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
            lambda before: TicketChange.objects.filter(at__lt=before),
        ),
        customer_changes=Kind(
            _("Histories of customers"),
            _("Who changed customers. The customers stay."),
            lambda before: CustomerChange.objects.filter(at__lt=before),
        ),
    )
