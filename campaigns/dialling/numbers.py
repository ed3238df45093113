"""The numbers of a record, and the one that the next attempt calls.

Numbers are called in turn. A number is passed over while it is marked wrong, on a do-not-call list, outside its hours,
or in the pause after a call of it for another record. A record whose numbers are all passed over is held until one of
them may be called.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import F, Func, TextField, Value

from callcentre.core.field_tables import named_rows
from callcentre.core.phone import calling_code
from callcentre.core.statements import row_of
from campaigns.dialling.choice import FOR_GOOD, LISTED_UNTIL, PAUSED_UNTIL
from campaigns.dialling.hours import Hours, closure, next_opening, permission
from campaigns.models import Attempt, Campaign, Record
from campaigns.models.record_rows import CUSTOMER_ZONE
from campaigns.models.rules import zone_of

# After these outcomes a campaign that turns by outcome calls the next number.
_TURNING = frozenset((Attempt.Outcome.NO_ANSWER, Attempt.Outcome.MACHINE, Attempt.Outcome.FAILED))
# A record outside its hours is looked at again after this, in case the hours have changed.
RECHECK = timedelta(hours=1)

# The space of our advisory locks; no other lock uses the number.
_NUMBER_LOCK = 0x6E756D62
_IS_PAUSED = f"SELECT {PAUSED_UNTIL.format(number='%(number)s', record='%(record)s')} IS NOT NULL"
_NUMBERS = f"""
SELECT n.phone_number, n.number, n.is_wrong,
  CASE WHEN %(is_crm)s THEN {CUSTOMER_ZONE.format(number="n.own")} END AS zone,
  {LISTED_UNTIL.format(number="n.number")} AS listed_until,
  {PAUSED_UNTIL.format(number="n.number", record="n.record_id")} AS paused_until
FROM (
  SELECT 0 AS place, r.id AS record_id, r.phone_number, r.number, r.is_number_wrong AS is_wrong, r.number AS own
  FROM campaigns_record r WHERE r.id = %(record)s
  UNION ALL
  SELECT a.id, a.record_id, a.phone_number, a.number, a.is_wrong, r.number
  FROM campaigns_additionalnumber a JOIN campaigns_record r ON r.id = a.record_id WHERE a.record_id = %(record)s
) AS n ORDER BY n.place
"""  # noqa: S608  (of our own constants)


@dataclass(frozen=True, slots=True)
class NumberFacts:
    """A number of a record: as it was sent, in its normal form, and what keeps it from being called."""

    phone_number: str
    number: str
    is_wrong: bool
    zone: str
    # FOR_GOOD: without an end.
    listed_until: datetime | None
    paused_until: datetime | None


@dataclass(frozen=True, slots=True)
class CallableNumber:
    """A number that may be called now, with the zone and the rules that allow it."""

    phone_number: str
    number: str
    zone: str
    rule: str


def numbers_of(campaign: Campaign, record: Record, now: datetime, relisted: datetime = FOR_GOOD) -> list[NumberFacts]:
    """Return the numbers of the record, its own first, then the additional ones; in one statement.

    Numbers are listed until `relisted` at the latest.
    """
    values: dict[str, Any] = {
        "record": record.pk,
        "campaign": campaign.pk,
        "now": now,
        "for_good": FOR_GOOD,
        "relisted": relisted,
        "pause": settings.DIAL_PAUSE,
        "is_crm": campaign.is_crm,
    }
    with connection.cursor() as cursor:
        cursor.execute(_NUMBERS, values)
        rows = named_rows(cursor)
    key = str(campaign.zone_field_id or "")
    zones = [row.pop("zone") or zone_of(key, record.fields, row["number"]) for row in rows]
    return [NumberFacts(zone=zone, **row) for zone, row in zip(zones, rows, strict=True)]


def next_number(
    campaign: Campaign, record: Record, numbers: Sequence[NumberFacts], hours: Hours, now: datetime
) -> CallableNumber | datetime:
    """Return the number to call now, or the time until which the record has none."""
    untils = []
    for facts in in_turn(campaign, record.pk, numbers):
        if (until := blocked_until(facts, hours, now)) is None:
            rule = permission(hours, facts.zone, facts.number, now)
            return CallableNumber(facts.phone_number, facts.number, facts.zone, rule)
        untils.append(until)
    return min(untils, default=FOR_GOOD)


def read_record(record_id: int) -> Record:
    """Read a record. Others who want to call its number wait until the transaction ends: see `is_called_elsewhere`."""
    key = Func(F("number"), function="hashtext")
    lock = Func(Value(_NUMBER_LOCK), key, function="pg_advisory_xact_lock", output_field=TextField())
    return Record.objects.annotate(number_lock=lock).get(pk=record_id)


def is_called_elsewhere(number: str, record: Record, now: datetime) -> bool:
    """Return whether an additional number was called for another record at the same moment.

    Two transactions never call one number at once. The lock of the record's own number is acquired before its attempts
    are read; that of an additional number, which is not known before, only afterwards. So they are read again. To wait
    for it could be a deadlock: the other transaction may want to call the number of this record.
    """
    if number == record.number:
        return False
    values: dict[str, Any] = {"number": number, "record": record.pk, "now": now, "pause": settings.DIAL_PAUSE}
    if row_of("SELECT pg_try_advisory_xact_lock(%s, hashtext(%s))", [_NUMBER_LOCK, number]) == (False,):
        return True
    return bool(row_of(_IS_PAUSED, values)[0])


def in_turn(campaign: Campaign, record_id: int, numbers: Sequence[NumberFacts]) -> Sequence[NumberFacts]:
    """Return the numbers that are not marked wrong, beginning with the one whose turn it is."""
    found = [facts for facts in numbers if not facts.is_wrong]
    if len(found) < 2:
        return found
    made = Attempt.objects.filter(record_id=record_id).exclude(outcome=Attempt.Outcome.NOT_DIALLED)
    last = made.order_by("-dialled_at", "-id").values_list("number", "outcome").first()
    if last is None:
        return found
    number, outcome = last
    position = next((place for place, facts in enumerate(found) if facts.number == number), -1)
    by_outcome = campaign.number_turn == Campaign.NumberTurn.BY_OUTCOME
    first = position if by_outcome and outcome not in _TURNING and position >= 0 else position + 1
    first %= len(found)
    return [*found[first:], *found[:first]]


def blocked_until(facts: NumberFacts, hours: Hours, now: datetime) -> datetime | None:
    """Return the time until which the number may not be called, or None if it may be called now."""
    untils = [until for until in (facts.listed_until, facts.paused_until) if until]
    if reason := closure(hours, facts.zone, facts.number, now):
        is_for_good = reason.code == "zone_unreadable"
        opening = FOR_GOOD if is_for_good else next_opening(hours, facts.zone, facts.number, now)
        untils.append(FOR_GOOD if is_for_good else min(opening or FOR_GOOD, now + RECHECK))
    return max(untils, default=None)


def stale_zone(record: Record, zone: str) -> dict[str, str]:
    """Return the columns of the record's zone that are out of date, with their values."""
    columns = {"zone": zone, "calling_code": calling_code(record.number)}
    return {name: value for name, value in columns.items() if getattr(record, name) != value}
