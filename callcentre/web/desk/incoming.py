"""The bar on every page of an agent: the call, the offered record, chats and notices of tickets that want the agent.

Its facts are a part of the desk's poll. Other pages ask for this part alone (incoming.js).
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _now

from callcentre.admin import may_see, user_of
from callcentre.core.statements import rows_of
from callcentre.web.desk.calls import campaign_of
from callcentre.web.desk.situation import Call, Situation
from telephony.calls.callbacks import is_attempt
from telephony.current_states import LOGGED_OUT
from telephony.models import AgentLine, AgentMessage, Connection, ConnectionTopic, ScreenPop, Supervision
from telephony.models.agent_intervals import StateKind
from telephony.verbs import screen_pops
from tickets.models import Ticket
from tickets.models.notice import heading_of

# Sounds of the bar: a call rings until it is answered, other things are heard once.
RING, CHIME = "ring", "chime"
# The most chats and tickets that are sent. The page shows the newest that the person has not hidden.
MOST = 10
# The moment of a screen pop, and the agent's state in the call.
_MOMENTS = ((ScreenPop.Moment.RING, StateKind.RINGING), (ScreenPop.Moment.ANSWER, StateKind.TALKING))
# The newest open notice of each ticket. What concerns the assignee is no news once the ticket is closed or given away;
# followers are told of due times, too.
_NOTICES = """
SELECT * FROM (
  SELECT DISTINCT ON (n.ticket_id) n.id, n.kind, n.key, n.actor_name, n.created_at, t.id AS ticket, t.subject
  FROM tickets_notice n JOIN tickets_ticket t ON t.id = n.ticket_id
  WHERE n.agent_id = %(agent)s AND n.closed_at IS NULL AND (
    n.kind NOT IN ('assigned', 'deadline', 'woken') OR (t.closed_at IS NULL AND (t.agent_id = n.agent_id OR (
      n.kind = 'deadline'
      AND EXISTS (SELECT FROM tickets_ticketfollower f WHERE f.ticket_id = t.id AND f.agent_id = n.agent_id)
    )))
  ){inside}
  ORDER BY n.ticket_id, n.id DESC
) notice ORDER BY id DESC LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A line of the bar. With `is_news` the page says its heading aloud, in its title and in a notification."""

    key: str
    icon: str
    heading: str
    about: list[str] = field(default_factory=list)
    since: datetime | None = None
    until: datetime | None = None
    hint: str = ""
    sound: str = ""
    is_news: bool = True
    # An action of the desk, with the name and value that it sends.
    action: str = ""
    action_label: str = ""
    name: str = ""
    value: Any = ""
    # The page that has the rest.
    url: str = ""
    url_label: str = ""
    # The page of another program, which opens by itself.
    is_outside: bool = False
    chat: Any = ""
    # Only its own button takes the line away, for all pages and browsers of the agent.
    stays: bool = False


def incoming_facts(desk: Situation) -> Any:
    """Return what the bar shows. An agent in a call hears nothing else; in a pause no new chat is shown."""
    call = desk.present_call if desk.present_call and desk.present_call.is_open else None
    is_away = desk.current.status in (LOGGED_OUT, StateKind.PAUSED)
    chats = [
        (chat["pk"], chat["is_waiting"])
        for chat in desk.chats
        if (not is_away if chat["is_waiting"] else chat["is_clients"])
    ]
    tickets = _notices(desk)
    sent = AgentMessage.objects.filter(agent=desk.agent, closed_at=None)
    return (
        (call.connection.pk, call.state, call.connection.state) if call else None,
        desk.offer.pk if desk.offer else None,
        chats,
        tickets,
        bool(chats or tickets) and desk.current.status in (StateKind.RINGING, StateKind.TALKING),
        list(sent.values_list("pk", "text", "actor_name", "sent_at")[:MOST]),
        _supervisors(call) if call else [],
        _pops(desk),
        (desk.note, desk.is_consulted) if call else None,
    )


def _notices(desk: Situation) -> list[tuple[Any, ...]]:
    """Return the newest open notices of the agent, of tickets within the present scope."""
    scope = user_of(desk.request).scope
    values = {"agent": desk.agent.pk, "most": MOST, **scope.by_column}
    return rows_of(_NOTICES.format(inside=scope.sql(Ticket, "t")), values)


def _supervisors(call: Call) -> list[tuple[int, str, str, datetime | None]]:
    """Return the supervisors in the agent's call, if the agent is to know of them."""
    if not settings.SHOW_SUPERVISION_TO_AGENTS or not call.connection.is_supervised:
        return []
    there = call.connection.supervisions.filter(up_at__isnull=False, ended_at=None)
    return list(there.values_list("pk", "mode", "agent__login", "up_at"))


