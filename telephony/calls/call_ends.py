"""The end of a call, as far as it concerns call-backs and missed callers. The call is locked, and no agent yet.

An attempt of a call-back ends: the person was reached, or keeps the place for the next attempt. An inbound call that no
agent answered is stored as missed, with the reason. An answered call answers the missed callers of its number, and ends
the call-back that waits for it.
"""

from datetime import datetime, timedelta

from callcentre.core.statements import row_of, rows_of
from telephony import causes, events
from telephony.models import CallBack, Connection, Leg, MissedCaller
from telephony.models.callback import ANSWERED_WITHIN
from telephony.numbers import is_number

Reason, State = MissedCaller.Reason, CallBack.State

_REASONS = {causes.QUEUE_CLOSED: Reason.CLOSED, causes.QUEUE_FULL: Reason.FULL, causes.NO_CHOICE: Reason.GAVE_UP}
_HAS_AGENT = """
SELECT EXISTS (
  SELECT FROM telephony_queuemember m JOIN telephony_agentsession s ON s.agent_id = m.agent_id AND s.ended_at IS NULL
  WHERE m.queue_id = %s
)
"""
# The missed callers are found by the number, which has an index.
_ANSWER = """
UPDATE telephony_missedcaller m SET answered_by_id = %(call)s
FROM telephony_connection c
WHERE c.src_number = %(number)s AND c.direction = 'INBOUND' AND c.created_at >= %(since)s
  AND m.connection_id = c.id AND m.answered_by_id IS NULL AND m.missed_at BETWEEN %(since)s AND %(answered)s
RETURNING m.id
"""


def settle(connection: Connection, at: datetime) -> None:
    is_inbound = connection.direction == Connection.Direction.INBOUND
    if not is_inbound and connection.queue_id and not connection.campaign_code:
        _end_attempt(connection, at)
    if connection.answered_at and (is_inbound or connection.agent_id):
        _answer(connection, connection.src_number if is_inbound else connection.dst_number, at)
    elif is_inbound and connection.cause_text != causes.CALLED_BACK:
        MissedCaller.objects.create(
            connection=connection, queue=connection.queue, reason=_reason(connection), missed_at=at
        )


def _reason(connection: Connection) -> str:
    # Who waited up to the limit may leave a message, and then hang up.
    has_waited = connection.cause_text == causes.WAITED_TOO_LONG
    has_given_up = connection.hung_up_by == Connection.Party.CUSTOMER and not has_waited
    if reason := _REASONS.get(connection.cause_text):
        return reason
    if connection.cause is None:
        return Reason.NO_CONNECTION
    if connection.disposition == Connection.Disposition.FAILED:
        return Reason.HUNG_UP
    if connection.queue_id is None:
        return Reason.GAVE_UP if has_given_up else Reason.NO_QUEUE
    if not row_of(_HAS_AGENT, [connection.queue_id])[0]:
        return Reason.NO_AGENT
    return Reason.GAVE_UP if has_given_up else Reason.OVERFLOWED


def _answer(connection: Connection, number: str, at: datetime) -> None:
    """Note that a person talked with an agent. Callers without a number are not known to be the same person."""
    assert connection.answered_at is not None
    if not is_number(number):
        return
    values = {"call": connection.pk, "number": number, "answered": connection.answered_at}
    rows_of(_ANSWER, {**values, "since": connection.answered_at - ANSWERED_WITHIN})
    waiting = CallBack.objects.filter(number=number, state=State.WAITING, created_at__lte=connection.answered_at)
    if connection.queue_id:
        waiting = waiting.filter(queue=connection.queue_id)
    # One that is locked gets its turn just now. Its agent may be locked here.
    rows = waiting.select_for_update(no_key=True, skip_locked=True, of=("self",)).select_related("caller")
    for callback in rows.order_by("id"):
        callback.connection, callback.agent = connection, connection.agent
        end(callback, CallBack.Disposition.ANSWERED, at, waited_until=connection.answered_at)


def _end_attempt(connection: Connection, at: datetime) -> None:
    """End a call-back whose person was reached, or could not be reached for the last time. Else it waits again.

    A call in which the agent did not pick up is no attempt: the place goes to the next agent.
    """
    attempts = CallBack.objects.select_for_update(no_key=True, of=("self",)).select_related("queue", "caller")
    callback = attempts.filter(connection=connection, state=State.CALLING).first()
    if callback is None:
        return
    callback.connection, callback.agent = connection, connection.agent
    was_called = any(leg.role == Leg.Role.CUSTOMER for leg in connection.all_legs)
    callback.attempts += was_called
    if connection.answered_at:
        end(callback, CallBack.Disposition.ANSWERED, at, waited_until=connection.answered_at)
    elif was_called and callback.attempts >= callback.queue.callback_attempts:
        end(callback, connection.disposition, at)
    else:
        callback.state = State.WAITING
        if was_called:
            callback.next_attempt_at = at + timedelta(minutes=callback.queue.callback_minutes)
        callback.save(update_fields=["state", "attempts", "next_attempt_at"])


def end(callback: CallBack, disposition: str, at: datetime, *, waited_until: datetime | None = None) -> None:
    """End a locked call-back, and record CALLBACK_ENDED. A caller who was not reached is a missed caller."""
    callback.state, callback.disposition, callback.ended_at = State.ENDED, disposition, at
    callback.wait_seconds = max(int(((waited_until or at) - callback.waiting_since).total_seconds()), 0)
    callback.save(update_fields=["state", "disposition", "ended_at", "wait_seconds", "attempts", "connection", "agent"])
    if disposition not in (CallBack.Disposition.ANSWERED, CallBack.Disposition.CANCELLED) and callback.caller:
        values = {"queue_id": callback.queue_id, "reason": Reason.NOT_REACHED, "missed_at": at}
        MissedCaller.objects.get_or_create(connection=callback.caller, defaults=values)
    events.callback_ended(callback)
