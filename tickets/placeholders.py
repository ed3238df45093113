"""Placeholders such as `{{ customer_name }}` in canned replies, signatures, templates and acknowledgements.

This is no template language: values are inserted as text and never run. A text with an unknown placeholder is refused
when it is saved.
"""

import html
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

if TYPE_CHECKING:
    from telephony.models import Agent
    from tickets.models.chat import Chat
    from tickets.models.ticket import Ticket

# An editor may replace blanks by non-breaking spaces.
_BLANKS = r"(?:\s|&nbsp;)*+"
_PLACE = re.compile(rf"\{{\{{{_BLANKS}([a-z_]{{1,30}}){_BLANKS}\}}\}}")
_ANY_PLACE = re.compile(r"\{\{(.{0,300}?)\}\}", re.DOTALL)
# The placeholders that all of these texts may have.
PLACEHOLDERS = ("ticket_id", "subject", "customer_name", "customer_email", "queue_name", "agent_name", "agent_email")


def values_for(ticket: "Ticket", agent: "Agent | None" = None) -> dict[str, str]:
    """Return the value of each placeholder, as HTML."""
    customer = ticket.customer
    values = {
        "ticket_id": str(ticket.pk),
        "subject": ticket.subject,
        "customer_name": str(customer) if customer else ticket.sender_name or ticket.sender,
        "customer_email": ticket.sender if "@" in ticket.sender else customer.email if customer else "",
        "queue_name": ticket.queue.sender_name or ticket.queue.name,
    }
    return _escaped(values, agent)


def values_for_chat(chat: "Chat", agent: "Agent") -> dict[str, str]:
    """Return the value of each placeholder that a chat has, as HTML."""
    values = {"customer_name": chat.client_name, "customer_email": chat.client_email, "queue_name": chat.queue.name}
    return _escaped(values, agent)


def _escaped(values: Mapping[str, str], agent: "Agent | None") -> dict[str, str]:
    own = {"agent_name": agent.full_name if agent else "", "agent_email": agent.email if agent else ""}
    return {name: html.escape(value) for name, value in {**values, **own}.items()}


def fill(markup: str, values: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: values.get(place.group(1), place.group(0)), markup)


def check_placeholders(**texts: tuple[str, Sequence[str]]) -> None:
    """Raise ValidationError for unknown placeholders. Each text comes with the placeholders that only it may have."""
    faults = {}
    for field, (markup, others) in texts.items():
        names = (*PLACEHOLDERS, *others)
        places = (place.replace("&nbsp;", " ").strip() for place in _ANY_PLACE.findall(markup))
        if unknown := [place for place in places if place not in names]:
            said = _("Nothing is put in for %(place)s. There are: %(places)s.")
            faults[field] = said % {"place": spelled(unknown[0]), "places": ", ".join(map(spelled, names))}
    if faults:
        raise ValidationError(faults)


def spelled(name: str) -> str:
    """Return the placeholder as it is written in a text."""
    return f"{{{{ {name} }}}}"


def has_placeholder(markup: str, name: str) -> bool:
    return any(place.group(1) == name for place in _PLACE.finditer(markup))
