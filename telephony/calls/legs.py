"""The legs of a connection and its end: what outbound and inbound calls share. All under the lock of the connection."""

from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import structlog
from django.db import connection as database
from django.db import transaction
from django.db.models import Model, QuerySet
from prometheus_client import Counter

from telephony import call_clock, causes, channels, events
from telephony.calls import bridges, offers, switch_requests, talk_times
from telephony.models import Agent, Connection, Leg, Queue
from telephony.verbs import ledger, ledger_changes, presence

NORMAL = 16

ended = Counter("callcentre_calls", "Calls that are over", ["direction", "disposition"])

_LOCK_BY_CHANNEL = """
SELECT id FROM telephony_connection WHERE id = (SELECT connection_id FROM telephony_leg WHERE channel_id = %s)
FOR NO KEY UPDATE
"""

# A leg and its agent; its connection with agent and queue. In SQL: to compile it for each event would take longer than
# to ask it.
_PARTS: list[tuple[str, type[Model]]] = [
    ("leg", Leg),
    ("leg_agent", Agent),
    ("connection", Connection),
    ("agent", Agent),
    ("queue", Queue),
]
_COLUMNS = [f'{alias}."{field.column}"' for alias, model in _PARTS for field in model._meta.concrete_fields]
_EVERYTHING = f"""
SELECT {", ".join(_COLUMNS)} FROM telephony_leg leg LEFT JOIN telephony_agent leg_agent ON leg_agent.id = leg.agent_id
JOIN telephony_connection connection ON connection.id = leg.connection_id
LEFT JOIN telephony_agent agent ON agent.id = connection.agent_id
LEFT JOIN telephony_queue queue ON queue.id = connection.queue_id
WHERE leg.connection_id = %s ORDER BY leg.id
"""  # noqa: S608


def lock(pk: int) -> Connection | None:
    """The connection, with its agent and queue, locked until the transaction ends; read its legs after this."""
    for connection in _locked().filter(pk=pk):
        return _as_it_is_now(connection)
    return None


def lock_by_channel(channel_id: str) -> tuple[Connection, Leg] | None:
    """The connection of a channel, locked, and the leg; None for a channel that is none of ours.

    All is read after the lock was got, and in one statement: before it somebody may have changed it.
    """
    with database.cursor() as cursor:
        cursor.execute(_LOCK_BY_CHANNEL, [channel_id])
        if (row := cursor.fetchone()) is None:
            return None
        cursor.execute(_EVERYTHING, row)
        rows = [_parts(found) for found in cursor.fetchall()]
    _leg, _agent, connection, connection.agent, connection.queue = rows[0]
    connection.all_legs = []
    for leg, agent, *_rest in rows:
        leg.agent, leg.connection = agent, connection
        connection.all_legs.append(leg)
    bind_log_context(connection)
    return connection, next(leg for leg in connection.all_legs if leg.channel_id == channel_id)


def _parts(row: Sequence[Any]) -> list[Any]:
    """Of a row of everything: the objects, None for one that there is not."""
    columns, parts = iter(row), []
    for _alias, model in _PARTS:
        names = [field.attname for field in model._meta.concrete_fields]
        values = [*islice(columns, len(names))]
        parts.append(model.from_db(database.alias, names, values) if values[0] else None)
    return parts


def _as_it_is_now(connection: Connection) -> Connection:
    """A statement that waited for the lock has the row as it is now, and beside it the agent and queue that it had
    before: those that changed are read again."""
    for name in ("agent", "queue"):
        joined = connection._state.fields_cache.get(name)
        if (joined.pk if joined else None) != getattr(connection, f"{name}_id"):
            del connection._state.fields_cache[name]
    bind_log_context(connection)
    return connection


def bind_log_context(connection: Connection) -> None:
    """What this thread logs from here on is about this call, and the request that asked for it."""
    structlog.contextvars.bind_contextvars(connection_id=connection.uid, request_id=connection.request_id)


def _locked() -> QuerySet[Connection]:
    everything = Connection.objects.select_related("agent", "queue").order_by()
    return everything.select_for_update(of=("self",), no_key=True)


