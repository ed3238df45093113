"""The customers of numbers and the tickets of callers' messages, for telephony and campaigns (telephony.customers)."""

from collections.abc import Collection, Mapping

from django.conf import settings
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import override

from callcentre.core.actor import SYSTEM
from callcentre.core.scope import Scoped, within_scope
from callcentre.core.times import minute, spell_length
from telephony.customers import Customer as KnownCustomer
from telephony.models import Recording
from tickets.models import Customer, CustomerNumber, Message, TicketQueue
from tickets.models.ticket import Source
from tickets.verbs import unknown_customers
from tickets.verbs.tickets import open_ticket

CUSTOMER_OF = "SELECT customer_id FROM tickets_customernumber WHERE number = {} ORDER BY customer_id LIMIT 1"


def customers_of(numbers: Collection[str]) -> Mapping[str, KnownCustomer]:
    """Return the oldest customer of each number, in its normal form. Merged customers have no numbers."""
    found = CustomerNumber.objects.filter(number__in=numbers).order_by("number", "customer_id").distinct("number")
    return {
        number: KnownCustomer(pk, f"{name} {surname}".strip())
        for number, pk, name, surname in found.values_list(
            "number", "customer_id", "customer__name", "customer__surname"
        )
    }


def customer_of_caller(caller: str, number: str) -> KnownCustomer | None:
    """Return the customer of an inbound call, or create one if the settings say so."""
    customer = unknown_customers.customer_of_caller(SYSTEM, caller, number)
    return KnownCustomer(customer.pk, str(customer)) if customer else None


def pages_of_customers(ids: Collection[int]) -> Mapping[int, tuple[KnownCustomer, str]]:
    return {
        customer.pk: (
            KnownCustomer(customer.pk, str(customer)),
            reverse("admin:tickets_customer_change", args=[customer.pk]),
        )
        for customer in Customer.objects.filter(pk__in=ids)
    }


def ticket_queues(user: Scoped) -> list[tuple[int, str]]:
    queues = within_scope(TicketQueue.objects.active(), user)
    return list(queues.order_by("name", "id").values_list("id", "name"))


def open_for_message(recording: Recording, ticket_queue_id: int) -> int:
    """Open a ticket that leads to the recording; in the first queue if the chosen one is not active any more."""
    call, seconds = recording.connection, round(recording.seconds)
    queue = TicketQueue.objects.active().filter(pk=ticket_queue_id).first()
    known = Customer.objects.filter(pk=call.customer_id).exists() if call.customer_id else False
    with override(settings.LANGUAGE_CODE):
        number = call.src or _("unknown number")
        facts = {"number": number, "queue": call.queue, "time": minute(recording.started_at)}
        sentence = _("%(number)s left a message for %(queue)s at %(time)s.") % facts
        length = _("It lasts %(length)s.") % {"length": spell_length(seconds)}
        lost = _("The recording could not be fetched.")
        link = _("Recording and transcription")
        subject = _("Message of %(number)s") % {"number": number}
    opened = open_ticket(
        SYSTEM,
        subject=subject,
        body=format_html(
            '<p>{} {}</p><p><a href="{}">{}</a></p>',
            sentence,
            length if seconds else lost,
            f"{settings.PUBLIC_URL}{reverse('admin:telephony_connection_change', args=[call.pk])}",
            link,
        ),
        body_type=Message.BodyType.HTML,
        sender=call.src,
        source=Source.PHONE,
        may_be_empty=True,
        queue=queue,
        customer_id=call.customer_id if known else None,
    )
    return int(opened.ticket.pk)
