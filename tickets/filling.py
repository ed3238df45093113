"""Texts with places in them, `{{ customer_name }}`: canned replies, signatures, templates, acknowledgements.

No template language of a programmer: what stands in the places is put in as text, never run, and a place that nobody
knows stays as it is, for whoever reads it before it is sent.
"""

import html
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from telephony.models import Agent
    from tickets.models.ticket import Ticket

_PLACE = re.compile(r"\{\{\s*([a-z_]{1,30})\s*\}\}")
# What any of those texts may name.
PLACES = ("ticket_id", "subject", "customer_name", "customer_email", "queue_name", "agent_name", "agent_email")


def values_for(ticket: "Ticket", agent: "Agent | None" = None) -> dict[str, str]:
    """What stands in each place, as HTML."""
    customer = ticket.customer
    values = {
        "ticket_id": str(ticket.pk),
        "subject": ticket.subject,
        "customer_name": str(customer) if customer else ticket.sender_name,
        "customer_email": ticket.sender if "@" in ticket.sender else customer.email if customer else "",
        "queue_name": ticket.queue.sender_name or ticket.queue.name,
        "agent_name": agent.full_name if agent else "",
        "agent_email": agent.email if agent else "",
    }
    return {name: html.escape(value) for name, value in values.items()}


def fill(markup: str, values: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: values.get(place.group(1), place.group(0)), markup)


def has_place(markup: str, name: str) -> bool:
    return any(place.group(1) == name for place in _PLACE.finditer(markup))
