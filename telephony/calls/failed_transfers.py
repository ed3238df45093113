"""Phones that were not reached: the customer returns to an agent or a queue.

It is the target of a transfer that did not pick up, or a phone that had vanished from the network when it was joined.

The customer returns to the agent who transferred the call, else to the queue of the call. In a call of a dialler the
agent takes the customer back by the standing line only: otherwise the call ends, and the record is called again. The
return is a Transfer by the system; its `note` says which number was not reached and why.
"""

from datetime import datetime

from callcentre.core.actor import SYSTEM
from callcentre.core.changes import actor_columns
from telephony import causes
from telephony.calls import campaign_hooks, inbound, legs, lines, offers, talk_times, transfers
from telephony.calls.inbound import OVERFLOW
from telephony.models import Agent, Connection, Leg, Queue, Transfer
from telephony.verbs import ledger, presence

Disposition, Party, Role = Connection.Disposition, Connection.Party, Leg.Role

RETURN = "return"


def target_ended(connection: Connection, leg: Leg, at: datetime) -> None:
    """End the call of a target that has hung up. Return the customer of a target that was not reached."""
    is_reached = leg.up_at is not None and not _is_unheard(connection, leg, at)
    if not is_reached:
        last = connection.transfers.select_related("from_agent").last()
        giver = last.from_agent if last and last.action not in (OVERFLOW, RETURN) else None
        if leg.agent and giver:
            ledger.lock_in_order([leg.agent.pk, giver.pk])
        _release_target(connection, leg, at)
        if connection.leg_of(Role.CUSTOMER) and _return(connection, leg, last, giver, at):
            return
        campaign_hooks.of(connection).transfer_failed(connection)
    elif legs.await_phone(connection, leg, at):
        return
    talked = Party.AGENT if leg.agent else Party.TARGET
    legs.end_with_leg(connection, leg, at, Disposition.NO_ANSWER, talked if is_reached else Party.SYSTEM)


def agent_ended(connection: Connection, leg: Leg, at: datetime) -> None:
    """Handle the end of an agent's leg in a call of a queue. A caller who was joined to a dead phone waits again."""
    if connection.queue is None or not _is_unheard(connection, leg, at):
        if not legs.await_phone(connection, leg, at):
            inbound.agent_ended(connection, leg, at)
        return
    _release_target(connection, leg, at)
    _store_return(connection, leg, queue=connection.queue)
    inbound.enter_queue(connection, connection.queue, at)


def phone_stays_lost(connection: Connection, at: datetime) -> None:
    """Give up the phone in a browser that was lost in a talk. A caller of a queue waits again, another call ends."""
    agent = connection.agent
    queue = _queue_back(connection, connection.transfers.last(), at) if connection.waiting_since else None
    if agent and queue:
        leg = Leg(agent=agent, number=agent.number, cause=legs.NO_MEDIA, cause_text=causes.text_of(legs.NO_MEDIA))
        _release_target(connection, leg, at)
        _store_return(connection, leg, queue=queue)
        inbound.enter_queue(connection, queue, at)
    else:
        legs.end(connection, at, Disposition.NO_ANSWER, cause=legs.NO_MEDIA, hung_up_by=Party.AGENT)


def _is_unheard(connection: Connection, leg: Leg, at: datetime) -> bool:
    """Return whether the customer was joined to a phone that had vanished from the network, and is still there."""
    since, customer = legs.unheard_since(leg, at), connection.leg_of(Role.CUSTOMER)
    if since is None or leg.up_at is None or customer is None or connection.is_on_hold:
        return False
    return connection.state == Connection.State.TALKING and leg.up_at >= since


def _release_target(connection: Connection, leg: Leg, at: datetime) -> None:
    """End the part of the agent whose phone was not reached, and the offer to that agent."""
    talk_times.end(connection, at)
    if leg.agent:
        if (offer := offers.current(connection)) and offer.agent_id == leg.agent_id:
            offers.close(offer, at, offers.outcome_of(leg))
        presence.leave_call(leg.agent, connection, at)


def _return(connection: Connection, leg: Leg, last: Transfer | None, giver: Agent | None, at: datetime) -> bool:
    """Ring the agent who transferred the call, else use the queue. Return false if there is neither."""
    queue = _queue_back(connection, last, at)
    if giver and giver.pk != leg.agent_id and _can_ring(giver, connection, is_last_resort=queue is None):
        _store_return(connection, leg, number=giver.number)
        transfers.call_target(connection, giver.number, at)
        return True
    if queue:
        _store_return(connection, leg, queue=queue)
        inbound.enter_queue(connection, queue, at)
    return queue is not None


def _queue_back(connection: Connection, last: Transfer | None, at: datetime) -> Queue | None:
    """Return the queue of the call. A customer whom a closed queue has sent on does not return to it while closed."""
    queue = connection.queue
    if queue is None:
        return None
    is_sent_on = last is not None and last.action == OVERFLOW
    return queue if (queue.is_open(at) if is_sent_on else queue.is_active) else None


def _can_ring(agent: Agent, connection: Connection, *, is_last_resort: bool) -> bool:
    """Return whether to ring the agent: logged in and in no other call, or the call would end otherwise."""
    if not agent.is_active or not agent.number:
        return False
    locked = ledger.lock(agent.pk)
    if connection.campaign_code and not lines.is_ready(agent.pk):
        return False
    is_free = locked.is_logged_in and ledger.call_on_phone(agent.pk, leaving=connection.pk) is None
    return is_free or is_last_resort


def _store_return(connection: Connection, leg: Leg, *, queue: Queue | None = None, number: str = "") -> None:
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
