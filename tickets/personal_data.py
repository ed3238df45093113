"""The table of what the models of tickets and customers have of a person (callcentre/core/personal_data.py).

A ticket is a person's by its customer or, without a customer, by the address of its sender. A person who wrote in the
ticket of another customer is removed from its messages; the ticket and its messages stay.
"""

from typing import Any

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from callcentre.core.deletions import Deletion
from callcentre.core.personal_data import SETTINGS, STAFF, WORK, Data, Fate, Nothing, Person
from tickets import events, models
from tickets.addresses import any_of
from tickets.deletions.customers import STAYS_BLOCKED, delete_customers, delete_matters
from tickets.deletions.customers import tickets_of as ids_of_tickets
from tickets.deletions.mail_and_files import strip


def customers_of(person: Person) -> "QuerySet[models.Customer]":
    return models.Customer.objects.filter(pk__in=person.customers)


def tickets_of(person: Person) -> "QuerySet[models.Ticket]":
    """Return their tickets, those merged into them, and those of their addresses that no customer has."""
    sent = any_of("sender", person.emails) & Q(customer=None)
    return models.Ticket.objects.filter(pk__in=ids_of_tickets(person.customers, sent, Q(pk__in=person.tickets)))


def messages_of(person: Person) -> "QuerySet[models.Message]":
    return models.Message.objects.filter(ticket__in=tickets_of(person).order_by().values("pk"))


def mails_of(person: Person) -> "QuerySet[models.ReceivedMail]":
    """Return the mails of their tickets, and mails of theirs without a message."""
    mails = models.ReceivedMail.objects.exclude(outcome=models.ReceivedMail.Outcome.DELETED).order_by().values("pk")
    theirs = mails.filter(message__in=messages_of(person).order_by().values("pk"))
    sent = mails.filter(sender__in=person.emails, message=None)
    return models.ReceivedMail.objects.filter(pk__in=theirs.union(sent))


def chats_of(person: Person) -> "QuerySet[models.Chat]":
    return models.Chat.objects.filter(any_of("client_email", person.emails))


def _of_customers(model: Any) -> Any:
    return lambda person: model.objects.filter(customer__in=person.customers)


def _of_messages(model: Any) -> Any:
    return lambda person: model.objects.filter(message__in=messages_of(person).order_by().values("pk"))


def remove_person(deletion: Deletion, person: Person) -> None:
    """Delete the customers with tickets, chats and calls, then what only an address leads to; tell receivers."""
    if person.customers:
        delete_customers(deletion, person.customers)
    delete_matters(deletion, tickets_of(person), chats_of(person))
    with deletion.step() as deleted:
        deletion.count_emptied("tickets.receivedmail", strip(mails_of(person)))
        addresses = models.AcknowledgedAddress.objects.filter(address__in=person.emails)
        deleted["tickets.acknowledgedaddress"] += addresses.delete()[0]
        if not deletion.notes.get("is_told"):
            events.person_erased(deletion.pk, next(iter(person.customers), None))
            deletion.notes = {**deletion.notes, "is_told": True}


TABLE: dict[type[Model], Data | Nothing] = {
    models.Customer: Data("name surname email identifier custom_fields", customers_of),
    models.CustomerNumber: Data("phone_number number", _of_customers(models.CustomerNumber)),
    models.CustomerNote: Data("message", _of_customers(models.CustomerNote)),
    models.CustomerChange: Data("changes", _of_customers(models.CustomerChange)),
    models.Ticket: Data("subject sender sender_name tags custom_fields", tickets_of),
    models.TicketChange: Data(
        "changes",
        lambda person: models.TicketChange.objects.filter(ticket__in=tickets_of(person).order_by().values("pk")),
    ),
    models.TicketDraft: Data(
        "text", lambda person: models.TicketDraft.objects.filter(ticket__in=tickets_of(person).order_by().values("pk"))
    ),
    models.Message: Data(
        "author_name author_address reply_to body quoted comment system_comment verdicts", messages_of
    ),
    models.StoredFile: Data("filename", _of_messages(models.StoredFile), file="path"),
    models.Dispatch: Data("recipients copies accepted refused error", _of_messages(models.Dispatch)),
    models.Rating: Data("value", _of_messages(models.Rating)),
    models.ReceivedMail: Data(
        "sender subject recipients header_id reason",
        mails_of,
        Fate.EMPTIED,
        _("The checksum of a mail stays: by it the mail is not taken in again."),
        file="path",
    ),
    models.AcknowledgedAddress: Data(
        "address", lambda person: models.AcknowledgedAddress.objects.filter(address__in=person.emails)
    ),
    models.BouncedAddress: Data(
        "address reason",
        lambda person: models.BouncedAddress.objects.filter(address__in=person.emails),
        deletes_mentions=True,
    ),
    models.BlockedSender: Data(
        "",
        lambda person: models.BlockedSender.objects.filter(entry__in=person.emails),
        Fate.KEPT,
        STAYS_BLOCKED,
    ),
    models.Chat: Data("client_name client_email", chats_of),
    models.ChatMessage: Data(
        "body", lambda person: models.ChatMessage.objects.filter(chat__in=chats_of(person).order_by().values("pk"))
    ),
    # Senders without a limit may be people.
    models.TicketQueue: Data("unlimited_senders"),
    models.Company: Nothing("organisations"),
    **SETTINGS.of(
        models,
        "MailboxGrant CustomField CustomerSettings TicketStatus TicketSubstatus TicketCategory TicketType Rule Macro "
        "BusinessCalendar CalendarHours ClosedDay ServiceLevel CannedReply Marketplace Team TeamMember",
    ),
    **STAFF.of(models, "AgentPreferences Notice TicketFollower"),
    **WORK.of(models, "MailboxTest TicketCount RuleRun DeadlineNotice AutomationState"),
}
