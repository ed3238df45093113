"""The actions of the desk. Each is one call of a verb, for the agent of the user and for no other.

An action takes the situation and the form that was sent. It raises a refusal of the verb, or Http404 for a call, an
offer or a chat of another agent.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404, QueryDict
from django.utils.translation import gettext as _now

from callcentre.admin import user_of
from callcentre.core.errors import Conflict, ErrorCode, Fault
from callcentre.core.integers import integer_of
from callcentre.web.desk.chats import chat_or_404
from callcentre.web.desk.records import fields_of
from callcentre.web.desk.situation import Situation
from callcentre.web.desk.work import missed_or_404
from campaigns.api.serializers import ResultInput
from campaigns.dialling import previews
from campaigns.models import Attempt, RecordOffer, RecordStatus, SystemStatus, record_rows
from campaigns.verbs.results import await_result, give_result
from telephony.api.agents import PauseInput
from telephony.api.calls import TransferInput
from telephony.api.topics import ConnectionTopicInput
from telephony.calls import commands, lines
from telephony.models import CallCommand, Connection, Queue, TopicField, TransferShortcut
from telephony.models.topic import FIELDS_KEY
from telephony.verbs import connections, presence
from telephony.verbs.agents import close_message, edit_agent
from telephony.verbs.topics import set_topic
from tickets.admin.chat_page import AnswerForm
from tickets.verbs.chats import assign_chat, close_chat, write_in_chat
from tickets.verbs.notices import close_notices

Kind = CallCommand.Kind


def pause(desk: Situation, form: QueryDict) -> None:
    values, faults = PauseInput.read(form.dict())
    presence.pause(desk.agent, desk.actor, values.get("pause_id"), faults, after_call=True)


def extend(desk: Situation, form: QueryDict) -> None:
    """Extend the wrap-up, and with it the time for the result of a campaign's call."""
    with transaction.atomic():
        if connection_id := presence.extend_wrap_up(desk.agent, desk.actor):
            await_result(connection_id, presence.EXTENSION)


def place_call(desk: Situation, form: QueryDict) -> None:
    number = form.get("phone_number", "").strip()
    if not number:
        raise ValidationError(_now("Enter a number first."))
    _call(desk, number)


def call_back(desk: Situation, form: QueryDict) -> None:
    missed = missed_or_404(desk.agent, form.get("connection", ""))
    _call(desk, missed.src, missed.customer_id)


def _call(desk: Situation, number: str, customer_id: int | None = None) -> None:
    if not desk.agent.number:
        raise Conflict(ErrorCode.SIP_UNKNOWN)
    connections.call(desk.actor, sip=desk.agent.number, phone_number=number, customer_id=customer_id)


def command(kind: CallCommand.Kind, desk: Situation, form: QueryDict) -> None:
    commands.ask(desk.actor, _open_call(desk, form), kind)


def end_consultation(desk: Situation, form: QueryDict) -> None:
    """Return to the customer; or leave, if this agent is the consulted one."""
    connection = desk.open_call_or_404(form.get("connection", ""), also_consulted=True)
    commands.ask(desk.actor, connection, Kind.RETURN)


def transfer(desk: Situation, form: QueryDict) -> None:
    connection = _open_call(desk, form)
    # A button and the field of a number may be sent together: the button counts.
    given = {name: value for name, value in form.items() if value}
    if len(given.keys() & {"queue_id", "transfer_shortcut_id", "agent_number"}) and "number" in given:
        del given["number"]
    if agent_number := given.pop("agent_number", ""):
        given["number"] = agent_number
    values, faults = TransferInput.read(given)
    faults += _faults_of_scope(desk, values)
    kind = Kind.CONSULT if "consult" in form else Kind.TRANSFER
    commands.ask_transfer(desk.actor, connection, faults, kind=kind, **values)


def _faults_of_scope(desk: Situation, values: Mapping[str, Any]) -> list[Fault]:
    """Return a fault for a target outside the scope of the agent's user, which the list of targets leaves out."""
    scope, faults = user_of(desk.request).scope, []
    if not scope.is_all:
        if (pk := values.get("queue_id")) and not scope.within(Queue.objects.filter(pk=pk)).exists():
            faults.append(Fault(ErrorCode.QUEUE_UNKNOWN, "queue_id"))
        pk = values.get("transfer_shortcut_id")
        if pk and not scope.within(TransferShortcut.objects.filter(pk=pk)).exists():
            faults.append(Fault(ErrorCode.SHORTCUT_UNKNOWN, "transfer_shortcut_id"))
    return faults


def _open_call(desk: Situation, form: QueryDict) -> Connection:
    return desk.open_call_or_404(form.get("connection", ""))


def give_topic(desk: Situation, form: QueryDict) -> None:
    connection = desk.connection_or_404(form.get("connection", ""))
    fields = TopicField.objects.active().filter(queue=connection.queue_id).values_list("pk", flat=True)
    given = [{"field_id": pk, "value": form[f"field_{pk}"]} for pk in fields if form.get(f"field_{pk}")]
    values, faults = ConnectionTopicInput.read(
        {
            "connection_id": connection.uid,
            "topic_id": form.get("topic_id", ""),
            "comment": _lines(form.get("comment", "")),
            FIELDS_KEY: given,
            "agent_login": desk.agent.login,
        }
    )
    set_topic(desk.actor, values, faults)