def _pops(desk: Situation) -> list[tuple[str, str, str]]:
    """Return key, name and address of the screen pops of the agent's call, at its present moment."""
    if not ScreenPop.objects.filter(is_active=True, way=ScreenPop.Way.DESK).exists() or desk.call is None:
        return []
    call, connection = desk.call, desk.call.connection
    moments = [moment for moment, state in _MOMENTS if state == call.state]
    if ConnectionTopic.objects.filter(connection=connection).exists() or (desk.attempt and desk.attempt.result):
        moments.append(ScreenPop.Moment.RESULT)
    return [
        (f"pop-{pop.pk}-{connection.pk}-{pop.moment}", pop.name, screen_pops.address(pop, connection, desk.agent.login))
        for pop in screen_pops.of_call(connection, ScreenPop.Way.DESK, *moments)
    ]


def incoming_context(desk: Situation, facts: Any) -> dict[str, Any]:
    call, offer, chats, tickets, is_busy, sent, supervisors, pops, _note = facts
    sound = "" if is_busy else CHIME
    wanted = {pk for pk, _is_waiting in chats}
    items = [_chat(chat, sound) for chat in desk.chats if chat["pk"] in wanted]
    if not may_see(desk.request.user, "tickets", "ticket"):
        tickets = []
    items += [_notice(row, sound) for row in tickets]
    items.sort(key=lambda item: item.since or desk.now, reverse=True)
    first = [_call(desk, desk.present_call)] if call and desk.present_call else []
    first += [_offer(desk)] if offer else []
    first += [_supervisor(*row) for row in supervisors]
    first += [_message(*row) for row in sent]
    first += [_pop(*pop) for pop in pops]
    # Notices that have come since stay.
    newest = tickets[0][0] if len(tickets) > 1 else None
    return {"items": [*first, *items[:MOST]], "newest": newest}


def _pop(key: str, name: str, url: str) -> Item:
    return Item(
        key=key,
        icon="open_in_new",
        heading=name,
        about=[urlsplit(url).netloc],
        is_news=False,
        url=url,
        url_label=_now("Open the page"),
        is_outside=True,
    )


