"""What a person has written on a ticket's page becomes a reply or a comment: once, and knowing what is there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from callcentre.core.actor import Actor
from callcentre.core.errors import Fault, Invalid
from telephony.models import Agent
from tickets import html
from tickets.admin.ticket_page_forms import COMMENT, status_values
from tickets.models import Message, Ticket, TicketChange, TicketStatus, TicketSubstatus
from tickets.verbs.messages import comment_on, reply_to
from tickets.verbs.status_changes import Kind
from tickets.verbs.ticket_row import lock_ticket
from tickets.verbs.tickets import edit_ticket


class ChangedMeanwhile(Exception):
    """The person wrote without having seen all that is there."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a page has shown."""

    version: str
    message: int
    change: int


def version_of(ticket: Ticket) -> str:
    """Every verb touches it."""
    return ticket.updated_at.isoformat()


def seen_now(ticket: Ticket) -> Seen:
    of_ticket = {"ticket": ticket}
    message = Message.objects.filter(**of_ticket).order_by("-id").values_list("pk", flat=True).first()
    change = TicketChange.objects.filter(**of_ticket).order_by("-id").values_list("pk", flat=True).first()
    return Seen(version_of(ticket), message or 0, change or 0)


def write(
    actor: Actor, agent: Agent | None, ticket: Ticket, values: dict[str, Any], attachments: Sequence[str]
) -> bool:
    """Do what the form says, all of it or nothing; False where the same form has been sent before.

    Raises Invalid, and ChangedMeanwhile.
    """
    with transaction.atomic():
        locked = lock_ticket(ticket)
        if version_of(locked) != values["version"]:
            if _is_said_already(actor, agent, locked, values):
                return False
            raise ChangedMeanwhile
        login = agent.login if agent else ""
        then: dict[str, Any] = status_values(values["then"]) if values["then"] else {}
        is_taken = values["take"] and values["kind"] != COMMENT and login
        assigned = {"agent_login": login} if is_taken else {}
        # A reply moves what is new or in progress: a status of these kinds is set after it.
        is_moved_back = _is_open(then)
        faults = _edit(actor, locked, assigned if is_moved_back else {**assigned, **then})
        text, text_type = values["body"], values["body_type"]
        if values["kind"] == COMMENT:
            comment_on(
                locked, actor, faults, agent_login=login, text=text, text_type=text_type, attachments=attachments
            )
        else:
            reply_to(
                locked,
                actor,
                faults,
                agent_login=login,
                body=text,
                body_type=text_type,
                attachments=attachments,
                recipients=values["to"],
                copies=values["cc"],
            )
        if is_moved_back:
            edit_ticket(locked, actor, **then)
    return True


def _edit(actor: Actor, ticket: Ticket, values: dict[str, Any]) -> Sequence[Fault]:
    """What is wrong with these is said together with what is wrong with the text."""
    try:
        if values:
            edit_ticket(ticket, actor, **values)
    except Invalid as refusal:
        return refusal.faults
    return ()


def _is_open(then: dict[str, Any]) -> bool:
    open_kinds = (Kind.NEW, Kind.IN_PROGRESS)
    if "status_id" in then:
        return TicketStatus.objects.filter(pk=then["status_id"], kind__in=open_kinds).exists()
    if "substatus_id" in then:
        return TicketSubstatus.objects.filter(pk=then["substatus_id"], status__kind__in=open_kinds).exists()
    return False


def _is_said_already(actor: Actor, agent: Agent | None, ticket: Ticket, values: dict[str, Any]) -> bool:
    """Whether this person has said the very same since the page was shown: a form that was sent twice."""
    is_comment = values["kind"] == COMMENT
    is_html = values["body_type"] == Message.BodyType.HTML
    text = html.clean(values["body"]) if is_html else values["body"]
    said = Message.objects.filter(
        ticket=ticket,
        pk__gt=values["seen"] or 0,
        agent=agent,
        type=Message.Type.COMMENT if is_comment else Message.Type.REPLY,
        **({"comment": text} if is_comment else {"body": text}),
    )
    if agent is None:
        said = said.filter(author_name=actor.name)
    return said.exists()
