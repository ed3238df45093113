"""Deletion of a customer with tickets, chats, notes and recordings. Calls stay, without the person."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from callcentre.core.deletions import Consequences, Deletion, Part, forget_log_entries
from telephony.deletions import calls_of, forget_customers, forget_priorities, spoken_of
from tickets import events
from tickets.addresses import any_of
from tickets.deletions.chats import add_chat_consequences, delete_chat
from tickets.deletions.tickets import add_ticket_consequences, delete_ticket
from tickets.models import (
    AcknowledgedAddress,
    BlockedSender,
    BouncedAddress,
    Chat,
    Customer,
    CustomerChange,
    CustomerNote,
    CustomerNumber,
    Ticket,
)

STAYS_BLOCKED = gettext_lazy("The address stays blocked, so that its mails do not come again.")
# Rows that one query finds, and that are deleted one by one.
BATCH = 500
_PARTS = (
    ("tickets.customernumber", CustomerNumber),
    ("tickets.customernote", CustomerNote),
    ("tickets.customerchange", CustomerChange),
)


def consequences(customer: Customer) -> Consequences:
    ids = ids_of(customer.pk)
    found = Consequences([Part("tickets.customer", len(ids))])
    found.deleted += [Part(label, model.objects.filter(customer__in=ids).count()) for label, model in _PARTS]
    add_ticket_consequences(found, tickets_of(ids))
    add_chat_consequences(found, _chats_of(ids))
    found.deleted += spoken_of(ids)
    if calls := calls_of(ids):
        found.emptied.append(Part("telephony.connection", calls))
        found.remarks.append(
            _("Calls keep time, agent, queue and result; number, customer, recording and notes of the topic go.")
        )
    if BlockedSender.objects.filter(entry__in=_addresses(ids)).exists():
        found.remarks.append(str(STAYS_BLOCKED))
    if customer.merged_into_id:
        into = _("The customer was merged into customer %(id)s: tickets, calls and notes are there, and stay.")
        found.remarks.append(into % {"id": customer.merged_into_id})
    return found


def delete(deletion: Deletion) -> None:
    """Delete tickets and chats, one a step, then the customer. Empty the calls last: they may still be going on."""
    ids: list[int] = deletion.notes.get("ids") or ids_of(int(deletion.object_id))
    if not ids:
        return
    if not deletion.notes:
        with deletion.step():
            deletion.notes = {"ids": ids}
    delete_customers(deletion, ids)


def delete_customers(deletion: Deletion, ids: Sequence[int]) -> None:
    while Customer.objects.filter(pk__in=ids).exists():
        _delete_matters(deletion, ids)
        with deletion.step() as deleted:
            _delete_rows(ids, deleted)
    forget_customers(deletion, ids)


def ids_of(customer_id: int) -> list[int]:
    """Return the id of the customer, and the ids of customers who were merged into it."""
    either = Q(pk=customer_id) | Q(merged_into=customer_id)
    return list(Customer.objects.filter(either).order_by("id").values_list("pk", flat=True))


def tickets_of(ids: Sequence[int], *further: Q) -> Any:
    """Return the ids of their tickets, of tickets merged into these, and of `further` ones. A union uses an index for
    each, which an OR would not.
    """
    theirs, *others = (
        Ticket.objects.filter(which).order_by().values("pk")
        for which in (Q(customer__in=ids), Q(merged_into__customer__in=ids), *further)
    )
    return theirs.union(*others)


def _chats_of(ids: Sequence[int]) -> Q:
    """Return the condition for chats of their addresses, without addresses that another customer shares."""
    return any_of("client_email", emails_of(ids))


def _addresses(ids: Sequence[int]) -> Any:
    named = Customer.objects.filter(pk__in=ids).exclude(email="").order_by()
    return named.values_list(Lower("email"), flat=True)


def emails_of(ids: Sequence[int]) -> list[str]:
    """Return the addresses of these customers, without those that another customer has too, or had before a merge."""
    emails = set(_addresses(ids))
    others = Customer.objects.exclude(pk__in=ids).filter(any_of("email", emails)).order_by()
    return sorted(emails - set(others.values_list(Lower("email"), flat=True)))


def _delete_matters(deletion: Deletion, ids: Sequence[int]) -> None:
    delete_matters(deletion, Ticket.objects.filter(customer__in=ids), Chat.objects.filter(_chats_of(ids)))


def delete_matters(deletion: Deletion, tickets: "QuerySet[Ticket]", chats: "QuerySet[Chat]") -> None:
    """Delete tickets and chats, one a step."""
    works: tuple[tuple[QuerySet[Any], Callable[[Any, Counter[str]], object]], ...] = (
        (tickets, lambda pk, deleted: delete_ticket(pk, deletion, deleted)),
        (chats, delete_chat),
    )
    for rows, delete_row in works:
        # Without an order, as the planner would scan the index of the primary key.
        while found := list(rows.order_by().values_list("pk", flat=True)[:BATCH]):
            for pk in found:
                with deletion.step() as deleted:
                    delete_row(pk, deleted)


def _delete_rows(ids: Sequence[int], deleted: Counter[str]) -> None:
    """Delete the customer's own rows, unless a ticket has come meanwhile."""
    customers = list(Customer.objects.filter(pk__in=ids).select_for_update(of=("self",)).order_by("id"))
    if not Ticket.objects.filter(customer__in=ids).exists():
        for customer in customers:
            events.customer_deleted(customer)
        deleted.update(delete_rows(ids))


def delete_rows(ids: Sequence[int]) -> Counter[str]:
    """Delete customers without tickets, with what belongs to them alone."""
    deleted = Counter({"telephony.callerpriority": forget_priorities(ids)})
    addresses = list(_addresses(ids))
    AcknowledgedAddress.objects.filter(address__in=addresses).delete()
    BouncedAddress.objects.filter(address__in=addresses).delete()
    for label, model in _PARTS:
        deleted[label] += model.objects.filter(customer__in=ids).delete()[0]
    # First the customers that point to another one.
    for is_current in (False, True):
        rows = Customer.objects.filter(pk__in=ids, merged_into__isnull=is_current)
        deleted["tickets.customer"] += rows.delete()[1].get("tickets.Customer", 0)
    forget_log_entries(Customer, ids)
    return deleted
