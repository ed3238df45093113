"""The verb that writes to a customer who has not written."""

from collections.abc import Sequence

from django.db import transaction

from callcentre.core.actor import Actor
from callcentre.core.errors import Fault
from tickets.models import Customer, Message
from tickets.verbs.messages import reply_to
from tickets.verbs.tickets import open_unwritten_ticket


def write_to_customer(
    customer: Customer,
    actor: Actor,
    faults: Sequence[Fault] = (),
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
            faults,
            subject=subject,
            sender=recipient,
            sender_name=str(customer),
            queue_id=queue_id,
            customer_id=customer.pk,
            agent_login=agent_login,
        )
        return reply_to(ticket, actor, agent_login=agent_login, body=body, body_type=Message.BodyType.PLAIN)
