"""Results of the dialler's calls. A result is kept in the attempt while the call goes on, and written when it ends.

A later result overwrites an earlier one, until five minutes after the end, or until the record is reserved again.
Locks: the attempt, then the record.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from callcentre.core.actor import Actor
from callcentre.core.changes import change_columns
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid, besides
from callcentre.core.sender import acting, sender
from campaigns.models import AdditionalNumber, Attempt, Record, RecordStatus, SystemStatus
from campaigns.models.attempt import RESULT_OPEN
from campaigns.models.rules import CampaignFacts
from campaigns.verbs import retries
from campaigns.verbs.record_edits import Edit, edit_records
from campaigns.verbs.records import status_for
from telephony.models import Connection
from telephony.verbs import screen_pops

logger = logging.getLogger(__name__)

# The values of a result that plan the next call.
_PLAN = ("status_id", "next_call_at", "agent_login")


def give_result(
    connection: Connection,
    actor: Actor,
    faults: Sequence[Fault] = (),
    *,
    is_number_wrong: bool | None = None,
    **values: Any,
) -> None:
    """Store the result of a campaign's call. Raises Invalid, and Conflict if it comes too late.

    `values` are those of an edit of the record. Without `is_number_wrong` the status decides.
    """
    with transaction.atomic():
        attempt, now = lock_attempt(connection.pk), timezone.now()
        if attempt is None:
            raise Conflict(ErrorCode.CALL_OF_NO_CAMPAIGN)
        if attempt.ended_at and now > attempt.ended_at + RESULT_OPEN:
            raise Conflict(ErrorCode.RESULT_TOO_LATE)
        record = _lock_record(attempt)
        # A result decides about the next call, so that an earlier plan does not stay.
        values.setdefault("next_call_at", None)
        with transaction.atomic():
            edit, is_wrong = _write(attempt, record, actor, values, is_number_wrong)
            faults = [*faults, *besides(faults, _faults(edit, values, faults))]
            if attempt.ended_at is None or faults:
                transaction.set_rollback(True)
        if faults:
            raise Invalid(faults)
        attempt.result = _to_json(edit, actor, now, is_number_wrong=is_wrong)
        if attempt.ended_at:
            attempt.settled_at = attempt.settled_at or now
        attempt.save(update_fields=["result", "settled_at"])
        login = connection.agent.login if connection.agent else ""
        screen_pops.record(connection, login, screen_pops.Moment.RESULT)


def await_result(connection_id: int, longer: timedelta) -> None:
    """Wait longer for the result of a campaign's call that has ended."""
    waiting = Attempt.objects.filter(connection_id=connection_id, settled_at=None, settle_at__isnull=False)
    waiting.update(settle_at=F("settle_at") + longer)


def write_kept_result(attempt: Attempt, record: Record) -> bool:
    """Write the result of a call that has ended. Return whether it has a status: if not, the outcome decides.

    Values that no longer fit, for example as the status was deleted meanwhile, are left out. The history says why.
    """
    kept: dict[str, Any] = attempt.result or {}
    actor = Actor(*kept["actor"])
    with acting(actor, kept.get("address")):
        return _write_kept(attempt, record, kept, actor)


def _write_kept(attempt: Attempt, record: Record, kept: dict[str, Any], actor: Actor) -> bool:
    values = _from_json(kept["values"])
    reasons: list[str] = []
    while faults := _faults_of_kept(attempt, record, actor, values, is_number_wrong=kept["is_number_wrong"]):
        reasons += [fault.message for fault in faults]
        if (fitting := _without(values, faults, record, kept.get("system_status", ""))) == values:
            values = {}
            break
        values = fitting
    if reasons:
        told = {"refused": ["", " ".join(reasons)]}
        statuses = {"from_system_status": record.system_status, "to_system_status": record.system_status}
        record.history.create(action="result_refused", changes=told, **statuses, **change_columns(actor))
        logger.warning("a result could not be written", extra={"connection": attempt.connection_uid, "error": reasons})
    return "status_id" in values


def _faults_of_kept(
    attempt: Attempt, record: Record, actor: Actor, values: Mapping[str, Any], *, is_number_wrong: bool
) -> list[Fault]:
    """Write the values, unless they have faults, which are returned."""
    with transaction.atomic():
        edit, _ = _write(attempt, record, actor, values, is_number_wrong)
        faults = _faults(edit, values) if "status_id" in values else edit.faults
        if faults:
            transaction.set_rollback(True)
    return faults


