"""Consultations: an agent in a talk calls a colleague or a number, and the customer hears music meanwhile.

Then all three talk, or the colleague gets the call, or the agent returns to the customer. If one of the three leaves,
the two others talk on: without the consulted party the agent and the customer, without the agent the customer and the
consulted party, also if its phone still rings. Without the customer the call ends.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings

from callcentre.core.actor import Actor
from callcentre.core.changes import store
from callcentre.core.errors import ErrorCode
from callcentre.core.statements import Statement, rows_of
from telephony import call_clock
from telephony.calls import bridges, consulted, legs, lines, switch_requests, transfers
from telephony.calls.candidates import (
    AGENT_MAY_BE_RUNG,
    AGENTS,
    MAY_BE_RUNG_FOR_WAIT,
    MEMBERS,
    ORDER_OF_MEMBERS,
    values_at,
)
from telephony.models import Agent, CallCommand, Connection, Consultation, Leg, Queue
from telephony.verbs import presence

Kind, Role = CallCommand.Kind, Leg.Role
# The commands that need to know of a consultation.
KINDS = (Kind.CONSULT, Kind.JOIN, Kind.HAND_OVER, Kind.RETURN, Kind.RESUME)

_FREE_AGENT = Statement("""
SELECT candidate.agent_id
FROM (SELECT %(connection)s::bigint AS connection_id, NULL::bigint AS callback_id, %(queue)s::bigint AS queue_id) w
CROSS JOIN LATERAL (
  SELECT m.agent_id FROM ({members}) m
  WHERE m.queue_id = w.queue_id AND {agent_may_be_rung} AND {may_be_rung_for_wait} ORDER BY {order_of_members} LIMIT 1
) candidate
""").of(
    members=MEMBERS.format(agents=f"({AGENTS})"),
    agent_may_be_rung=AGENT_MAY_BE_RUNG,
    may_be_rung_for_wait=MAY_BE_RUNG_FOR_WAIT,
    order_of_members=ORDER_OF_MEMBERS,
)


def is_reached(connection: Connection) -> bool | None:
    """Return whether the consulted party has picked up; None without a consultation."""
    leg = consulted.leg_of(connection)
    return leg.up_at is not None if leg else None


def obstacle(connection: Connection, arguments: Mapping[str, Any]) -> ErrorCode | None:
    """Return why the agent of this talk cannot consult the target, or None."""
    if _asker(connection) is None or connection.agent_lost_at:
        return ErrorCode.CALL_NOT_TALKING
    if pk := arguments.get("queue_id"):
        return None if _free_agent(connection, pk, []) else ErrorCode.NO_AGENT_READY
    agent = transfers.agent_of(arguments["number"])
    return lines.obstacle_of_phone(agent.pk) if agent else None


def _asker(connection: Connection) -> Leg | None:
    parties = (leg for leg in connection.open_legs if leg.role in (Role.AGENT, Role.TARGET) and leg.up_at)
    return next((leg for leg in parties if leg.agent and not leg.hangup_asked_at), None)


def _free_agent(connection: Connection, queue_id: int, passed: Collection[int]) -> Agent | None:
    """Return the agent of the queue whom its next caller would get."""
    values = {"connection": connection.pk, "queue": queue_id, "wanted": list(passed)}
    row = next(iter(rows_of(_FREE_AGENT, values_at(call_clock.now()) | values)), None)
    return Agent.objects.get(pk=row[0]) if row else None


def begin(connection: Connection, command: CallCommand, at: datetime) -> None:
    """Let the customer hear music, and ring the colleague or number."""
    queue = Queue.objects.filter(pk=command.arguments.get("queue_id")).first()
    number = command.arguments.get("number", "")
    agent = _free_agent(connection, queue.pk, []) if queue else transfers.agent_of(number)
    if agent is None and not number:
        return
    if not connection.is_on_hold:
        legs.hold(connection)
    _ring(connection, at, agent=agent, queue=queue, number=number, note=command.arguments.get("note", ""))


def _ring(
    connection: Connection, at: datetime, *, agent: Agent | None, queue: Queue | None, number: str, note: str
) -> None:
    asker = _asker(connection)
    assert asker
    assert asker.agent
    number = agent.number if agent else number
    Consultation.objects.create(
        connection=connection, from_agent=asker.agent, agent=agent, queue=queue, number=number, note=note, asked_at=at
    )
    seconds = queue.ring_seconds if queue else settings.AGENT_RING_SECONDS
    transfers.ring(connection, Role.CONSULTED, number, agent, at, presented=asker.number, ring_seconds=seconds)
    switch_requests.send("play_ringing", asker.channel_id)


def talk_apart(connection: Connection) -> None:
    """Let the agent talk with the consulted party while the customer is on hold, or hear that its phone rings."""
    asker, other = _asker(connection), consulted.leg_of(connection)
    if asker and other and other.up_at:
        bridges.join(connection, asker, other, is_apart=True)
    elif asker and other:
        switch_requests.send("play_ringing", asker.channel_id)


def join(connection: Connection, command: CallCommand, at: datetime) -> None:
    row = consulted.current(connection)
    if row and row.joined_at is None:
        store(row, joined_at=max(at, row.up_at or at))
    bridges.destroy(connection)
    legs.resume(connection)


def hand_over(connection: Connection, actor: Actor, at: datetime) -> None:
    """Let the agent leave. The customer talks with the consulted party, or waits for it as in a transfer."""
    row, leg = consulted.current(connection), consulted.leg_of(connection)
    assert row
    assert leg
    if leg.up_at:
        row.joined_at = row.joined_at or at
    consulted.close(row, at)
    transfers.hand_on(connection, actor, at, number=row.number, note=row.note, kept=leg, target=row.agent)
    leg.role = Role.TARGET
    store(leg.line or leg, role=leg.role)
    transfers.take(connection, leg, row.joined_at or at)


def give_up(connection: Connection, command: CallCommand, at: datetime) -> None:
    """End the part of the consulted party. The agent and the customer talk on."""
    consulted.end(connection, at)
    _go_on(connection, at)


def _go_on(connection: Connection, at: datetime) -> None:
    leg = consulted.leg_of(connection)
    # A line leaves a bridge only with it.
    is_parted = connection.is_on_hold or bool(leg and leg.line)
    if is_parted:
        bridges.destroy(connection)
    if leg:
        legs.hang_up(leg, at)
    if is_parted:
        legs.resume(connection)


def up(connection: Connection, leg: Leg, at: datetime) -> None:
    row, asker = consulted.current(connection), _asker(connection)
    if row is None or asker is None or connection.state != Connection.State.TALKING:
        legs.hang_up(leg, at)
        return
    store(row, up_at=max(at, row.asked_at))
    if leg.agent:
        presence.talk(leg.agent, connection, at)
    talk_apart(connection)


def ended(connection: Connection, leg: Leg, at: datetime) -> None:
    """Ring the next agent of the queue if this one did not pick up. Otherwise the agent and the customer talk on."""
    row = consulted.end(connection, at, leg.cause_text)
    if row and row.queue and row.up_at is None and _asker(connection):
        passed = [pk for pk in connection.consultations.values_list("agent", flat=True) if pk]
        if agent := _free_agent(connection, row.queue.pk, passed):
            _ring(connection, at, agent=agent, queue=row.queue, number="", note=row.note)
            return
    _go_on(connection, at)


def left(connection: Connection, leg: Leg, at: datetime) -> bool:
    """Hand the call over to the consulted party, as the agent has hung up. Return whether there is one.

    If the agent's phone in the browser may come back to a talk apart from the customer, the consulted party is hung up.
    """
    other = consulted.leg_of(connection)
    is_agents = connection.state == Connection.State.TALKING and leg.agent and leg.agent_id == connection.agent_id
    if not is_agents or other is None or connection.leg_of(Role.CUSTOMER) is None:
        return False
    if connection.is_on_hold and legs.may_come_back(leg):
        consulted.end(connection, at)
        bridges.destroy(connection)
        legs.hang_up(other, at)
        return False
    assert leg.agent
    hand_over(connection, Actor("agent", leg.agent.pk, leg.agent.login), at)
    return True
