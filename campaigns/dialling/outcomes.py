"""The end of a dialler's call: its outcome, and the next step of its record, in the transaction that ends the call.

An answered call is settled by the agent's result, or when the wrap-up is over. Any other one is settled at once: by the
result, if one was given during the call, else the record is called again by the rule of the outcome, or given up.
Locks: the connection, its agents, the attempt, the trunk, the record, the counts of the day.
"""

import logging
from datetime import datetime, timedelta
from typing import Any

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from campaigns.dialling import answered_calls, day_counts, refusals, trunk
from campaigns.dialling.choice import ONE_TO_ONE_AFTER_DROP
from campaigns.models import Attempt, Record, RecordStatus, SystemStatus
from campaigns.verbs import retries
from campaigns.verbs.records import DIALLER, end_call, status_for
from campaigns.verbs.results import lock_attempt, write_kept_result
from telephony import causes
from telephony.calls.campaign_hooks import CampaignHooks
from telephony.models import Connection

logger = logging.getLogger(__name__)

Outcome, Disposition = Attempt.Outcome, Connection.Disposition

_OUTCOMES = {
    Disposition.ANSWERED: Outcome.ANSWERED,
    Disposition.BUSY: Outcome.BUSY,
    Disposition.NO_ANSWER: Outcome.NO_ANSWER,
    Disposition.FAILED: Outcome.FAILED,
}
# By the outcome of an attempt that is settled anew: the outcomes by which it may have been settled before.
_SETTLED_EARLY = {
    Outcome.NOT_DIALLED: (Outcome.FAILED, Outcome.NO_ANSWER),
    Outcome.DROPPED: (Outcome.FAILED, Outcome.NO_ANSWER, Outcome.CANCELLED, Outcome.NOT_DIALLED),
}
# Attempts that are settled in one transaction.
SETTLED_AT_ONCE = 50
# A failed attempt is settled again after this.
SETTLED_AGAIN = timedelta(minutes=1)


class Hooks(CampaignHooks):
    """The hooks that telephony calls, within the transaction of the call."""

    answered = staticmethod(answered_calls.answered)
    detected = staticmethod(answered_calls.detected)
    next_agent = staticmethod(answered_calls.next_agent)
    is_wanted = staticmethod(answered_calls.is_wanted)
    joined = staticmethod(answered_calls.joined)
    unjoin = staticmethod(answered_calls.unjoin)
    is_unheard = staticmethod(answered_calls.is_unheard)
    waiting = staticmethod(answered_calls.waiting)
    dropped = staticmethod(answered_calls.dropped)
    transfer_failed = staticmethod(answered_calls.transfer_failed)

    def ended(self, connection: Connection, at: datetime) -> None:
        attempt = lock_attempt(connection.pk)
        if attempt is None or attempt.ended_at:
            return
        attempt.ended_at = timezone.now()
        counts: dict[str, int] = {}
        is_alone = attempt.answered_at and not attempt.joined_at
        if not attempt.outcome and (is_alone or _may_be_cut_off(connection)):
            # The person has hung up while waiting for an agent, or may have answered while no listener was connected.
            counts = answered_calls.drop(attempt)
        if not attempt.outcome and not attempt.answered_at:
            refusals.note(attempt, connection)
        attempt.outcome = attempt.outcome or _outcome(connection)
        shown = trunk.judge(attempt) if trunk.is_doubtful(attempt, connection) else []
        waits_for_result = attempt.outcome == Outcome.ANSWERED and attempt.result is None and not _is_lost(attempt)
        if waits_for_result:
            attempt.settle_at = attempt.ended_at + timedelta(seconds=connection.wrap_up_seconds)
        attempt.save(update_fields=["ended_at", "outcome", "settle_at", "figures"])
        if not waits_for_result:
            _settle(attempt, attempt.ended_at)
        if attempt.outcome != Outcome.NOT_DIALLED:
            counts |= {"attempts": 1, "machines": int(attempt.outcome == Outcome.MACHINE)}
        # The last lock: joins of other calls need the counts too, and must not wait for a record.
        day_counts.add(attempt, **counts)
        for earlier in shown:
            day_counts.take_back(earlier, "attempts")

    def answered_late(self, connection: Connection, at: datetime) -> None:
        """Drop a person who has picked up before the hang-up of the ended call has reached the phone."""
        attempt = lock_attempt(connection.pk)
        if attempt is None or attempt.answered_at:
            return
        attempt.answered_at = at
        counts = {"attempts": int(attempt.outcome == Outcome.NOT_DIALLED)} | answered_calls.drop(attempt)
        attempt.save(update_fields=["answered_at", "outcome"])
        _settle(attempt, attempt.ended_at or at)
        day_counts.add(attempt, **counts)


def _may_be_cut_off(connection: Connection) -> bool:
    customer = connection.customer_leg
    return customer is not None and customer.cause_text == causes.CUT_OFF


def _is_lost(attempt: Attempt) -> bool:
    return bool(attempt.figures.get("transfer_failed"))


def _outcome(connection: Connection) -> str:
    if (customer := connection.customer_leg) is None:
        return Outcome.NOT_DIALLED
    # A call that is lost with the switch has no cause.
    is_lost = connection.cause is None and connection.hung_up_by == Connection.Party.SYSTEM
    if not connection.answered_at and customer.hangup_asked_at and not is_lost:
        return Outcome.CANCELLED
    return _OUTCOMES[Disposition(connection.disposition)]


def lock_record(attempt: Attempt) -> Record | None:
    """Lock the record that the attempt's call holds; None if it was deleted, or is no longer held by the call."""
    return _lock(attempt, f"call:{attempt.connection_id}")