def _without(values: Mapping[str, Any], faults: Sequence[Fault], record: Record, system_status: str) -> dict[str, Any]:
    """Return the values without those that the faults name.

    A status that plans a call is replaced by the campaign's first one of the same system status. Without a status there
    is no plan.
    """
    names = {fault.field for fault in faults if fault.field}
    if "status_id" in names and system_status not in SystemStatus.completed():
        same = status_for(record, system_status)
        if same and same.pk != values["status_id"]:
            return {**values, "status_id": same.pk}
    rest = {name: value for name, value in values.items() if name not in names}
    if "fields" in rest:
        rest["fields"] = {name: text for name, text in rest["fields"].items() if f"fields.{name}" not in names}
    if rest == values or not rest.keys() >= {"status_id", "next_call_at"}:
        rest = {name: value for name, value in rest.items() if name not in _PLAN}
    return rest


def lock_attempt(connection_id: int) -> Attempt | None:
    """Lock the attempt of a call, with its campaign; None for a call that no dialler placed."""
    attempts = Attempt.objects.select_for_update(of=("self",), no_key=True)
    return attempts.select_related("campaign").filter(connection_id=connection_id).first()


def _lock_record(attempt: Attempt) -> Record:
    """Lock the record, if it is still this call's, or was not reserved since. Raises Conflict."""
    record = Record.objects.select_for_update(no_key=True).filter(pk=attempt.record_id).first()
    if record is None:
        raise Conflict(ErrorCode.RECORD_NOT_FOUND)
    if record.leased_by == _holder(attempt):
        return record
    if record.is_leased or Attempt.objects.filter(record_id=record.pk, pk__gt=attempt.pk).exists():
        raise Conflict(ErrorCode.RECORD_RESERVED)
    return record


def _holder(attempt: Attempt) -> str:
    return f"call:{attempt.connection_id}"


def _write(
    attempt: Attempt, record: Record, actor: Actor, values: Mapping[str, Any], is_number_wrong: bool | None
) -> tuple[Edit, bool]:
    """Take the record back from its call and edit it. Return the edit, and whether the number is wrong."""
    Record.objects.filter(pk=record.pk, leased_by=_holder(attempt)).update(leased_by="", leased_until=None)
    facts = CampaignFacts.read(attempt.campaign_code)
    given = retries.with_status_rule(facts, record.pk, values, timezone.now()) if facts else dict(values)
    edit = Edit(record.phone_number, given, record_id=record.pk)
    if facts is None:
        edit.faults.append(Fault(ErrorCode.RECORD_NOT_FOUND))
        return edit, False
    edit_records(facts, actor, [edit], action="result")
    is_wrong = is_number_wrong
    if is_wrong is None:
        is_wrong = RecordStatus.objects.filter(pk=edit.after.status.id or 0, is_wrong_number=True).exists()
    if is_wrong or (attempt.result or {}).get("is_number_wrong"):
        _mark_number(attempt, record, is_wrong=is_wrong)
    return edit, is_wrong


def _mark_number(attempt: Attempt, record: Record, *, is_wrong: bool) -> None:
    if attempt.number == record.number:
        Record.objects.filter(pk=record.pk).update(is_number_wrong=is_wrong)
    AdditionalNumber.objects.filter(record_id=record.pk, number=attempt.number).update(is_wrong=is_wrong)


def _faults(edit: Edit, values: Mapping[str, Any], unread: Sequence[Fault] = ()) -> list[Fault]:
    """Return the faults of the edit and of the result, which has a status and ends the progress of the record.

    Fields in `unread` have no value, because it could not be read.
    """
    faults, wrong = list(edit.faults), {fault.field for fault in unread}
    if values.get("status_id") is None and values.get("dictionary_status_id") is None:
        if not wrong & {"status_id", "dictionary_status_id"}:
            faults.append(Fault(ErrorCode.EMPTY, "status_id"))
    elif not edit.faults and edit.after.status.system_status == SystemStatus.IN_PROGRESS:
        faults.append(Fault(ErrorCode.RESULT_IN_PROGRESS, "status_id"))
    return faults


def _to_json(edit: Edit, actor: Actor, at: datetime, *, is_number_wrong: bool) -> dict[str, Any]:
    values = {name: value for name, value in edit.values.items() if name != "dictionary_status_id"}
    next_call_at = values["next_call_at"]
    return {
        "values": values
        | {"status_id": edit.after.status.id, "next_call_at": next_call_at.isoformat() if next_call_at else None},
        "system_status": edit.after.status.system_status,
        "is_number_wrong": is_number_wrong,
        "actor": [actor.kind, actor.id, actor.name],
        "address": sender().address,
        "at": at.isoformat(),
    }


def _from_json(values: Mapping[str, Any]) -> dict[str, Any]:
    next_call_at = values["next_call_at"]
    return {**values, "next_call_at": parse_datetime(next_call_at) if next_call_at else None}
