"""Inbound calls of a queue: they wait, ring one agent after another, and are answered, abandoned or overflow."""

import logging
from datetime import datetime

from django.db import transaction

from callcentre.core.actor import SYSTEM
from callcentre.core.changes import actor_columns, store
from callcentre.core.pubsub import publish
from telephony import call_clock, causes, events
from telephony.calls import (
    bridges,
    callbacks,
    distribution,
    legs,
    offers,
    prompts,
    switch_requests,
    transfers,
)
from telephony.customers import customer_of_caller
from telephony.models import CallBack, CallerPriority, Connection, Leg, Menu, Queue, Transfer
from telephony.numbers import comparable
from telephony.switch.base import Arrived, Missed
from telephony.verbs import presence

logger = logging.getLogger(__name__)

Disposition, Party, State = Connection.Disposition, Connection.Party, Connection.State

# Q.850: the number is not assigned; the subscriber is absent.
UNALLOCATED, ABSENT = 1, 20
# The action of transfers by the system.
OVERFLOW = "overflow"
# The length of a number that the switch reports.
LONGEST = 100


@transaction.atomic
def arrived(event: Arrived, pk: int | None = None) -> None:
    """Store a caller and put the call into the queue whose number was dialled. A repeated event changes nothing.

    `pk` is the id that the connection gets. A call to a number without a queue is hung up, but stored as well.
    """
    if Leg.objects.filter(channel_id=event.channel_id).exists():
        return
    menu = prompts.with_number(Menu.objects.filter(is_active=True), event.dialled)
    connection, leg = _begin(event.channel_id, event.caller, event.dialled, event.at, pk, has_menu=menu is not None)
    switch_requests.follow(leg)
    at = connection.created_at
    if menu:
        prompts.begin_menu(connection, menu)
    elif connection.queue:
        admit(connection, connection.queue, at)
    else:
        logger.warning("a number that no queue has was called", extra={"dialled": connection.dst})
        legs.end(connection, at, Disposition.NO_ANSWER, cause=UNALLOCATED, hung_up_by=Party.SYSTEM)


def admit(connection: Connection, queue: Queue, at: datetime) -> None:
    """Let a caller into the queue, or where it overflows; one who is not taken may leave a message."""
    store(connection, queue=queue)
    if place := _open_place(queue, connection, at):
        prompts.answer(connection)
        _send_to(connection, place, at, is_overflow=place != queue)
    else:
        reason = causes.QUEUE_FULL if queue.is_open(at) else causes.QUEUE_CLOSED
        prompts.refuse(connection, at, ABSENT, reason)


@transaction.atomic
def missed(caller: Missed, pk: int | None = None) -> None:
    """Store the call of a caller who gave up while no listener was connected. A repeated event changes nothing.

    `pk` is the id that the connection gets.
    """
    switch_requests.send("forget_missed", caller.key)
    if Leg.objects.filter(channel_id=caller.channel_id).exists():
        return
    connection, leg = _begin(caller.channel_id, caller.caller, caller.dialled, caller.began_at, pk)
    ended_at = legs.instant(connection, caller.ended_at)
    reason = causes.NO_CONNECTION
    legs.mark_ended(leg, ended_at, None, cause_text=reason)
    legs.end(connection, ended_at, Disposition.NO_ANSWER, cause=None, cause_text=reason, hung_up_by=Party.CUSTOMER)
    logger.warning("a caller was missed", extra={"caller": connection.src, "dialled": connection.dst})


def _begin(
    channel_id: str, caller: str, dialled: str, at: datetime, pk: int | None, *, has_menu: bool = False
) -> tuple[Connection, Leg]:
    """Store the connection and the leg of a caller, and record CONNECTION_STARTED."""
    number = comparable(caller)
    customer = customer_of_caller(caller, number)
    customer_id = customer.id if customer else None
    connection = Connection(
        pk=pk,
        direction=Connection.Direction.INBOUND,
        state=State.WAITING,
        src=caller[:LONGEST],
        dst=dialled[:LONGEST],
        src_number=number,
        dst_number=comparable(dialled),
        queue=None if has_menu else prompts.with_number(Queue.objects.all(), dialled),
        customer_id=customer_id,
        priority_steps=CallerPriority.objects.steps_of(number, customer_id),
        created_at=at.replace(microsecond=0),
    )
    began_at = connection.created_at = connection.waiting_since = legs.instant(connection, at)
    connection.save(force_insert=True)
    call_clock.on_call(connection.pk, at)
    legs.bind_log_context(connection)
    role, up = Leg.Role.CUSTOMER, Leg.State.UP
    leg = legs.add_leg(connection, role, connection.src, began_at, channel_id=channel_id, state=up)
    events.connection_started(connection)
    return connection, leg


