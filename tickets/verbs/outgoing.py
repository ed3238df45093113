"""The verbs that write to an address that has not written: to a customer, or as a test of the mail."""

from django.db import transaction
from django.utils.translation import gettext as _

from callcentre.core.actor import Actor
from tickets.models import Customer, Message
from tickets.verbs.messages import reply_to
from tickets.verbs.tickets import open_unwritten_ticket


def write_to_customer(
    customer: Customer,
    actor: Actor,
    *,
    recipient: str,
    agent_login: str,
    subject: str,
    body: str,
    queue_id: int | None = None,
) -> Message:
    """Open a ticket of the agent whose first message is a mail to the customer. Raises Invalid."""
    with transaction.atomic():
        ticket = open_unwritten_ticket(
            actor,
            subject=subject,
            sender=recipient,
            sender_name=str(customer),
            queue_id=queue_id,
            customer_id=customer.pk,
            agent_login=agent_login,
        )
        return reply_to(ticket, actor, agent_login=agent_login, body=body, body_type=Message.BodyType.PLAIN)


def send_test_mail(actor: Actor, *, recipient: str, queue_id: int) -> Message:
    """Open a ticket of no customer whose first message is a test mail in the name of the queue. Raises Invalid.

    It is a ticket as any other, so that the test shows whether the answer comes back as well.
    """
    with transaction.atomic():
        ticket = open_unwritten_ticket(
            actor, subject=_("Test mail"), sender=recipient, sender_name="", queue_id=queue_id
        )
        body = _("This mail tests the sending of mail. An answer to it comes to ticket %(ticket)s.")
        return reply_to(ticket, actor, body=body % {"ticket": ticket.pk}, body_type=Message.BodyType.PLAIN)
