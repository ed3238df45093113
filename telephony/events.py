"""The events of agents and calls: their payloads, and recording them in the outbox.

The agent or the connection is locked when its event is recorded, which keeps the order of its events.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from webhooks import outbox
from webhooks.event_types import EventType

if TYPE_CHECKING:
    from telephony.models import CallBack, Connection


def _agent(action: EventType, agent_id: int, login: str, **more: Any) -> None:
    outbox.record(action, f"agent:{agent_id}", {"agent_login": login, **more})


def _connection(action: EventType, connection: "Connection", **more: Any) -> None:
    """Record an event of the connection, with its agent and the campaign and the record that it is for.

    This takes a query if the connection was read without `select_related("agent")`.
    """
    agent_login = connection.agent.login if connection.agent_id and connection.agent else None
    campaign, record_id = connection.campaign_code or None, connection.record_id
    _call(action, connection, agent_login, outbound_id=campaign, record_id=record_id, **more)


def _call(action: EventType, connection: "Connection", agent_login: str | None, **more: Any) -> None:
    _about_call(
        action,
        connection.uid,
        queue_id=connection.queue_id,
        agent_login=agent_login,
        source_number=connection.src,
        destination_number=connection.dst,
        **more,
    )


def _about_call(action: EventType, connection_uid: str, **facts: Any) -> None:
    outbox.record(action, f"connection:{connection_uid}", {"connection_id": connection_uid, **facts})


def _callback(action: EventType, callback: "CallBack", **more: Any) -> None:
    facts = {
        "callback_id": callback.pk,
        "queue_id": callback.queue_id,
        "phone_number": callback.number,
        "customer_id": callback.customer_id,
        "connection_id": callback.caller.uid if callback.caller else None,
    }
    outbox.record(action, f"callback:{callback.pk}", {**facts, **more})


agent_logged_in = partial(_agent, EventType.AGENT_LOGGED_IN)
agent_logged_out = partial(_agent, EventType.AGENT_LOGGED_OUT)
agent_paused = partial(_agent, EventType.AGENT_PAUSED)
# The agent's phone is about to ring. Only `presence.ring` calls this.
agent_ringing = partial(_call, EventType.AGENT_RINGING)
# Another program is to show the address to the agent.
screen_pop = partial(_call, EventType.SCREEN_POP)
connection_started = partial(_connection, EventType.CONNECTION_STARTED)
connection_answered = partial(_connection, EventType.CONNECTION_ANSWERED)
callback_queued = partial(_callback, EventType.CALLBACK_QUEUED)
recording_ready = partial(_about_call, EventType.RECORDING_READY)
transcription_ready = partial(_about_call, EventType.TRANSCRIPTION_READY)


def agents_free(agents: Iterable[tuple[int, str]]) -> None:
    """Record AGENT_FREE for agents, each given by key and login."""
    outbox.record_many(
        EventType.AGENT_FREE, [(f"agent:{agent_id}", {"agent_login": login}) for agent_id, login in agents]
    )


def connection_ended(connection: "Connection") -> None:
    _connection(
        EventType.CONNECTION_ENDED,
        connection,
        duration=connection.duration,
        billsec=connection.billsec,
        disposition=connection.disposition,
        cause=connection.cause,
        cause_text=connection.cause_text,
    )


def callback_ended(callback: "CallBack") -> None:
    """Record CALLBACK_ENDED. The last call, if there was one, was the answer if that is the result."""
    _callback(
        EventType.CALLBACK_ENDED,
        callback,
        disposition=callback.disposition,
        attempts=callback.attempts,
        waiting_seconds=callback.wait_seconds,
        agent_login=callback.agent.login if callback.agent else None,
        answer_connection_id=callback.connection.uid
        if callback.connection and callback.disposition == callback.Disposition.ANSWERED
        else None,
    )


def forget_numbers(connections: "Iterable[Connection]") -> None:
    by_side: dict[str, list[str]] = {"source_number": [], "destination_number": []}
    for connection in connections:
        side = "source_number" if connection.direction == "INBOUND" else "destination_number"
        by_side[side].append(f"connection:{connection.uid}")
    for side, subjects in by_side.items():
        if subjects:
            outbox.redact(subjects, {side: ""})


def forget_callbacks(ids: Sequence[int]) -> None:
    if ids:
        outbox.redact([f"callback:{pk}" for pk in ids], {"phone_number": ""})
