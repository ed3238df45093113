"""The page of the desk, its poll, and its actions.

A part of the desk is sent again only if its facts have changed. `facts` are read for each poll, in a query or two.
`context` builds on them, only for a part that is sent. The digest of the facts stands on the page, and the page sends
it back with the next poll.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import URLPattern, path
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.admin.base import REFUSALS
from callcentre.admin.pages import site_page
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid, is_lock_refusal
from callcentre.web.desk import calls, chats, customers, incoming, records, work
from callcentre.web.desk.actions import ACTIONS
from callcentre.web.desk.calls import expect_topic
from callcentre.web.desk.home import agent_or_refuse
from callcentre.web.desk.phone import phone_act_view, phone_view
from callcentre.web.desk.situation import REST, Situation
from campaigns.admin import record_form
from telephony.verbs import presence

JSON = "application/json"
# The sentences of refusals for the agent at the desk, without the names of the wire.
SENTENCES = {
    **record_form.SENTENCES,
    ErrorCode.EMPTY: _("Fill this in first."),
    ErrorCode.NOT_INSTANT: _("This is no time for a next call."),
    ErrorCode.NOT_NUMBER: _("This is no number."),
    ErrorCode.NOT_DATE: _("This is no date."),
    ErrorCode.NEXT_CALL_REQUIRED: _("Enter the time of the next call first."),
    ErrorCode.AGENT_NOT_LOGGED_IN: _("Log in first."),
    ErrorCode.AGENT_IN_CALL: _("You are in a call."),
    ErrorCode.AGENT_WITHOUT_LINE: _("You have no standing line. A supervisor can give you one."),
    ErrorCode.SIP_UNKNOWN: _("You have no phone. A supervisor can enter your SIP number."),
    ErrorCode.TRANSFER_TARGET: _("Choose where the call goes."),
    ErrorCode.NO_OFFER: _("This record is not offered to you any more."),
    ErrorCode.RECORD_NOT_FOUND: _("The record is no longer there."),
    ErrorCode.TOPIC_OF_OTHER_QUEUE: _("This topic belongs to another queue."),
}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page, with a template of its name."""

    name: str
    facts: Callable[[Situation], Any]
    context: Callable[[Situation, Any], dict[str, Any]]

    @property
    def template(self) -> str:
        return f"admin/desk/{self.name}.html"


# The bar of every page of an agent.
INCOMING = Part("incoming", incoming.incoming_facts, incoming.incoming_context)
PARTS = (
    Part("state", calls.state_facts, calls.state_context),
    Part("offer", records.offer_facts, records.offer_context),
    Part("call", calls.call_facts, calls.call_context),
    Part("transfer", calls.transfer_facts, calls.transfer_context),
    Part("record", records.record_facts, records.record_context),
    Part("topic", calls.topic_facts, calls.topic_context),
    Part("customer", customers.customer_facts, customers.customer_context),
    Part("chats", chats.chats_facts, chats.chats_context),
    Part("conversation", chats.conversation_facts, chats.conversation_context),
    Part("canned", chats.canned_facts, chats.canned_context),
    Part("missed", work.missed_facts, work.missed_context),
    Part("tickets", work.tickets_facts, work.tickets_context),
    Part("numbers", work.numbers_facts, work.numbers_context),
)


def changed_parts(desk: Situation, parts: Iterable[Part], known: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the digest and the HTML of each part whose digest is not the known one."""
    changed = {}
    for part in parts:
        facts = part.facts(desk)
        digest = _digest(facts)
        if known.get(part.name) != digest:
            html = render_to_string(part.template, part.context(desk, facts), request=desk.request).strip()
            changed[part.name] = {"digest": digest, "html": html}
    return changed


def _digest(facts: Any) -> str:
    return hashlib.blake2s(repr(facts).encode(), digest_size=6).hexdigest()


def situation_of(request: HttpRequest) -> Situation:
    """Return the situation of the user's agent. Raises PermissionDenied for a user who is no agent."""
    return Situation(request, agent_or_refuse(request))


def desk_view(request: HttpRequest) -> HttpResponse:
    """Answer with the page. Its script asks for changed parts once a second."""
    desk = situation_of(request)
    parts, chat_id = changed_parts(desk, PARTS, {}), request.GET.get("chat_id", "")
    return site_page(request, "admin/desk/desk.html", _now("My desk"), agent=desk.agent, parts=parts, chat_id=chat_id)


def now_view(request: HttpRequest, *parts: Part) -> HttpResponse:
    """Answer with the parts that have changed since the digests of the address: of the desk, and the bar.

    The poll of the desk begins the agent's heartbeats, and those of other pages continue them. `rest` is the time in
    seconds after which the desk asks again if that is longer than usual.
    """
    desk = situation_of(request)
    presence.hear(desk.agent.pk, begins=not parts)
    if not parts:
        expect_topic(desk)
    changed = changed_parts(desk, parts or (INCOMING, *PARTS), request.GET.dict())
    rest = REST.total_seconds() if desk.is_at_rest else 0
    response = JsonResponse({"at": desk.now.timestamp(), "rest": rest, "parts": changed})
    add_never_cache_headers(response)
    return response


def incoming_view(request: HttpRequest) -> HttpResponse:
    """Answer with the bar, if it has changed: the poll of all other pages of an agent."""
    return now_view(request, INCOMING)


def act_view(request: HttpRequest, action: str) -> HttpResponse:
    """Do an action. The page's script wants JSON; without scripts the desk follows, with a message of a refusal."""
    desk = situation_of(request)
    if action not in ACTIONS:
        raise Http404
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    wants_json = request.headers.get("Accept") == JSON
    said, status = [], 200
    try:
        ACTIONS[action](desk, request.POST)
    except REFUSALS as error:
        said, status = sentences_of(error), 400
    except Http404 as error:
        if not wants_json:
            raise
        said, status = [str(error)], 404
    if wants_json:
        return JsonResponse({"errors": said}, status=status)
    for sentence in said:
        messages.error(request, sentence)
    return redirect("desk")


def sentences_of(error: Exception) -> list[str]:
    """Return the sentences of a refusal, each once. Raise other errors again."""
    match error:
        case Invalid():
            said = [fault.in_words(SENTENCES) for fault in error.faults]
        case Conflict():
            said = [Fault(error.code).in_words(SENTENCES)]
        case ValidationError():
            said = [str(sentence) for sentence in error.messages]
        case OperationalError() if is_lock_refusal(error):
            said = [_now("Another user is changing this. Try again.")]
        case _:
            raise error
    return list(dict.fromkeys(said))


def urls() -> list[URLPattern]:
    """Return the addresses of the desk. The admin's log-in comes before each."""
    own = admin.site.admin_view
    return [
        path("admin/desk/", own(desk_view), name="desk"),
        path("admin/desk/now", own(now_view), name="desk-now"),
        path("admin/desk/incoming", own(incoming_view), name="desk-incoming"),
        path("admin/desk/phone/", own(phone_view), name="desk-phone"),
        path("admin/desk/phone/<slug:action>/", own(phone_act_view), name="desk-phone-act"),
        path("admin/desk/<slug:action>/", own(act_view), name="desk-act"),
    ]
