"""Entries of the do-not-call list: any number of them in a constant number of statements."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.phone import PhoneError, normalise, normalise_prefix
from callcentre.core.statements import Statement, rows_of
from campaigns.models import Campaign, DoNotCall, Record
from campaigns.models.record_rows import IDS_WITH_NUMBERS

# An entry that exists is extended: it holds from the earlier beginning to the later end. {rows}: the given entries.
ADD = """
INSERT INTO campaigns_donotcall AS d (phone_number, number, is_prefix, campaign_id, reason, since, until)
SELECT (array_agg(phone_number ORDER BY place))[1], number, is_prefix, campaign_id,
  COALESCE((array_agg(reason ORDER BY place DESC) FILTER (WHERE reason <> ''))[1], ''),
  min(since), CASE WHEN bool_or(until IS NULL) THEN NULL ELSE max(until) END
FROM ({rows}) AS given
GROUP BY number, is_prefix, campaign_id ORDER BY number, is_prefix, campaign_id
ON CONFLICT (number, is_prefix, campaign_id) DO UPDATE SET
  reason = CASE WHEN EXCLUDED.reason <> '' THEN EXCLUDED.reason ELSE d.reason END,
  since = LEAST(d.since, EXCLUDED.since),
  until = CASE WHEN d.until IS NULL OR EXCLUDED.until IS NULL THEN NULL ELSE GREATEST(d.until, EXCLUDED.until) END
"""
_GIVEN = """
SELECT * FROM json_to_recordset(%s::json) AS g(place integer, phone_number text, number text, is_prefix boolean,
  campaign_id bigint, reason text, since timestamptz, until timestamptz)
"""
_ADD_GIVEN = f"{ADD.format(rows=_GIVEN)} RETURNING id, number, is_prefix, campaign_id"
_HELD_WITH_NUMBER = Statement("""
SELECT id FROM campaigns_record WHERE held_until IS NOT NULL AND id IN ({ids_with_numbers})
""").of(ids_with_numbers=IDS_WITH_NUMBERS)
# Held records are few among all, and have an index.
_HELD_WITH_PREFIX = """
SELECT r.id FROM campaigns_record r
WHERE r.held_until IS NOT NULL AND r.campaign_id = ANY(%(campaigns)s) AND (r.number LIKE %(pattern)s OR EXISTS (
  SELECT FROM campaigns_additionalnumber n WHERE n.record_id = r.id AND n.number LIKE %(pattern)s))
