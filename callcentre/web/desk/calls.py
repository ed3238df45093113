"""The agent's state, the present call, its transfer and its topic."""

from typing import Any

from callcentre.admin.scope import scope_of
from callcentre.web.desk.customers import person_of
from callcentre.web.desk.situation import OVER, Situation
from campaigns.models import Campaign
from telephony import queue_waits
from telephony.admin.state_labels import COLOURS, LABELS, label_of
from telephony.api.topics import topics_data
from telephony.current_states import LOGGED_OUT
from telephony.leader_election import is_connected
from telephony.models import AgentState, ConnectionTopic, Pause, Queue, TransferShortcut
from telephony.models.agent_intervals import StateKind

# The most free agents, and queues, of the list of targets.
MOST_TARGETS = 60
IN_CALL = (StateKind.RINGING, StateKind.TALKING)


def state_facts(desk: Situation) -> Any:
    line = desk.line
    return (
        desk.current,
        desk.agent.outbound_mode,
        desk.agent.has_line,
        desk.agent.number,
        (line.pk, line.state, line.hangup_asked_at) if line else None,
        is_connected(),
    )


def state_context(desk: Situation, facts: Any) -> dict[str, Any]:
    status, (*_others, has_pbx) = desk.current.status, facts
    return {
        "agent": desk.agent,
        "current": desk.current,
        "label": label_of(desk.current),
        "colour": COLOURS[status],
        "is_logged_out": status == LOGGED_OUT,
        "may_be_ready": status in (StateKind.PAUSED, StateKind.WRAP_UP, StateKind.PREVIEW),
        "may_leave": status not in IN_CALL,
        "pauses": [pause for pause in Pause.objects.active() if pause.pk != desk.current.pause_id],
        "line": desk.line,
        "has_pbx": has_pbx,
    }


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
    )


def call_context(desk: Situation, facts: Any) -> dict[str, Any]:
    call = desk.shown_call
    if call is None:
        return {"call": None, "offer": desk.offer}
    connection = call.connection
    campaign = Campaign.objects.filter(code=connection.campaign_code).first() if connection.campaign_code else None
    is_own = call.is_open and connection.agent_id == desk.agent.pk
    return {
        "call": call,
        "connection": connection,
        "customer": person_of(desk),
        "campaign": campaign,
        "is_inbound": connection.direction == connection.Direction.INBOUND,
        "label": LABELS.get(call.state, ""),
        "colour": COLOURS.get(call.state, "default"),
        "is_over": call.state == OVER,
        "may_hang_up": is_own,
        "may_hold": is_own and call.is_talking,
    }


def transfer_facts(desk: Situation) -> Any:
    """Return the targets only while their list is open: they change often."""
    call = desk.shown_call
    if call is None or not call.is_talking or call.connection.agent_id != desk.agent.pk:
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
    }


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
        "groups": [group for group in known["topic_groups"] if group["topics"]],
        "fields": [{**field, "value": values.get(field["id"], "")} for field in known["custom_fields"]],
    }
