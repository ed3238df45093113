"""Tickets of messages that callers have left in the voicemail of a call queue."""

from django.conf import settings
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import override

from callcentre.core.actor import SYSTEM
from callcentre.core.scope import Scoped, within_scope
from callcentre.core.times import minute, spell_length
from telephony.callers_messages import CallersMessage
from tickets.models import Customer, Message, TicketQueue
from tickets.models.ticket import Source
from tickets.verbs.tickets import open_ticket


def choices(user: Scoped) -> list[tuple[int, str]]:
    queues = within_scope(TicketQueue.objects.active(), user)
    return list(queues.order_by("name", "id").values_list("id", "name"))


def open_for(message: CallersMessage, ticket_queue_id: int) -> int:
    """Open a ticket that leads to the recording; in the first queue if the chosen one is not active any more."""
    queue = TicketQueue.objects.active().filter(pk=ticket_queue_id).first()
    known = Customer.objects.filter(pk=message.customer_id).exists() if message.customer_id else False
    with override(settings.LANGUAGE_CODE):
        number = message.number or _("unknown number")
        facts = {"number": number, "queue": message.queue, "time": minute(message.at)}
        sentence = _("%(number)s left a message for %(queue)s at %(time)s.") % facts
        length = _("It lasts %(length)s.") % {"length": spell_length(message.seconds)}
        lost = _("The recording could not be fetched.")
        link = _("Recording and transcription")
        subject = _("Message of %(number)s") % {"number": number}
    opened = open_ticket(
        SYSTEM,
        subject=subject,
        body=format_html(
            '<p>{} {}</p><p><a href="{}">{}</a></p>',
            sentence,
            length if message.seconds else lost,
            f"{settings.PUBLIC_URL}{message.path}",
            link,
        ),
        body_type=Message.BodyType.HTML,
        sender=message.number,
        source=Source.PHONE,
        may_be_empty=True,
        queue=queue,
        customer_id=message.customer_id if known else None,
    )
    return int(opened.ticket.pk)