"""
# {table}: number, is_prefix and message of the removed entries. Records are locked in the order of ids, as by edits.
_FREE_REMOVED = """
WITH held AS MATERIALIZED (SELECT id, number FROM campaigns_record WHERE held_until IS NOT NULL),
numbers AS (
  SELECT id, number FROM held
  UNION ALL
  SELECT n.record_id, n.number FROM campaigns_additionalnumber n JOIN held ON held.id = n.record_id
), freed AS (
  SELECT numbers.id FROM numbers JOIN {table} e ON e.number = numbers.number WHERE e.message IS NULL
  UNION
  SELECT numbers.id FROM numbers JOIN {table} e ON e.is_prefix AND numbers.number LIKE e.number || '%'
  WHERE e.message IS NULL
), locked AS (
  SELECT r.id FROM campaigns_record r JOIN freed USING (id) ORDER BY r.id FOR NO KEY UPDATE OF r
)
UPDATE campaigns_record r SET held_until = NULL FROM locked WHERE r.id = locked.id
"""


@dataclass(slots=True)
class NewEntry:
    """An entry to add: its values by the model's names, then its id or its faults.

    `values` have `number` or `prefix` as text, and may have `campaign_code`, `reason`, `since` and `until`.
    """

    values: dict[str, Any]
    faults: list[Fault] = field(default_factory=list)
    number: str = ""
    is_prefix: bool = False
    campaign_id: int | None = None
    id: int | None = None

    @property
    def phone_number(self) -> str:
        return str(self.values.get("prefix" if self.is_prefix else "number") or "")


def add_entries(actor: Actor, entries: Sequence[NewEntry]) -> None:
    """Add the entries without faults; each has its `id` or its `faults` afterwards."""
    now = timezone.now()
    codes = {entry.values["campaign_code"] for entry in entries if entry.values.get("campaign_code")}
    campaigns = dict(Campaign.objects.filter(code__in=codes).order_by().values_list("code", "pk")) if codes else {}
    for entry in entries:
        check_entry(entry, campaigns, now)
    rows = [
        {
            "place": place,
            "phone_number": entry.phone_number,
            "number": entry.number,
            "is_prefix": entry.is_prefix,
            "campaign_id": entry.campaign_id,
            "reason": entry.values.get("reason") or "",
            "since": entry.values.get("since") or now,
            "until": entry.values.get("until"),
        }
        for place, entry in enumerate(entries)
        if not entry.faults
    ]
    if not rows:
        return
    ids = {tuple(key): pk for pk, *key in rows_of(_ADD_GIVEN, [orjson.dumps(rows).decode()])}
    for entry in entries:
        if not entry.faults:
            entry.id = ids[entry.number, entry.is_prefix, entry.campaign_id]


def check_entry(entry: NewEntry, campaigns: dict[str, int], now: datetime, region: str | None = None) -> None:
    """Read the number of an entry and add the faults of its rules. `campaigns`: code -> id.

    A national number is read as one of the region, DEFAULT_REGION if None.
    """
    values, faults = entry.values, entry.faults
    unread = {fault.field for fault in faults}
    number, prefix = values.get("number") or "", values.get("prefix") or ""
    entry.is_prefix = bool(prefix)
    if number and prefix:
        faults.append(Fault(ErrorCode.NUMBER_OR_PREFIX, "prefix"))
    elif prefix:
        entry.number = normalise_prefix(prefix) or ""
        if not entry.number:
            faults.append(Fault(ErrorCode.PREFIX_INVALID, "prefix"))
    elif number:
        try:
            entry.number = normalise(number, region)
        except PhoneError as error:
            faults.append(error.fault("number"))
    elif not unread & {"number", "prefix"}:
        faults.append(Fault(ErrorCode.EMPTY, "number"))
    if code := values.get("campaign_code"):
        entry.campaign_id = campaigns.get(code)
        if entry.campaign_id is None:
            faults.append(Fault(ErrorCode.CAMPAIGN_NOT_FOUND, "campaign_code"))
    since, until = values.get("since") or now, values.get("until")
    if until and until <= since and not unread & {"since", "until"}:
        faults.append(Fault(ErrorCode.UNTIL_BEFORE_SINCE, "until"))


def remove_entry(entry: DoNotCall, actor: Actor) -> None:
    """Delete the entry. Records that were passed over because of it may be chosen again at once."""
    with transaction.atomic():
        entry.delete()
        campaigns = Campaign.objects.order_by().values_list("pk", flat=True)
        values: dict[str, Any] = {"campaigns": [entry.campaign_id] if entry.campaign_id else list(campaigns)}
        if entry.is_prefix:
            held = rows_of(_HELD_WITH_PREFIX, values | {"pattern": f"{entry.number}%"})
        else:
            held = rows_of(_HELD_WITH_NUMBER, values | {"numbers": [entry.number]})
        # In the order of ids, as edits lock records.
        locked = Record.objects.filter(pk__in=[pk for (pk,) in held]).order_by("id").select_for_update(no_key=True)
        Record.objects.filter(pk__in=list(locked.values_list("pk", flat=True))).update(held_until=None)


def free_removed(cursor: Any, table: str) -> None:
    """Release the held records that have a number in the table of removed entries, in one statement.

    A record that another entry still lists is judged again, and held again.
    """
    cursor.execute(_FREE_REMOVED.format(table=table))