def result(desk: Situation, form: QueryDict) -> None:
    """Give the result of a campaign's call. A record of the agent's own becomes that of this agent."""
    connection = desk.connection_or_404(form.get("connection", ""))
    given: dict[str, Any] = {
        "status_id": form.get("status_id", ""),
        "next_call_date": form.get("next_call_date", "").replace("T", " "),
        "is_wrong_number": True if form.get("is_wrong_number") else None,
        "note": _lines(form.get("note", "")),
        "record_fields": _changed_fields(connection, form),
    }
    needing_agent = RecordStatus.objects.filter(system_status__in=SystemStatus.needing_agent())
    if needing_agent.filter(pk=integer_of(given["status_id"]) or 0).exists():
        given["assign_to_login"] = desk.agent.login
    values, faults = ResultInput.read({name: value for name, value in given.items() if value})
    give_result(connection, desk.actor, faults, **values)


def _changed_fields(connection: Connection, form: QueryDict) -> Mapping[str, str]:
    """Return name -> text of the fields that the form changes."""
    attempt = Attempt.objects.filter(connection_id=connection.pk).first()
    row = record_rows.by_id(attempt.campaign_code, attempt.record_id) if attempt else None
    return {
        field["name"]: text
        for field in (fields_of(row) if row else ())
        if (text := form.get(f"field_{field['key']}", field["value"])) != field["value"]
    }


def accept(desk: Situation, form: QueryDict) -> None:
    _check_offer(desk, form)
    previews.accept(desk.agent, desk.actor)


def skip(desk: Situation, form: QueryDict) -> None:
    _check_offer(desk, form)
    previews.skip(desk.agent, desk.actor, reason=form.get("reason", "").strip()[:300])


def _check_offer(desk: Situation, form: QueryDict) -> None:
    """Raise Http404 for an offer to another agent, and Conflict if another record than the shown one is offered."""
    pk = integer_of(form.get("offer", "")) or 0
    if not RecordOffer.objects.filter(pk=pk, agent=desk.agent).exists():
        raise Http404(_now("This record is not offered to you."))
    if desk.offer is None or desk.offer.pk != pk:
        raise Conflict(ErrorCode.NO_OFFER)


def close(desk: Situation, form: QueryDict) -> None:
    close_message(desk.agent, integer_of(form.get("message", "")) or 0)


def close_notice(desk: Situation, form: QueryDict) -> None:
    """Close a notice, and the earlier ones of its ticket."""
    pk = integer_of(form.get("notice", "")) or 0
    close_notices(desk.agent, pk__lte=pk, ticket__notices=pk)


def write(desk: Situation, form: QueryDict) -> None:
    chat = chat_or_404(desk.agent, form.get("chat", ""))
    answer = AnswerForm(form)
    if not answer.is_valid():
        raise ValidationError([sentence for said in answer.errors.values() for sentence in said])
    write_in_chat(chat, desk.actor, body=answer.cleaned_data["body"], agent_login=desk.agent.login)


def take_chat(desk: Situation, form: QueryDict) -> None:
    chat = chat_or_404(desk.agent, form.get("chat", ""))
    assign_chat(chat, desk.actor, agent_login=desk.agent.login)


def end_chat(desk: Situation, form: QueryDict) -> None:
    chat = chat_or_404(desk.agent, form.get("chat", ""))
    if chat.agent_id != desk.agent.pk:
        raise Http404(_now("This chat is not yours."))
    close_chat(chat, desk.actor)


def _lines(text: str) -> str:
    """Return the text with line ends of LF: browsers send CR and LF."""
    return text.replace("\r\n", "\n")


ACTIONS: Mapping[str, Callable[[Situation, QueryDict], object]] = {
    "log-in": lambda desk, form: presence.log_in(desk.agent, desk.actor),
    "log-out": lambda desk, form: presence.log_out(desk.agent, desk.actor),
    "ready": lambda desk, form: presence.free(desk.agent, desk.actor, after_call=True),
    "pause": pause,
    "extend": extend,
    "mode": lambda desk, form: edit_agent(desk.agent, desk.actor, outbound_mode=form.get("on") == "1"),
    "begin-line": lambda desk, form: lines.ask_for_line(desk.agent, desk.actor),
    "end-line": lambda desk, form: lines.end_line(desk.agent, desk.actor),
    "call": place_call,
    "call-back": call_back,
    "hang-up": partial(command, Kind.HANG_UP),
    "hold": partial(command, Kind.HOLD),
    "resume": partial(command, Kind.RESUME),
    "transfer": transfer,
    "join": partial(command, Kind.JOIN),
    "hand-over": partial(command, Kind.HAND_OVER),
    "end-consultation": end_consultation,
    "topic": give_topic,
    "result": result,
    "close-message": close,
    "close-notice": close_notice,
    # All that the page has shown.
    "close-notices": lambda desk, form: close_notices(desk.agent, pk__lte=integer_of(form.get("notice", "")) or 0),
    "accept": accept,
    "skip": skip,
    "write": write,
    "take-chat": take_chat,
    "end-chat": end_chat,
}