def instant(connection: Connection, at: datetime) -> datetime:
    """Return the whole second of something that happens to a call, which is not before what happened to it already."""
    second = call_clock.on_call(connection.pk, at).replace(microsecond=0)
    return max(second, *filter(None, (connection.created_at, connection.waiting_since, connection.answered_at)))


def add_leg(
    connection: Connection,
    role: str,
    number: str,
    at: datetime,
    *,
    agent: Agent | None = None,
    channel_id: str = "",
    state: str = Leg.State.ASKED,
) -> Leg:
    """A new leg; its channel is named by us, but for a caller's, who is up when he is let in."""
    known = connection.all_legs  # read before there is one more
    leg = Leg.objects.create(
        connection=connection,
        role=role,
        number=number,
        agent=agent,
        channel_id=channel_id or channels.channel_id(connection.pk, len(known) + 1),
        state=state,
        asked_at=at,
        up_at=at if state == Leg.State.UP else None,
    )
    known.append(leg)
    return leg


def mark_up(leg: Leg, at: datetime) -> None:
    leg.state, leg.up_at = Leg.State.UP, at
    leg.save(update_fields=["state", "up_at"])


def mark_ended(leg: Leg, at: datetime, cause: int | None, tech_cause: str = "", cause_text: str = "") -> None:
    """Write down that a leg is over and why; without a cause and a text the reason noted before stays."""
    noted = leg.cause_text if cause is None else ""
    leg.cause_text = (cause_text or noted or causes.text_of(cause))[: causes.LONGEST]
    leg.state, leg.ended_at, leg.cause, leg.tech_cause = Leg.State.ENDED, at, cause, tech_cause[:10]
    leg.save(update_fields=["state", "ended_at", "cause", "cause_text", "tech_cause"])


def hang_up(leg: Leg, at: datetime, cause: int = NORMAL) -> None:
    """It is to end; the row says so until the switch has told that it has."""
    if leg.ended_at is None:
        if leg.hangup_asked_at is None:
            leg.hangup_asked_at = at
            leg.save(update_fields=["hangup_asked_at"])
        switch_requests.hang_up(leg, cause)


def end(
    connection: Connection,
    at: datetime,
    disposition: str,
    *,
    cause: int | None,
    cause_text: str = "",
    hung_up_by: str,
    wrap_up_seconds: int = 0,
) -> None:
    """The call is over, once: what it was, CONNECTION_ENDED, its legs hung up, its agent let go.

    An open offer and the wait in a queue end with it. Whom we let go hears the cause, as the row says it. Whoever calls
    has counted `ring_seconds`: it is stored here.
    """
    if connection.state == Connection.State.ENDED:
        return
    if connection.waiting_since:
        offers.end_with_call(connection, at)
    connection.state, connection.ended_at, connection.is_on_hold = Connection.State.ENDED, at, False
    connection.disposition, connection.cause, connection.hung_up_by = disposition, cause, hung_up_by
    connection.cause_text = cause_text or causes.text_of(cause)
    connection.save(
        update_fields=[
            *("state", "ended_at", "is_on_hold", "disposition", "cause", "cause_text", "hung_up_by"),
            *("ring_seconds", "wait_seconds"),
        ]
    )
    if connection.has_talks:
        talk_times.end(connection, at)
    elif connection.agent_id and connection.direction == Connection.Direction.OUTBOUND:
        ledger_changes.record(connection.agent_id, connection.created_at, at)
    told = (cause or NORMAL) if hung_up_by == Connection.Party.SYSTEM else NORMAL
    # A target that rings an agent, though the call is another agent's still.
    rung = [leg.agent for leg in connection.open_legs if leg.role == Leg.Role.TARGET and leg.agent and not leg.up_at]
    if rung and connection.agent:
        ledger.lock_in_order([connection.agent.pk, *(agent.pk for agent in rung)])
    for leg in connection.open_legs:
        hang_up(leg, at, told)
    for agent in rung:
        presence.leave_call(agent, connection, at)
    if connection.join_count:
        bridges.destroy(connection.bridge_id)
    if connection.agent:
        presence.leave_call(connection.agent, connection, at, wrap_up_seconds)
    events.connection_ended(connection)
    transaction.on_commit(ended.labels(connection.direction, disposition).inc, robust=True)
