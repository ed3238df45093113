"""The trunk, which carries the calls of all campaigns: whether calls get through it.

A call that ends by a cause of the network before the phone rings is doubtful: the number may be wrong, or the trunk.
After three such calls in a row, to different numbers and without a sign of life between them, the trunk has failed.
These calls and all until recovery count as not dialled, so that their records stay due. The campaigns rest, and one
call at a time tries the trunk, after pauses that grow. A phone that rings, or a far end that judges its number, is a
sign of life, also in a call that no dialler has placed. A number that is doubtful again after the failure is dead
itself; else a few dead numbers would stop all campaigns again and again.

The simulated switch has no trunk: the digits of its numbers decide.

Locks: the attempt, the trunk, earlier attempts; the record and the counts of the day come after them.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from callcentre.core.advisory_locks import lock_until_commit
from callcentre.core.pubsub import publish
from callcentre.core.statements import Statement, rows_of
from campaigns.dialling.refusals import NUMBER
from campaigns.models import Attempt, TrunkFailure
from telephony.models import Connection

logger = logging.getLogger(__name__)

# Q.850 causes of calls that do not get through a broken trunk. A trunk that does not answer has 18, 19 or 102.
_CAUSES = (3, 18, 19, 27, 34, 38, 102)
# Q.850 causes by which a far end judges its number. A rejection is a person's if SIP says 603. A trunk that does not
# know us, or lets us call no number, says 401, 403 or 407.
_VERDICTS = (1, 17, 20, 22)
_REJECTED, _DECLINE, _FORBIDDEN = 21, "603", ("401", "403", "407")
IN_A_ROW = 3
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=10), timedelta(minutes=5)
# The next calls take other records than those of doubtful calls: their numbers may be dead, too.
PASSED_OVER = timedelta(minutes=10)
# The marks among the figures of an attempt: the call was doubtful; its number is dead.
DOUBTFUL, DEAD = "doubtful", "dead"
# The space of our advisory locks; no other lock uses the number.
_LOCK_SPACE = 0x7472756E

# When the `customer` of a call, which may have an `attempt`, gave the last sign of life. Times of legs that are over
# are whole seconds, those of attempts are exact.
_ALIVE_AT = f"""GREATEST(customer.ringing_at, COALESCE(attempt.answered_at, customer.up_at),
  CASE WHEN (customer.cause IN {_VERDICTS} OR customer.cause = {_REJECTED} AND customer.tech_cause = '{_DECLINE}')
      AND customer.hangup_asked_at IS NULL
    THEN COALESCE(attempt.ended_at, customer.ended_at) END)"""
_CUSTOMERS = """JOIN telephony_leg customer ON customer.connection_id = call.id AND customer.role = 'customer'
  LEFT JOIN campaigns_attempt attempt ON attempt.connection_id = call.id"""
# The doubtful attempts since the last sign of life, among the last calls.
_ROW = Statement("""
WITH calls AS (
  SELECT attempt.id, attempt.ended_at, attempt.figures ? '{doubtful}' AS is_doubtful, {alive_at} AS alive_at
  FROM (
    SELECT id FROM telephony_connection WHERE direction = 'OUTBOUND' AND created_at > %(now)s - interval '1 hour'
    ORDER BY created_at DESC, id DESC LIMIT 500
  ) AS call {customers}
)
SELECT id FROM calls
WHERE is_doubtful AND ended_at > COALESCE((SELECT max(alive_at) FROM calls), '-infinity') ORDER BY id
""").of(doubtful=DOUBTFUL, alive_at=_ALIVE_AT, customers=_CUSTOMERS)
# A call that was placed a moment before the failure may ring after it.
_RECOVER = Statement("""
UPDATE campaigns_trunkfailure failure SET ended_at = %(now)s
WHERE ended_at IS NULL AND (trunk <> %(trunk)s OR EXISTS (
  SELECT FROM telephony_connection call {customers}
  WHERE call.direction = 'OUTBOUND' AND call.created_at > failure.began_at - interval '5 minutes'
    AND {alive_at} > failure.began_at))