def _call(desk: Situation, call: Call) -> Item:
    """Return the call. It has a sound while the phone rings for it, unless the agent asked for the call."""
    connection = call.connection
    is_inbound = connection.direction == Connection.Direction.INBOUND
    # Also while a call out is dialled: then it is handed on to this agent. Otherwise the customer's phone rings.
    is_handed_on = is_inbound or connection.agent_id not in (None, desk.agent.pk)
    is_dialled = connection.state == Connection.State.DIALLING and not is_handed_on
    is_rung = call.state == StateKind.RINGING and not is_dialled
    is_callback = is_rung and not is_inbound and is_attempt(connection)
    is_of_others = is_inbound or connection.is_answered or bool(connection.campaign_id) or is_callback
    number, who = _who(desk)
    asker = desk.consultation.asker if desk.consultation and desk.is_consulted else ""
    if asker:
        heading = _now("%(agent)s asks you about %(who)s")
    elif not is_rung:
        heading = _now("Call: %(who)s")
    elif is_callback:
        heading = _now("Call-back: %(who)s")
    elif is_of_others:
        heading = _now("Incoming call: %(who)s")
    else:
        heading = _now("Your call: %(who)s")
    campaign = campaign_of(connection)
    origin = campaign.name if campaign else connection.queue.name if connection.queue else ""
    hint = ""
    if is_rung:
        is_on_line = desk.line is not None and desk.line.state == AgentLine.State.UP
        hint = _now("You hear a tone, then the caller.") if is_on_line else _now("Pick up your phone to answer.")
    return Item(
        key=f"call-{connection.pk}",
        icon="call",
        heading=heading % {"who": who, "agent": asker},
        about=[text for text in (number if number != who else "", origin, desk.note) if text],
        since=call.since,
        hint=hint,
        sound=RING if is_rung and is_of_others else "",
        is_news=is_rung and is_of_others,
        url=f"{reverse('desk')}#desk-call",
        url_label=_now("Show the call"),
    )


def _offer(desk: Situation) -> Item:
    offer = desk.offer
    assert offer is not None
    number, who = _who(desk)
    return Item(
        key=f"offer-{offer.pk}",
        icon="contact_phone",
        heading=_now("Offered record: %(who)s") % {"who": who},
        about=[text for text in (number if number != who else "", offer.campaign.name) if text],
        until=offer.expires_at,
        sound=CHIME,
        action="accept",
        action_label=_now("Call it"),
        name="offer",
        value=offer.pk,
        url=f"{reverse('desk')}#desk-offer",
        url_label=_now("Show the record"),
    )


def _supervisor(pk: int, mode: str, login: str, at: datetime | None) -> Item:
    # The mode is part of the key: another mode is news.
    said = _now("A supervisor is in your call: %(who)s %(what)s")
    return Item(
        key=f"supervisor-{pk}-{mode}",
        icon="hearing",
        heading=said % {"who": login, "what": Supervision.Mode(mode).label},
        since=at,
    )


def _message(pk: int, text: str, sender: str, at: datetime) -> Item:
    return Item(
        key=f"message-{pk}",
        icon="campaign",
        heading=text,
        about=[sender],
        since=at,
        sound=CHIME,
        action="close-message",
        action_label=_now("Close"),
        name="message",
        value=pk,
        stays=True,
    )


def _who(desk: Situation) -> tuple[str, str]:
    """Return the number of the call or of the offered record, and the name of its customer, or else the number."""
    number, customer = desk.number, desk.customer
    return number, str(customer) if customer and str(customer) else number or _now("unknown number")


def _chat(chat: dict[str, Any], sound: str) -> Item:
    heading = _now("New chat: %(who)s") if chat["is_waiting"] else _now("Unanswered chat: %(who)s")
    return Item(
        key=f"chat-{chat['pk']}",
        icon="chat",
        heading=heading % {"who": chat["client"]},
        about=[text for text in (chat["queue"], chat["text"]) if text],
        since=chat["written_at"] or chat["began_at"],
        sound=sound,
        action="take-chat" if chat["is_waiting"] else "",
        action_label=_now("Take the chat"),
        name="chat",
        value=chat["pk"],
        url=f"{reverse('desk')}?chat_id={chat['pk']}",
        url_label=_now("Show the chat"),
        chat=chat["pk"],
    )


def _notice(row: tuple[Any, ...], sound: str) -> Item:
    notice, kind, key, who, at, pk, subject = row
    return Item(
        key=f"ticket-{pk}-{notice}",
        icon="confirmation_number",
        heading=heading_of(kind, key, f"#{pk} {subject}"),
        about=[who] if who else [],
        since=at,
        sound=sound,
        action="close-notice",
        action_label=_now("Close"),
        name="notice",
        value=notice,
        url=reverse("admin:tickets_ticket_change", args=[pk]),
        url_label=_now("Open the ticket"),
        stays=True,
    )
