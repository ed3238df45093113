"""Calls that a dialler places, in its own transaction. The limits of placed calls hold for them too."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from telephony import events
from telephony.calls import campaign_hooks, legs, lines, placement, switch_requests
from telephony.customers import customers_of
from telephony.leader_election import is_connected
from telephony.models import Agent, Connection, Leg
from telephony.models.agent_intervals import StateKind
from telephony.numbers import comparable
from telephony.verbs import ledger, presence


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The number to call, and the campaign and record that it is called for."""

    campaign_id: int
    campaign_code: str
    record_id: int
    phone_number: str
    number: str
    caller_id: str
    wrap_up_seconds: int


def is_possible() -> bool:
    """Return whether a listener is connected, the switch answers and a line is free.

    With limits, others wait for this transaction.
    """
    return is_connected() and switch_requests.has_room() and placement.is_line_free()


def hold_agent(agent: Agent, *, kind: str = StateKind.FREE) -> bool:
    """Lock an agent for a call. Return False if the agent cannot take one now.

    The agent must be logged in and free, or in the state `kind`. One who needs a standing line is rung for it first.
    An answered call that waits for a free agent comes first.
    """
    if not ledger.lock(agent.pk).is_in(kind) or ledger.call_on_phone(agent.pk):
        return False
    if kind == StateKind.FREE and campaign_hooks.is_wanted(agent.pk):
        return False
    if _is_called_by_line(agent, kind) and not lines.is_ready(agent.pk):
        lines.begin_for_call(agent.pk)
        return False
    return True


def call_with_agent(agent: Agent, target: Target, now: datetime, *, kind: str = StateKind.FREE) -> Connection:
    """Ring the phone of the agent, who is held, and call the number when it is picked up.

    On a standing line the agent is up already, and the number is called at once.
    """
    is_by_line = _is_called_by_line(agent, kind)
    state = Connection.State.DIALLING if is_by_line else Connection.State.ORIGINATING
    connection = _create(target, now, state=state, agent=agent)
    leg = None
    if is_by_line:
        lines.attach(connection, agent, Leg.Role.AGENT, now, is_joined=True)
    else:
        leg = legs.add_leg(connection, Leg.Role.AGENT, agent.number, now, agent=agent)
    events.connection_started(connection)
    presence.ring(agent, connection, now)
    if leg:
        switch_requests.call_agent(leg, target.phone_number, settings.AGENT_RING_SECONDS, is_awaited=True)
    else:
        _call_customer(connection, now)
    return connection


def _is_called_by_line(agent: Agent, kind: str) -> bool:
    return agent.has_line and (kind == StateKind.FREE or lines.lasting(agent.pk).exists())


def call_number(target: Target, now: datetime) -> Connection:
    """Call the number before it is known which agent will talk."""
    connection = _create(target, now, state=Connection.State.DIALLING, agent=None)
    events.connection_started(connection)
    _call_customer(connection, now)
    return connection


def _call_customer(connection: Connection, now: datetime) -> None:
    customer = legs.add_leg(connection, Leg.Role.CUSTOMER, connection.dst_number, now)
    switch_requests.call_number(customer, connection.caller_id, settings.RING_SECONDS)


def _create(target: Target, now: datetime, *, state: str, agent: Agent | None) -> Connection:
    caller_id = target.caller_id or settings.CALLER_ID
    customer = customers_of([target.number]).get(target.number)
    connection = Connection.objects.create(
        direction=Connection.Direction.OUTBOUND,
        state=state,
        src=caller_id,
        dst=target.phone_number,
        src_number=comparable(caller_id),
        dst_number=target.number,
        agent=agent,
        customer_id=customer.id if customer else None,
        caller_id=caller_id,
        created_at=now.replace(microsecond=0),
        campaign_id=target.campaign_id,
        campaign_code=target.campaign_code,
        record_id=target.record_id,
        campaign_wrap_up_seconds=target.wrap_up_seconds,
    )
    connection.all_legs = []
    legs.bind_log_context(connection)
    return connection