def _lock(attempt: Attempt, holder: str) -> Record | None:
    records = Record.objects.select_for_update(of=("self",), no_key=True).select_related("campaign", "status", "agent")
    return records.filter(pk=attempt.record_id, leased_by=holder).first()


def _lock_settled(attempt: Attempt) -> Record | None:
    """Lock the record of an attempt that was settled too early; None if it has changed since.

    The trunk was not known to have failed yet, or the person has answered late. The last entry of the record's history
    is still the end of that attempt.
    """
    actions = _SETTLED_EARLY.get(Outcome(attempt.outcome))
    if actions is None or Attempt.objects.filter(record_id=attempt.record_id, pk__gt=attempt.pk).exists():
        return None
    record = _lock(attempt, "")
    entries = record.history.order_by("-id").values_list("actor_kind", "action") if record else None
    is_own = entries is not None and entries.first() in [(DIALLER.kind, action) for action in actions]
    return record if is_own else None


def _retry(attempt: Attempt, record: Record, ended_at: datetime) -> None:
    """Give the record its next call, or give it up, after a call in which no agent could finish the talk.

    The rule of dropped calls is also that of a person who was lost by a transfer. A call that our side ended may have
    rung, so that the delay of an unanswered one holds.
    """
    outcome = Outcome.DROPPED if _is_lost(attempt) else attempt.outcome
    action = "transfer_failed" if _is_lost(attempt) else attempt.outcome
    is_attempt = outcome not in retries.NO_ATTEMPTS
    rule = retries.rule_for(record.campaign_id, outcome if is_attempt else Outcome.NO_ANSWER)
    at = retries.next_call(rule, record.pk, ended_at, is_attempt=is_attempt)
    if at is None:
        _end(record, action, SystemStatus.ABANDONED_AFTER_N_TRIES)
    elif outcome == Outcome.DROPPED:
        one_to_one_until = ended_at + ONE_TO_ONE_AFTER_DROP
        _end(record, action, SystemStatus.CALL_PROGRESSIVE, next_call_at=at, one_to_one_until=one_to_one_until)
    elif attempt.before.get("system_status") == SystemStatus.MY_RECORD:
        # It stays its agent's record.
        _end(record, action, SystemStatus.MY_RECORD, next_call_at=at)
    else:
        _end(record, action, SystemStatus.CALL_NO_SOONER_THAN, next_call_at=at)


def _restore(attempt: Attempt, record: Record) -> None:
    """Give the record the status that it had before a call that did not happen.

    If the system status of that status was changed meanwhile, another one of the campaign takes its place.
    """
    system_status, status_id = attempt.before["system_status"], attempt.before["status_id"]
    status = None
    if status_id:
        same = RecordStatus.objects.filter(pk=status_id, system_status=system_status).first()
        status = same or status_for(record, system_status)
    values = {name: parse_datetime(attempt.before[name] or "") for name in ("called_at", "next_call_at")}
    if trunk.DOUBTFUL in attempt.figures or attempt.figures.get("refused") == refusals.NUMBER:
        values["held_until"] = timezone.now() + trunk.PASSED_OVER
    end_call(record, DIALLER, "not_dialled", status, system_status, **values)


def _end(record: Record, action: str, system_status: SystemStatus, **values: Any) -> None:
    end_call(record, DIALLER, action, status_for(record, system_status), system_status, **values)


def _status_without_result(record: Record) -> RecordStatus | None:
    """Return the status for an answered call without a result: Contacted, else another one that ends the calls.

    The other one says neither that the number is wrong nor that the call was a success. A campaign may have none.
    """
    completed = record.campaign.statuses.filter(system_status=SystemStatus.NO_CALL, is_wrong_number=False)
    contacted = completed.filter(dictionary_status__key="contacted").first()
    return contacted or completed.filter(is_success=False).first()


def settle_due(now: datetime) -> int:
    """Settle answered calls without a result whose wrap-up is over. Return their number."""
    with transaction.atomic():
        due = Attempt.objects.select_for_update(of=("self",), no_key=True, skip_locked=True)
        attempts = list(due.filter(settled_at=None, settle_at__lte=now).order_by("settle_at")[:SETTLED_AT_ONCE])
        # Records are locked in the order of their ids, as by edits of many records.
        for attempt in sorted(attempts, key=lambda attempt: attempt.record_id):
            _try_to_settle(attempt, now)
    return len(attempts)


def _try_to_settle(attempt: Attempt, now: datetime) -> None:
    """Settle the attempt. If that fails, try again later, so that the other attempts do not wait for it."""
    try:
        with transaction.atomic():
            _settle(attempt, now)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        logger.exception("an attempt could not be settled", extra={"connection": attempt.connection_uid})
        Attempt.objects.filter(pk=attempt.pk).update(settle_at=now + SETTLED_AGAIN)


def _settle(attempt: Attempt, at: datetime) -> None:
    """Write the agent's result to the record. Without one the outcome decides about the next call."""
    attempt.settled_at = at
    attempt.save(update_fields=["settled_at"])
    record = lock_record(attempt) or _lock_settled(attempt)
    if record is None or (attempt.result and write_kept_result(attempt, record)):
        return
    if attempt.outcome == Outcome.NOT_DIALLED:
        _restore(attempt, record)
    elif attempt.outcome != Outcome.ANSWERED or _is_lost(attempt):
        _retry(attempt, record, attempt.ended_at or at)
    else:
        end_call(record, DIALLER, "no_result", _status_without_result(record), SystemStatus.NO_CALL)