def _open_place(queue: Queue, connection: Connection, at: datetime) -> Queue | str | None:
    """Return the queue if it takes calls now, else the open queue or the number to which it overflows, else None."""
    passed: set[int] = set()
    place: Queue | None = queue
    while place is not None and place.pk not in passed:
        others = place.connections.filter(state=State.WAITING).exclude(pk=connection.pk)
        if place.is_open(at) and not (place.most_waiting and others.count() >= place.most_waiting):
            return place
        if place.overflow_number:
            return place.overflow_number
        passed.add(place.pk)
        place = place.overflow_queue
    return None


def _send_to(connection: Connection, place: Queue | str, at: datetime, *, is_overflow: bool) -> None:
    queue, number = (place, "") if isinstance(place, Queue) else (None, place)
    if is_overflow:
        to = {"from_queue": connection.queue, "queue": queue, "number": number}
        Transfer.objects.create(connection=connection, **to, action=OVERFLOW, **actor_columns(SYSTEM))
    if queue:
        enter_queue(connection, queue, at)
    else:
        offers.count_wait(connection, at)
        connection.save(update_fields=["wait_seconds"])
        transfers.call_target(connection, number, at)


def enter_queue(connection: Connection, queue: Queue, at: datetime) -> None:
    """Let the caller wait in a queue, with music. An agent who talked with the caller has left the call already."""
    offers.count_wait(connection, at)
    waits = {"waiting_since": at, "wait_seconds": connection.wait_seconds}
    store(connection, state=State.WAITING, queue=queue, is_on_hold=False, **waits)
    if connection.join_count:
        bridges.destroy(connection)
    if not prompts.begin_in_queue(connection, queue) and (customer := connection.leg_of(Leg.Role.CUSTOMER)):
        switch_requests.play_music(customer, queue.music_class)
    publish("calls")


def agent_up(connection: Connection, leg: Leg, at: datetime) -> None:
    """Join caller and agent, who has picked up. Hang up an agent who picks up too late."""
    offer, customer = offers.current(connection), connection.leg_of(Leg.Role.CUSTOMER)
    if connection.state != State.WAITING or customer is None or offer is None or offer.agent_id != leg.agent_id:
        legs.hang_up(leg, at)
        return
    offers.count_wait(connection, at)
    transfers.join(connection, leg, customer, at, offer=offer)


def agent_ended(connection: Connection, leg: Leg, at: datetime) -> None:
    """End the call, as the agent has hung up; or close the offer, as the agent did not pick up."""
    if leg.up_at:
        legs.end_with_leg(connection, leg, at, Disposition.NO_ANSWER, Party.AGENT)
        return
    offer = offers.current(connection)
    if offer is not None and offer.agent_id == leg.agent_id:
        offers.close(offer, at, offers.outcome_of(leg))
        presence.leave_call(offer.agent, connection, at)
        publish("calls")


def customer_ended(connection: Connection, leg: Leg, at: datetime) -> None:
    """End the call: the caller has hung up. One who is called back has not given up."""
    party = Party.SYSTEM if connection.cause_text == causes.CALLED_BACK else Party.CUSTOMER
    legs.end_with_leg(connection, leg, at, Disposition.NO_ANSWER, party)


@transaction.atomic
def overflow(pk: int, now: datetime) -> None:
    """Call back or send on a caller who has waited too long, or end the call; not while a phone rings."""
    connection = legs.lock(pk)
    if connection is None:
        return
    if callbacks.is_due(connection, now) and offers.current(connection) is None:
        callbacks.take(connection, CallBack.Origin.WAIT, legs.instant(connection, now))
    elif distribution.is_overdue(connection, now):
        _overflow(connection, legs.instant(connection, now))


def _overflow(connection: Connection, at: datetime) -> None:
    assert connection.queue is not None
    place: Queue | str | None = connection.queue.overflow_number
    if target := connection.queue.overflow_queue:
        place = _open_place(target, connection, at)
    was_there = {"queue": place} if isinstance(place, Queue) else {"number": place}
    if place and connection.transfers.filter(action=OVERFLOW, **was_there).exists():
        place = None  # the caller was sent there before
    if place:
        _send_to(connection, place, at, is_overflow=True)
        return
    prompts.refuse(connection, at, legs.NORMAL, causes.WAITED_TOO_LONG)
