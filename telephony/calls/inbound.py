"""Calls that come in for a queue: they wait, ring one agent after another, and are answered, given up or sent on."""

from datetime import datetime

from django.db import transaction

from callcentre.actor import SYSTEM
from callcentre.models import actor_columns
from callcentre.nudge import nudge
from telephony import events
from telephony.calls import distributing, legs, offers, orders, transferring
from telephony.calls.distributing import distribute
from telephony.customers import customer_of_caller
from telephony.models import Connection, Leg, Queue, Transfer
from telephony.numbers import comparable
from telephony.switch.base import Arrived

__all__ = ["agent_ended", "agent_up", "arrived", "customer_ended", "distribute", "enter_queue", "overflow_overdue"]

Disposition, Party, State = Connection.Disposition, Connection.Party, Connection.State

# Q.850: nobody has this number; the subscriber is absent.
UNALLOCATED, ABSENT = 1, 20
# Of transfers that nobody asked for.
OVERFLOW = "overflow"
# Of a text that the switch tells.
LONGEST = 100


def arrived(event: Arrived) -> None:
    """Somebody calls: he enters the queue with the number that he dialled. Told twice, he calls once."""
    queue = _queue_of(event.dialled)
    if queue is None:
        orders.hang_up_channel(event.channel_id, UNALLOCATED)
        return
    with transaction.atomic():
        if Leg.objects.filter(channel_id=event.channel_id).exists():
            return
        number = comparable(event.caller)
        customer = customer_of_caller(event.caller, number)
        connection = Connection(
            direction=Connection.Direction.INBOUND,
            state=State.WAITING,
            src=event.caller[:LONGEST],
            dst=event.dialled[:LONGEST],
            src_number=number,
            dst_number=comparable(event.dialled),
            queue=queue,
            customer_id=customer.id if customer else None,
            created_at=event.at.replace(microsecond=0),
        )
        at = connection.created_at = connection.waiting_since = legs.instant(connection, event.at)
        connection.save(force_insert=True)
        leg = legs.add_leg(
            connection, Leg.Role.CUSTOMER, connection.src, at, channel_id=event.channel_id, state=Leg.State.UP
        )
        events.connection_started(connection)
        place = _open_place(queue, at)
        if place is None:
            legs.end(connection, at, Disposition.NO_ANSWER, cause=ABSENT, hung_up_by=Party.SYSTEM)
            return
        orders.answer(leg)
        _send_to(connection, place, at, is_overflow=place != queue)


def _queue_of(dialled: str) -> Queue | None:
    number = comparable(dialled)
    return next((queue for queue in Queue.objects.exclude(number="") if comparable(queue.number) == number), None)


def _open_place(queue: Queue, at: datetime) -> Queue | str | None:
    """Where a caller of the queue goes now: to it, or while it is closed where it overflows to, or nowhere."""
    passed: set[int] = set()
    place: Queue | None = queue
    while place is not None and place.pk not in passed:
        if place.is_open(at):
            return place
        if place.overflow_number:
            return place.overflow_number
        passed.add(place.pk)
        place = place.overflow_queue
    return None


def _send_to(connection: Connection, place: Queue | str, at: datetime, *, is_overflow: bool) -> None:
    queue, number = (place, "") if isinstance(place, Queue) else (None, place)
    if is_overflow:
        Transfer.objects.create(
            connection=connection,
            from_queue=connection.queue,
            queue=queue,
            number=number,
            action=OVERFLOW,
            **actor_columns(SYSTEM),
        )
    if queue:
        enter_queue(connection, queue, at)
    else:
        offers.count_wait(connection, at)
        connection.save(update_fields=["wait_seconds"])
        transferring.call_target(connection, number, at)


def enter_queue(connection: Connection, queue: Queue, at: datetime) -> None:
    """He waits there from now on, with music; an agent who talked with him has been let go by the caller of this."""
    offers.count_wait(connection, at)
    connection.state, connection.queue, connection.waiting_since = State.WAITING, queue, at
    connection.is_on_hold = False
    connection.save(update_fields=["state", "queue", "waiting_since", "wait_seconds", "is_on_hold"])
    if connection.join_count:
        orders.part(connection)
    if customer := connection.leg_of(Leg.Role.CUSTOMER):
        orders.play_music(customer, queue.music_class)
    nudge("calls")


def agent_up(connection: Connection, leg: Leg, at: datetime) -> None:
    """An agent has picked up: they talk. One who comes too late hears nobody, and is hung up."""
    offer, customer = offers.current(connection), connection.leg_of(Leg.Role.CUSTOMER)
    if connection.state != State.WAITING or customer is None or offer is None or offer.agent_id != leg.agent_id:
        legs.hang_up(leg, at)
        return
    is_first = connection.answered_at is None
    offers.count_wait(connection, at)
    connection.state, connection.agent, connection.answered_at = (
        State.TALKING,
        offer.agent,
        connection.answered_at or at,
    )
    connection.join_count += 1
    connection.save(update_fields=["state", "agent", "answered_at", "wait_seconds", "join_count"])
    offers.answer(offer, at)
    offer.agent.talk(connection, at)
    if is_first:
        events.connection_answered(connection)
    orders.stop_music(customer)
    orders.join(connection, customer, leg)


def agent_ended(connection: Connection, leg: Leg, at: datetime, cause: int | None) -> None:
    """He has hung up, and the call is over; or he did not pick up, and it goes on to the next."""
    if leg.up_at:
        legs.end(
            connection,
            at,
            Disposition.ANSWERED,
            cause=cause,
            hung_up_by=Party.AGENT,
            wrap_up_seconds=connection.wrap_up_seconds,
        )
        return
    offer = offers.current(connection)
    if offer is not None and offer.agent_id == leg.agent_id:
        offers.close(offer, at, offers.outcome_of(leg, cause))
        offer.agent.leave_call(connection, at)
        nudge("calls")


def customer_ended(connection: Connection, leg: Leg, at: datetime, cause: int | None) -> None:
    """The caller has hung up: after he talked, or he gave up."""
    legs.end(
        connection,
        at,
        Disposition.ANSWERED if connection.answered_at else Disposition.NO_ANSWER,
        cause=cause,
        hung_up_by=Party.CUSTOMER,
        wrap_up_seconds=connection.wrap_up_seconds,
    )


def overflow_overdue(now: datetime) -> None:
    """Send on who has waited too long in his queue, or let him go. While a phone rings for him, he waits for that."""
    for pk in distributing.overdue(now):
        with transaction.atomic():
            connection = legs.lock(pk)
            if connection is not None and distributing.is_overdue(connection, now):
                _overflow(connection, legs.instant(connection, now))


def _overflow(connection: Connection, at: datetime) -> None:
    assert connection.queue is not None
    place: Queue | str | None = connection.queue.overflow_number
    if target := connection.queue.overflow_queue:
        place = _open_place(target, at)
    if isinstance(place, Queue) and connection.transfers.filter(action=OVERFLOW, queue=place).exists():
        place = None  # he has come round
    if place:
        _send_to(connection, place, at, is_overflow=True)
        return
    disposition = Disposition.ANSWERED if connection.answered_at else Disposition.NO_ANSWER
    legs.end(connection, at, disposition, cause=legs.NORMAL, hung_up_by=Party.SYSTEM)
