"""A customer whose call was handed on in vain goes back: to the agent who handed it on, else to the queue of the call.

The way back is a Transfer like any other, by the system, with a note that says what the customer did not reach and why.
"""

from datetime import datetime

from callcentre.core.actor import SYSTEM
from callcentre.models import actor_columns
from telephony.calls import inbound, legs, offers, transfers
from telephony.calls.inbound import OVERFLOW
from telephony.models import Agent, Connection, Leg, Queue, Transfer
from telephony.verbs import ledger, presence

Disposition, Party, Role = Connection.Disposition, Connection.Party, Leg.Role

RETURN = "return"


def target_ended(connection: Connection, leg: Leg, at: datetime, cause: int | None) -> None:
    """End the call whose target has hung up; take its customer back from a target that was not reached."""
    if not leg.up_at:
        last = connection.transfers.select_related("from_agent").last()
        giver = last.from_agent if last and last.action not in (OVERFLOW, RETURN) else None
        if leg.agent and giver:
            ledger.lock_in_order([leg.agent.pk, giver.pk])
        _let_go(connection, leg, at, cause)
        if connection.leg_of(Role.CUSTOMER) and _is_taken_back(connection, leg, last, giver, at):
            return
    talked = Party.AGENT if leg.agent else Party.TARGET
    legs.end(
        connection,
        at,
        Disposition.ANSWERED if connection.answered_at else Disposition.NO_ANSWER,
        cause=cause,
        cause_text=leg.cause_text,
        hung_up_by=talked if leg.up_at else Party.SYSTEM,
        wrap_up_seconds=connection.wrap_up_seconds,
    )


def _let_go(connection: Connection, leg: Leg, at: datetime, cause: int | None) -> None:
    """Close the offer to the agent whose phone was the target, and let the agent go."""
    if leg.agent:
        if (offer := offers.current(connection)) and offer.agent_id == leg.agent_id:
            offers.close(offer, at, offers.outcome_of(leg, cause))
        presence.leave_call(leg.agent, connection, at)


def _is_taken_back(connection: Connection, leg: Leg, last: Transfer | None, giver: Agent | None, at: datetime) -> bool:
    """Ring the agent who handed the call on, else put the customer into the queue; false where there is neither."""
    queue = _queue_back(connection, last, at)
    if giver and giver.pk != leg.agent_id and _can_ring(giver, connection, is_last_resort=queue is None):
        _note(connection, leg, number=giver.number)
        transfers.call_target(connection, giver.number, at)
        return True
    if queue:
        _note(connection, leg, queue=queue)
        inbound.enter_queue(connection, queue, at)
    return queue is not None


def _queue_back(connection: Connection, last: Transfer | None, at: datetime) -> Queue | None:
    """Return the queue by which the customer came. One who was sent on because it was closed does not go back."""
    queue = connection.queue
    if queue is None:
        return None
    is_sent_on = last is not None and last.action == OVERFLOW
    return queue if (queue.is_open(at) if is_sent_on else queue.is_active) else None


def _can_ring(agent: Agent, connection: Connection, *, is_last_resort: bool) -> bool:
    """Whether the agent's phone can be rung: logged in and in no other call, unless the call would end otherwise."""
    if not agent.is_active or not agent.number:
        return False
    standing = ledger.lock(agent.pk)
    is_free = standing.is_logged_in and ledger.call_on_phone(agent.pk, leaving=connection.pk) is None
    return is_free or is_last_resort


def _note(connection: Connection, leg: Leg, *, queue: Queue | None = None, number: str = "") -> None:
    Transfer.objects.create(
        connection=connection,
        from_agent=leg.agent,
        from_queue=connection.queue,
        queue=queue,
        number=number,
        note=f"{leg.number}: {leg.cause_text}",
        action=RETURN,
        **actor_columns(SYSTEM),
    )
