"""The agent's state, the present call, its transfer and its topic."""

from typing import Any

from callcentre.admin.scope import scope_of
from callcentre.web.desk.situation import OVER, Situation
from campaigns.models import Campaign
from telephony import causes, queue_waits
from telephony.admin.state_labels import COLOURS, LABELS, label_of
from telephony.api.topics import topics_data
from telephony.current_states import LOGGED_OUT
from telephony.leader_election import is_connected
from telephony.models import AgentState, BrowserPhone, Connection, ConnectionTopic, Pause, Queue, TransferShortcut
from telephony.models.agent_intervals import StateKind
from telephony.models.call_parts import LONGEST_NOTE
from telephony.verbs import presence

# The most free agents, and queues, of the list of targets.
MOST_TARGETS = 60


def state_facts(desk: Situation) -> Any:
    line = desk.line
    return (
        desk.current,
        desk.agent.outbound_mode,
        desk.agent.has_line,
        desk.agent.number,
        (line.pk, line.state, line.hangup_asked_at) if line else None,
        phone_facts(desk),
        is_connected(),
    )


def phone_facts(desk: Situation) -> Any:
    """Return whether the phone in the browser is open, and whether the switch reaches it; None without such a phone."""
    if not desk.agent.uses_browser_phone:
        return None
    phone = BrowserPhone.objects.filter(agent=desk.agent, closed_at=None).first()
    return {"is_open": phone is not None, "is_reached": phone is not None and phone.registered_at is not None}


def state_context(desk: Situation, facts: Any) -> dict[str, Any]:
    current, (*_others, phone, has_pbx) = desk.current, facts
    is_binding = current.is_binding
    chosen = current.next_pause_id if is_binding else current.pause_id
    return {
        "agent": desk.agent,
        "current": current,
        "label": label_of(current),
        "colour": COLOURS[current.status],
        "is_logged_out": current.status == LOGGED_OUT,
        "is_binding": is_binding,
        "may_be_ready": is_binding or current.status in (StateKind.PAUSED, StateKind.WRAP_UP, StateKind.PREVIEW),
        "may_extend": current.ends_at and not is_binding and not current.is_extended,
        "is_ready_next": _pressed(current.resumes_as == StateKind.FREE),
        # All of them, so that each keeps its key.
        "pauses": [
            {"pk": pause.pk, "name": pause.name, "pressed": _pressed(pause.pk == chosen)}
            for pause in Pause.objects.active()
        ],
        "line": desk.line,
        "phone": phone,
        "has_pbx": has_pbx,
    }


def _pressed(is_pressed: bool) -> str:
    return "true" if is_pressed else "false"


def campaign_of(connection: Connection) -> Campaign | None:
    return Campaign.objects.filter(pk=connection.campaign_id).first() if connection.campaign_id else None


def call_facts(desk: Situation) -> Any:
    call = desk.shown_call
    if call is None:
        return desk.offer is not None
    connection = call.connection
    return (
        connection.pk,
        call.state,
        call.since,
        connection.state,
        connection.is_on_hold,
        connection.agent_id,
        connection.customer_id,
        (last.pk, last.up_at, last.ended_at) if (last := desk.last_consultation) else None,
        desk.note,
    )


def call_context(desk: Situation, facts: Any) -> dict[str, Any]:
    call = desk.shown_call
    if call is None:
        return {"call": None, "offer": desk.offer}
    connection = call.connection
    is_own = call.is_open and connection.agent_id == desk.agent.pk
    return {
        "call": call,
        "connection": connection,
        "customer": desk.customer,
        "campaign": campaign_of(connection),
        "is_inbound": connection.direction == connection.Direction.INBOUND,
        "label": LABELS.get(call.state, ""),
        "colour": COLOURS.get(call.state, "default"),
        "is_over": call.state == OVER,
        "may_hang_up": is_own,
        "may_hold": is_own and call.is_talking and not (desk.consultation and connection.is_on_hold),
        "consultation": desk.consultation,
        "is_consulted": desk.is_consulted,
        "not_reached": _not_reached(desk),
        "note": desk.note,
    }


def _not_reached(desk: Situation) -> str:
    """Say whom the agent wanted to consult, and why that phone was not picked up."""
    last = desk.last_consultation
    if last is None or last.ended_at is None or last.up_at or last.from_agent_id != desk.agent.pk:
        return ""
    return f"{last.who}: {causes.shown(last.cause_text)}"


def transfer_facts(desk: Situation) -> Any:
    """Return the targets only while their list is open: they change often."""
    call = desk.shown_call
    if call is None or not call.is_talking or call.connection.agent_id != desk.agent.pk or desk.consultation:
        return None
    return call.connection.pk, _targets(desk) if "targets" in desk.request.GET else None


def _targets(desk: Situation) -> Any:
    scope = scope_of(desk.request)
    free = scope.within(AgentState.objects.filter(ended_at=None, kind=StateKind.FREE, agent__is_active=True))
    agents = free.exclude(agent__number="").exclude(agent=desk.agent).order_by("agent__surname", "agent__name", "pk")
    queues = dict(scope.within(Queue.objects.active()).values_list("pk", "name")[:MOST_TARGETS])
    situations = queue_waits.situations(queues)
    shortcuts = scope.within(TransferShortcut.objects.all()).values_list("pk", "name", "queue__is_active")
    return {
        "agents": [
            {"number": state.agent.number, "name": state.agent.full_name or state.agent.login}
            for state in agents.select_related("agent")[:MOST_TARGETS]
        ],
        "queues": [
            {"pk": pk, "name": name, "free": situations[pk].free, "waiting": situations[pk].waiting}
            for pk, name in queues.items()
        ],
        "shortcuts": [{"pk": pk, "name": name} for pk, name, is_active in shortcuts if is_active is not False],
    }


def transfer_context(desk: Situation, facts: Any) -> dict[str, Any]:
    return {
        "connection": desk.shown_call.connection if facts and desk.shown_call else None,
        "targets": facts and facts[1],
        "longest_note": LONGEST_NOTE,
    }


def expect_topic(desk: Situation) -> None:
    """Let the wrap-up wait for the topic if the queue requires one: the agent talks, and is at the desk."""
    call, current = desk.call, desk.current
    queue = call.connection.queue if call and call.is_talking and current.status == StateKind.TALKING else None
    if call and queue and queue.topic_minutes and not current.awaits_topic:
        presence.await_topic(desk.agent, call.connection)


def topic_facts(desk: Situation) -> Any:
    """Return the call and the time of its topic. Only calls of a queue have topics to choose from."""
    call = desk.shown_call
    if call is None or call.connection.queue_id is None or call.connection.agent_id != desk.agent.pk:
        return None
    stored = ConnectionTopic.objects.filter(connection=call.connection).values_list("updated_at", flat=True)
    return call.connection.pk, call.connection.queue_id, stored.first()


def topic_context(desk: Situation, facts: Any) -> dict[str, Any]:
    call = desk.shown_call
    if facts is None or call is None or call.connection.queue is None:
        return {"connection": None}
    stored = ConnectionTopic.objects.select_related("topic").filter(connection=call.connection).first()
    values = {one["field_id"]: one["value"] for one in stored.fields} if stored else {}
    known = topics_data(call.connection.queue)
    return {
        "connection": call.connection,
        "stored": stored,
        "is_required": call.connection.queue.topic_minutes > 0,
        "groups": [group for group in known["topic_groups"] if group["topics"]],
        "fields": [{**field, "value": values.get(field["id"], "")} for field in known["custom_fields"]],
    }
