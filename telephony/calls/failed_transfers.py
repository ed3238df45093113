"""Phones that were not reached: the customer returns to an agent or a queue.

It is the target of a transfer that did not pick up, or a phone that had vanished from the network when it was joined.

The customer returns to the agent who transferred the call, else to the queue of the call. In a call of a dialler the
agent takes the customer back by the standing line only: otherwise the call ends, and the record is called again. The
return is a Transfer by the system; its `note` says which number was not reached and why.

A phone in a browser may be lost in a talk: its window is loaded anew, has crashed, or has lost the network. The
customer hears music, for ten seconds at most (legs.await_phone). Once the switch reaches the phone again, it rings,
answers by itself, and both talk on. Otherwise a caller of a queue waits in it again, and another call ends. The row of
the call says that it waits (`agent_lost_at`), so that the next listener goes on where one has died.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from callcentre.core.actor import SYSTEM
from callcentre.core.changes import actor_columns, store
from telephony import causes
from telephony.calls import campaign_hooks, inbound, legs, lines, offers, switch_requests, transfers
from telephony.calls.inbound import OVERFLOW
from telephony.models import Agent, AgentLine, BrowserPhone, Connection, Leg, Queue, Transfer
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
    offers.end_talk(connection, at)
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


# From the whole second of the loss. The listener looks every half second, so that the music ends within ten.
WAIT = timedelta(seconds=9.5)
# Between two attempts to ring the phone.
AGAIN = timedelta(seconds=2)


def awaiting_phones() -> list[int]:
    lost = Connection.objects.filter(state=Connection.State.TALKING, agent_lost_at__isnull=False)
    return list(lost.order_by("id").values_list("pk", flat=True))


@transaction.atomic
def go_on(pk: int, now: datetime) -> None:
    """Ring the phone that is back, or give it up."""
    connection = legs.lock(pk)
    if connection is None or connection.state != Connection.State.TALKING or connection.agent_lost_at is None:
        return
    rung, at = connection.leg_of(Leg.Role.AGENT), legs.instant(connection, now)
    if now >= connection.agent_lost_at + WAIT:
        store(connection, agent_lost_at=None)
        if rung:
            legs.hang_up(rung, at)
        phone_stays_lost(connection, at)
    elif rung is None and connection.agent and _can_ring_again(connection, connection.agent, now):
        legs.ring_agent(
            connection,
            connection.agent,
            at,
            role=Leg.Role.AGENT,
            presented=connection.customer_number,
            ring_seconds=settings.AGENT_RING_SECONDS,
            is_awaited=True,
        )


def _can_ring_again(connection: Connection, agent: Agent, now: datetime) -> bool:
    if not BrowserPhone.objects.ready().filter(agent=agent).exists():
        return False
    ledger.lock(agent.pk)
    if ledger.call_on_phone(agent.pk) or (lines.has_open(agent.pk) and not lines.is_ready(agent.pk)):
        return False
    asked = {leg.asked_at for leg in connection.all_legs if leg.agent_id == agent.pk}
    asked.update(AgentLine.objects.filter(agent=agent, ended_at__isnull=False).values_list("asked_at", flat=True)[:1])
    return all(asked_at <= now - AGAIN for asked_at in asked)


def phone_is_back(connection: Connection, leg: Leg) -> None:
    """Join the customer and the agent, whose phone has answered again. A customer on hold stays on hold."""
    store(connection, agent_lost_at=None)
    if not connection.is_on_hold:
        legs.join_again(connection)
    elif leg.line:
        switch_requests.send("play_silence", leg.channel_id)
