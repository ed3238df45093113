"""Transfers to a number: the customer hears music while it rings, then both talk in a bridge of their own.

The number may be that of an agent's phone; then that agent rings and talks. For targets that end see
telephony.calls.failed_transfers.
"""

from datetime import datetime

from django.conf import settings

from callcentre.core.actor import Actor
from callcentre.core.changes import actor_columns, store
from telephony import events
from telephony.calls import bridges, consulted, legs, offers, prompts, switch_requests
from telephony.models import Agent, Connection, Leg, Offer, Queue, Transfer
from telephony.verbs import ledger, presence

State = Connection.State


def hand_on(
    connection: Connection,
    actor: Actor,
    at: datetime,
    *,
    queue: Queue | None = None,
    number: str = "",
    note: str = "",
    target: Agent | None = None,
    kept: Leg | None = None,
    is_parted: bool = True,
    action: str = "transfer",
) -> None:
    """Store a transfer, and end the part of the agent, and of others, who talk with the customer.

    `target` is the agent who gets the call, and is locked too; `kept` is the leg of a target who is there already. With
    `is_parted` the bridge is destroyed before the others leave it.
    """
    Transfer.objects.create(
        connection=connection,
        from_agent=connection.agent,
        from_queue=connection.queue,
        queue=queue,
        number=number,
        note=note,
        action=action,
        **actor_columns(actor),
    )
    if offer := offers.current(connection):
        offers.close(offer, at, is_transferred=True)
    offers.transfer_talk(connection, at)
    if connection.agent_lost_at:
        store(connection, agent_lost_at=None)
    if is_parted:
        bridges.destroy(connection)
    agents = {agent.pk for agent in (connection.agent, target) if agent}
    is_consulting = kept is None and consulted.leg_of(connection) is not None
    for leg in connection.open_legs:
        if leg.role != Leg.Role.CUSTOMER and leg is not kept:
            agents |= {leg.agent_id} if leg.agent_id else set()
            legs.hang_up(leg, at)
    if len(agents) > 1:
        ledger.lock_in_order(sorted(agents))
    if is_consulting:
        consulted.end(connection, at)
    if connection.agent:
        presence.leave_call(connection.agent, connection, at, connection.wrap_up_seconds)


def call_target(connection: Connection, number: str, at: datetime) -> None:
    """Ring the number for a customer who is up. The agent who talked with the customer has left the call already."""
    store(connection, state=State.DIALLING, is_on_hold=False)
    customer = connection.leg_of(Leg.Role.CUSTOMER)
    if connection.join_count:
        bridges.destroy(connection)
    prompts.stop(connection)
    if customer:
        switch_requests.play_music(customer, connection.music_class)
    if agent := agent_of(number):
        offers.open_for(connection, agent, at)
    presented, seconds = connection.customer_number, settings.AGENT_RING_SECONDS
    ring(connection, Leg.Role.TARGET, number, agent, at, presented=presented, ring_seconds=seconds)


def ring(
    connection: Connection,
    role: str,
    number: str,
    agent: Agent | None,
    at: datetime,
    *,
    presented: str,
    ring_seconds: int,
) -> None:
    """Ring the agent, with these values, or a number outside, as a party of this role."""
    if agent:
        presence.ring(agent, connection, at)
        legs.ring_agent(connection, agent, at, role=role, presented=presented, ring_seconds=ring_seconds)
    else:
        leg = legs.add_leg(connection, role, number, at)
        switch_requests.call_number(leg, connection.caller_id or settings.CALLER_ID, settings.RING_SECONDS)


def agent_of(number: str) -> Agent | None:
    return Agent.objects.active().filter(number=number).first()


def take(connection: Connection, leg: Leg, at: datetime) -> None:
    """Give the customer to a target that is there already, or whose phone rings. The agent has left the call."""
    store(connection, state=State.DIALLING, is_on_hold=False)
    if leg.agent:
        offers.open_for(connection, leg.agent, at)
    if leg.up_at:
        target_up(connection, leg, at)


def target_up(connection: Connection, leg: Leg, at: datetime) -> None:
    customer = connection.leg_of(Leg.Role.CUSTOMER)
    if connection.state != State.DIALLING or customer is None:
        return
    offer = offers.current(connection) if leg.agent else None
    join(connection, leg, customer, at, offer=offer if offer and offer.agent_id == leg.agent_id else None)


def join(connection: Connection, leg: Leg, customer: Leg, at: datetime, *, offer: Offer | None) -> None:
    """Join the customer, who hears music, with the agent of the leg or with a target outside."""
    is_first = connection.answered_at is None
    connection.state, connection.answered_at = State.TALKING, connection.answered_at or at
    connection.agent = leg.agent or connection.agent
    connection.join_count += 1
    connection.save(update_fields=["state", "agent", "answered_at", "wait_seconds", "join_count"])
    if offer:
        offers.answer(offer, at)
    if leg.agent:
        offers.begin_talk(connection, leg.agent, at)
        presence.talk(leg.agent, connection, at)
    if is_first:
        events.connection_answered(connection)
    if not prompts.stop(connection):
        switch_requests.send("stop_music", customer.channel_id)
    bridges.join(connection, customer, leg)