RETURNING began_at
""").of(customers=_CUSTOMERS, alive_at=_ALIVE_AT)
_CLAIM = """
WITH open AS (
  SELECT FROM campaigns_trunkfailure WHERE trunk = %(trunk)s AND ended_at IS NULL
), trial AS (
  UPDATE campaigns_trunkfailure SET try_at = %(until)s
  WHERE trunk = %(trunk)s AND ended_at IS NULL AND try_at <= %(now)s RETURNING id
)
SELECT NOT EXISTS (SELECT FROM open) OR EXISTS (SELECT FROM trial)
"""


def is_doubtful(attempt: Attempt, connection: Connection) -> bool:
    """Return whether the call has ended as calls do that do not get through the trunk.

    While the trunk fails, these are all that end without a sign of life, by any cause.
    """
    if settings.SWITCH_BACKEND == "simulated" or attempt.outcome == Attempt.Outcome.DROPPED:
        return False
    if attempt.figures.get("refused") == NUMBER:
        return True
    customer = connection.customer_leg
    if customer is None or customer.ended_at is None or customer.hangup_asked_at:
        return False
    is_verdict = customer.cause in _VERDICTS or (customer.cause == _REJECTED and customer.tech_cause == _DECLINE)
    if customer.ringing_at or customer.up_at or is_verdict:
        return False
    is_forbidden = customer.cause == _REJECTED and customer.tech_cause in _FORBIDDEN
    return customer.cause in _CAUSES or is_forbidden or present_failure() is not None


def judge(attempt: Attempt) -> Sequence[Attempt]:
    """Judge a doubtful call, whose attempt is locked: if the trunk has failed, the number was not dialled.

    Return the earlier attempts that this call has shown not to be dialled either. They are due to be settled anew.
    """
    now = timezone.now()
    lock_until_commit(_LOCK_SPACE, 0)
    failure = TrunkFailure.objects.filter(trunk=settings.TRUNK).first()
    earlier: list[Attempt] = []
    if failure and failure.ended_at and attempt.dialled_at < failure.ended_at:
        # The call was placed before the trunk worked again, and says nothing about the present.
        attempt.outcome = Attempt.Outcome.NOT_DIALLED
        return []
    if failure and failure.ended_at and _is_dead(attempt, failure.ended_at):
        attempt.figures = {**attempt.figures, DEAD: True}
        return []
    attempt.figures = {**attempt.figures, DOUBTFUL: True}
    if failure is None or failure.ended_at:
        earlier = list(Attempt.objects.filter(pk__in=[pk for (pk,) in rows_of(_ROW, {"now": now})]))
        if len({attempt.number, *(one.number for one in earlier)}) < IN_A_ROW:
            return []
        _begin(now)
        # A number with a result of an agent keeps it.
        earlier = [one for one in earlier if one.result is None and one.outcome != Attempt.Outcome.NOT_DIALLED]
        Attempt.objects.filter(pk__in=[one.pk for one in earlier]).update(
            outcome=Attempt.Outcome.NOT_DIALLED, settle_at=now, settled_at=None
        )
    elif failure.try_at == attempt.dialled_at + _trial_lasts():
        # This call was to try the trunk. Others were placed in the moment of the failure, and lengthen no pause.
        failure.trials += 1
        failure.try_at = now + min(FIRST_PAUSE * 2 ** min(failure.trials, 10), LONGEST_PAUSE)
        failure.save(update_fields=["trials", "try_at"])
    attempt.outcome = Attempt.Outcome.NOT_DIALLED
    return earlier


def _is_dead(attempt: Attempt, recovered_at: datetime) -> bool:
    """Return whether the last call of the number was doubtful in a failure that has ended, or already dead."""
    others = Attempt.objects.filter(record_id=attempt.record_id, number=attempt.number).exclude(pk=attempt.pk)
    calls = others.filter(Q(figures__has_key=DOUBTFUL) | ~Q(outcome=Attempt.Outcome.NOT_DIALLED))
    if (last := calls.order_by("-dialled_at", "-id").first()) is None:
        return False
    was_in_failure = DOUBTFUL in last.figures and last.outcome == Attempt.Outcome.NOT_DIALLED
    return DEAD in last.figures or (was_in_failure and last.dialled_at < recovered_at)


def _begin(now: datetime) -> None:
    TrunkFailure.objects.create(trunk=settings.TRUNK, began_at=now, try_at=now + FIRST_PAUSE)
    logger.error("no call gets through the trunk", extra={"trunk": settings.TRUNK})
    publish("dialling")


def present_failure() -> TrunkFailure | None:
    return TrunkFailure.objects.filter(trunk=settings.TRUNK, ended_at=None).first()


def _trial_lasts() -> timedelta:
    return timedelta(seconds=settings.AGENT_RING_SECONDS + settings.RING_SECONDS) + FIRST_PAUSE


def may_call(now: datetime) -> bool:
    """Return whether the trunk works, or this call is to try it: then no other call may, until this one is over."""
    values: dict[str, Any] = {"trunk": settings.TRUNK, "now": now, "until": now + _trial_lasts()}
    ((may,),) = rows_of(_CLAIM, values)
    return bool(may)


def recover(now: datetime) -> int:
    """End the failure of the trunk if there was a sign of life since. Return the number of ended failures."""
    ended = rows_of(_RECOVER, {"trunk": settings.TRUNK, "now": now})
    for (began_at,) in ended:
        logger.warning("calls get through the trunk again", extra={"seconds": round((now - began_at).total_seconds())})
        publish("dialling")
    return len(ended)
