"""The composer of a ticket's page: it sends a text once, and only if the person has seen the newest messages.

A text that a person has begun in one browser is there in another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse

from callcentre.admin import Admin, user_of
from callcentre.admin.scope import scope_of
from callcentre.core.actor import Actor
from callcentre.core.errors import Fault, Invalid
from callcentre.models import User
from telephony.models import Agent
from tickets import html
from tickets.admin.ticket_page_forms import ANSWER, COMMENT, LONGEST_TEXT, REPLY, status_values
from tickets.models import Message, Ticket, TicketChange, TicketDraft, TicketStatus, TicketSubstatus
from tickets.models.status import OPEN_KINDS
from tickets.verbs.messages import comment_on, reply_to
from tickets.verbs.notices import mentionable
from tickets.verbs.ticket_row import lock_ticket
from tickets.verbs.tickets import edit_ticket


class ChangedMeanwhile(Exception):
    """The ticket has messages or changes that the page did not show."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The state of the ticket that a page has shown."""

    version: str
    message: int
    change: int


def version_of(ticket: Ticket) -> str:
    """Return the version of a ticket. Every verb changes it."""
    return ticket.updated_at.isoformat()


def seen_now(ticket: Ticket) -> Seen:
    of_ticket = {"ticket": ticket}
    message = Message.objects.filter(**of_ticket).order_by("-id").values_list("pk", flat=True).first()
    change = TicketChange.objects.filter(**of_ticket).order_by("-id").values_list("pk", flat=True).first()
    return Seen(version_of(ticket), message or 0, change or 0)


def mentions_view(admin: Admin, request: HttpRequest, ticket_id: int) -> HttpResponse:
    """Answer with the agents whom a comment of the ticket may mention, and whom the person may see."""
    ticket = admin.row_or_404(request, str(ticket_id))
    return JsonResponse({"agents": mentionable(ticket, scope_of(request))})


def write(
    actor: Actor, agent: Agent | None, ticket: Ticket, values: dict[str, Any], attachments: Sequence[str]
) -> bool:
    """Write the text and edit the ticket, or do nothing. Return False if the same form was sent before.

    Raises Invalid, and ChangedMeanwhile.
    """
    with transaction.atomic():
        locked = lock_ticket(ticket)
        if version_of(locked) != values["version"]:
            if _is_sent_already(actor, agent, locked, values):
                return False
            raise ChangedMeanwhile
        login = agent.login if agent else ""
        then: dict[str, Any] = status_values(values["then"]) if values["then"] else {}
        is_taken = values["take"] and values["kind"] != COMMENT and login
        assigned = {"agent_login": login} if is_taken else {}
        # A reply moves an open ticket to another status, so an open status is set after the reply.
        is_moved_back = _is_open(then)
        faults = _edit(actor, locked, assigned if is_moved_back else {**assigned, **then})
        text, text_type = values["body"], values["body_type"]
        if values["kind"] != REPLY:
            comment_on(
                locked,
                actor,
                faults,
                agent_login=login,
                text=text,
                text_type=text_type,
                attachments=attachments,
                is_answer=values["kind"] == ANSWER,
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
                may_be_mail=True,
            )
        if is_moved_back:
            edit_ticket(locked, actor, **then)
    return True


def _edit(actor: Actor, ticket: Ticket, values: dict[str, Any]) -> Sequence[Fault]:
    """Edit the ticket. Return the faults, to be raised together with those of the text."""
    try:
        if values:
            edit_ticket(ticket, actor, **values)
    except Invalid as refusal:
        return refusal.faults
    return ()


def _is_open(then: dict[str, Any]) -> bool:
    if "status_id" in then:
        return TicketStatus.objects.filter(pk=then["status_id"], kind__in=OPEN_KINDS).exists()
    if "substatus_id" in then:
        return TicketSubstatus.objects.filter(pk=then["substatus_id"], status__kind__in=OPEN_KINDS).exists()
    return False


def _is_sent_already(actor: Actor, agent: Agent | None, ticket: Ticket, values: dict[str, Any]) -> bool:
    """Return whether the same person has written the same text since the page was shown: a form sent twice."""
    is_comment = values["kind"] != REPLY
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


def draft_view(admin: Admin, request: HttpRequest, ticket_id: int) -> HttpResponse:
    """Keep the text that the composer has now, and answer with its version; without a text, forget the draft."""
    if request.method != "POST":
        return HttpResponse(status=405)
    ticket, user = admin.row_or_404(request, str(ticket_id), "change"), user_of(request)
    text, kind = request.POST.get("text", "").replace("\0", ""), request.POST.get("kind")
    if not text:
        forget_draft(ticket, user)
    elif len(text) <= LONGEST_TEXT and kind in (REPLY, ANSWER, COMMENT):
        body_type = Message.BodyType.HTML if request.POST.get("html") == "1" else Message.BodyType.PLAIN
        values = {"text": text, "kind": kind, "body_type": body_type}
        draft, _is_new = TicketDraft.objects.update_or_create(ticket=ticket, user=user, defaults=values)
        return HttpResponse(draft.updated_at.isoformat())
    else:
        return HttpResponse(status=400)
    return HttpResponse(status=204)


def draft_of(ticket: Ticket, user: User) -> dict[str, Any] | None:
    """Return the draft as the script of the page reads it, with its version."""
    draft = TicketDraft.objects.filter(ticket=ticket, user=user).first()
    if draft is None:
        return None
    is_html = draft.body_type == Message.BodyType.HTML
    return {"text": draft.text, "kind": draft.kind, "html": is_html, "at": draft.updated_at.isoformat()}


def forget_draft(ticket: Ticket, user: User) -> None:
    TicketDraft.objects.filter(ticket=ticket, user=user).delete()
