"""The dial of a reserved record: one transaction writes call, attempt, record, history and events.

The switch is asked after the commit. A process that dies before the commit leaves a reservation, which ends by itself.
One that dies after it leaves a call that the listener finds; the number is never called again for this attempt.

Locks: the campaign, shared; the limits of lines; the agent; the number; the trunk that failed; the record. Call and
attempt are new rows.
"""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from campaigns.dialling import numbers, trunk
from campaigns.dialling.choice import RELISTED
from campaigns.dialling.hours import Hours, read_hours
from campaigns.dialling.obstacles import is_switched_on
from campaigns.models import Attempt, Campaign, Record
from campaigns.verbs.records import DIALLER, begin_call, lock_held
from telephony.calls.campaign_calls import Target, call_number, call_with_agent, hold_agent, is_possible
from telephony.models import Agent, Connection
from telephony.models.agent_intervals import StateKind


class _NotHeldError(Exception):
    """The reservation is over, or the record has changed."""


def dial(
    campaign: Campaign,
    record_id: int,
    holder: str,
    mode: str,
    agent: Agent | None = None,
    *,
    hours: Hours | None = None,
    figures: dict[str, Any] | None = None,
) -> Connection | None:
    """Call the next number of the reserved record. Return None if that is impossible now.

    The agent's phone rings first; without an agent the number is called before it is known who will talk. `hours` are
    the campaign's, if they were read in this tick. `figures` are those of the pacer's decision.
    """
    now = timezone.now()
    kind = StateKind.PREVIEW if mode == Attempt.Mode.PREVIEW else StateKind.FREE
    try:
        with transaction.atomic():
            if not is_switched_on(campaign) or not is_possible() or (agent and not hold_agent(agent, kind=kind)):
                return None
            record = numbers.read_record(record_id)
            if (number := _number(campaign, record, holder, now, hours or read_hours(campaign))) is None:
                return None
            if numbers.is_called_elsewhere(number.number, record, now) or not trunk.may_call(now):
                return None
            target = _target(campaign, record_id, number)
            connection = call_with_agent(agent, target, now, kind=kind) if agent else call_number(target, now)
            if (locked := lock_held(record_id, holder, now)) is None:
                raise _NotHeldError
            _begin(locked, mode, number, connection, now=now, figures=figures or {})
            return connection
    except (_NotHeldError, Record.DoesNotExist):
        return None


def _number(
    campaign: Campaign, record: Record, holder: str, now: datetime, hours: Hours
) -> numbers.CallableNumber | None:
    """Return the number to call. Without one, hold the record and release its reservation."""
    found = numbers.numbers_of(campaign, record, now, now + RELISTED)
    changed: dict[str, Any] = numbers.stale_zone(record, found[0].zone if found else record.zone)
    number = numbers.next_number(campaign, record, found, hours, now)
    if isinstance(number, datetime):
        changed |= {"held_until": number, "leased_by": "", "leased_until": None}
    if changed:
        Record.objects.filter(pk=record.pk, leased_by=holder).update(**changed)
    return None if isinstance(number, datetime) else number


def _target(campaign: Campaign, record_id: int, number: numbers.CallableNumber) -> Target:
    return Target(
        campaign_id=campaign.pk,
        campaign_code=campaign.code,
        record_id=record_id,
        phone_number=number.phone_number,
        number=number.number,
        caller_id=campaign.caller_id,
        wrap_up_seconds=campaign.wrap_up_seconds,
    )


def _begin(
    locked: Record,
    mode: str,
    number: numbers.CallableNumber,
    connection: Connection,
    *,
    now: datetime,
    figures: dict[str, Any],
) -> None:
    Attempt.objects.create(
        campaign=locked.campaign,
        campaign_code=locked.campaign.code,
        record_id=locked.pk,
        phone_number=number.phone_number,
        number=number.number,
        mode=mode,
        agent=connection.agent,
        connection_id=connection.pk,
        connection_uid=connection.uid,
        dialled_at=now,
        zone=number.zone,
        rule=number.rule,
        figures=figures,
        before={
            "status_id": locked.status_id,
            "system_status": locked.system_status,
            "next_call_at": _text(locked.next_call_at),
            "called_at": _text(locked.called_at),
        },
    )
    begin_call(locked, DIALLER, f"call:{connection.pk}", now)


def _text(instant: datetime | None) -> str | None:
    return instant.isoformat() if instant else None
