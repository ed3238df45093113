"""Call-backs: callers who keep their place in a queue without staying on the line, and people who asked for a call.

The distribution (telephony.calls.distribution) finds the agent whose turn it is. Then the agent's phone rings, and
once it is picked up, the number is called, as in any outbound call. All rows of an attempt are written in one
transaction, and the switch is asked after it. If the process dies in between, the comparison ends the lost leg, and the
call-back waits again in its place (telephony.calls.call_ends).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction, record
from callcentre.core.changes import store
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.pubsub import publish
from telephony import call_clock, causes, events
from telephony.calls import call_ends, legs, prompts
from telephony.customers import customers_of
from telephony.models import Agent, CallBack, CallerPriority, CallerStep, Connection, Leg, Queue
from telephony.numbers import comparable, is_number, read_number
from telephony.switch.base import KeyPressed
from telephony.verbs import presence

Origin, State = CallBack.Origin, CallBack.State


def ask(
    actor: Actor,
    faults: Sequence[Fault] = (),
    *,
    queue_id: int | None = None,
    phone_number: str = "",
    origin: str = Origin.API,
    caller: Connection | None = None,
) -> CallBack:
    """Ask for a call to a number, behind all who wait in the queue now. `caller` is a caller who was missed.

    Raises Invalid, or Conflict if a call-back of the queue waits for the number already.
    """
    faults = [*faults]
    number = read_number(phone_number, faults)
    queue = Queue.objects.active().filter(pk=queue_id).first() if queue_id else None
    if queue is None and not any(fault.field == "queue_id" for fault in faults):
        faults.append(Fault(ErrorCode.QUEUE_UNKNOWN, "queue_id"))
    if faults or queue is None:
        raise Invalid(faults)
    known = customers_of([number]).get(number)
    with transaction.atomic():
        callback, is_new = _add(queue, number, origin, caller=caller, customer_id=known.id if known else None)
        if not is_new:
            raise Conflict(ErrorCode.CALLBACK_EXISTS)
        record(actor, AuditAction.ASK_CALLBACK, callback)
    return callback


def cancel(callback: CallBack, actor: Actor) -> bool:
    """End a call-back that waits. Return true. Raises Conflict if it is over, or the number is called now."""
    with transaction.atomic():
        locked = CallBack.objects.select_for_update(no_key=True, of=("self",)).select_related("caller", "agent")
        found = locked.filter(pk=callback.pk, state=State.WAITING).first()
        if found is None:
            raise Conflict(ErrorCode.CALLBACK_NOT_WAITING)
        call_ends.end(found, CallBack.Disposition.CANCELLED, timezone.now())
        record(actor, AuditAction.CANCEL_CALLBACK, found)
    return True


def _add(queue: Queue, number: str, origin: str, *, customer_id: int | None, **values: Any) -> tuple[CallBack, bool]:
    """Add a call-back, and record CALLBACK_QUEUED. One that is open for the number stays, with its earlier place."""
    now = timezone.now().replace(microsecond=0)
    values |= {"customer_id": customer_id, "priority_steps": CallerPriority.objects.steps_of(number, customer_id)}
    callback, is_new = CallBack.objects.exclude(state=State.ENDED).get_or_create(
        queue=queue,
        number=number,
        defaults={"origin": origin, "created_at": now, "waiting_since": now, "next_attempt_at": now, **values},
    )
    if is_new:
        events.callback_queued(callback)
        publish("calls")
    return callback, is_new


# Waiting callers. The call is locked.


@transaction.atomic
def key_pressed(event: KeyPressed) -> None:
    """Let a waiting caller hang up who has pressed the key of the queue."""
    found = legs.lock_by_channel(event.channel_id)
    connection = found[0] if found else None
    if connection and connection.queue and event.key == connection.queue.callback_key:
        take(connection, Origin.KEY, legs.instant(connection, event.at))


def take(connection: Connection, origin: str, at: datetime) -> bool:
    """End the call of a waiting caller, who is called back, perhaps after the prompt that says so.

    Return false if the caller cannot be called. The caller has not given up: the call is not abandoned.
    """
    queue, since, number = connection.queue, connection.waiting_since, connection.src_number
    is_waiting = connection.state == Connection.State.WAITING and connection.leg_of(Leg.Role.CUSTOMER) is not None
    if queue is None or since is None or not is_waiting or not is_number(number):
        return False
    _add(queue, number, origin, waiting_since=since, caller=connection, customer_id=connection.customer_id)
    prompts.leave_queue(connection, at, CallerStep.Kind.CALLBACK, legs.NORMAL, causes.CALLED_BACK)
    return True


def is_due(connection: Connection, now: datetime) -> bool:
    """Return whether a locked call has waited so long that the caller is called back."""
    queue, since = connection.queue, connection.waiting_since
    if queue is None or since is None or not queue.callback_after_seconds or not is_number(connection.src_number):
        return False
    return (now - since).total_seconds() >= queue.callback_after_seconds


def is_attempt(connection: Connection) -> bool:
    """Return whether this call out is one of a call-back, which the agent has not asked for."""
    if connection.queue_id is None or connection.campaign_code:
        return False
    return CallBack.objects.filter(connection=connection, state=State.CALLING).exists()


def lock(pk: int) -> CallBack | None:
    """Lock a call-back that waits. One that another transaction has locked is left to that."""
    rows = CallBack.objects.select_for_update(no_key=True, skip_locked=True, of=("self",)).select_related("queue")
    return rows.filter(pk=pk, state=State.WAITING).first()


def ring(callback: CallBack, agent: Agent, now: datetime) -> None:
    """Ring the agent, who is locked and free, for a call to the number of a locked call-back."""
    connection = Connection(
        direction=Connection.Direction.OUTBOUND,
        state=Connection.State.ORIGINATING,
        src=agent.number,
        dst=callback.number,
        src_number=comparable(agent.number),
        dst_number=callback.number,
        queue=callback.queue,
        agent=agent,
        customer_id=callback.customer_id,
        caller_id=settings.CALLER_ID,
        created_at=now.replace(microsecond=0),
    )
    connection.save(force_insert=True)
    call_clock.on_call(connection.pk, now)
    legs.bind_log_context(connection)
    store(callback, state=State.CALLING, connection=connection, agent=agent)
    events.connection_started(connection)
    at = legs.instant(connection, now)
    presence.ring(agent, connection, at)
    seconds = callback.queue.ring_seconds
    legs.ring_agent(connection, agent, at, role=Leg.Role.AGENT, presented=callback.number, ring_seconds=seconds)


@transaction.atomic
def withdraw(connection_id: int, now: datetime) -> None:
    """Hang up the phone of an agent who is no longer available, and give the place to the next agent."""
    connection = legs.lock(connection_id)
    if connection and connection.state == Connection.State.ORIGINATING:
        failed, at = Connection.Disposition.FAILED, legs.instant(connection, now)
        legs.end(connection, at, failed, cause=legs.NORMAL, hung_up_by=Connection.Party.AGENT)
