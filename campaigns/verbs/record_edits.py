"""Edits of records found by their numbers: any number of them in a constant number of statements."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import orjson
from django.db import connection, transaction

from callcentre.core.actor import Actor
from callcentre.core.changes import change_columns
from callcentre.core.errors import ErrorCode, Fault, besides
from callcentre.core.field_tables import assignments, columns, differences, named_rows, typed_columns
from callcentre.core.phone import PhoneError, calling_code, normalise
from campaigns import events
from campaigns.models.record import IS_LEASED
from campaigns.models.record_fields import PLAIN, RECORD_FIELDS, STORED, values_to_store
from campaigns.models.record_rows import FOUND_BY_CUSTOMER, taken_identifiers
from campaigns.models.rules import NO_STATUS, CampaignFacts, Draft, StatusFact, check, kept_zone, zone_of
from campaigns.verbs.new_records import read_additional
from telephony.models import Agent

_UNREAD = Draft()


@dataclass(slots=True)
class Edit:
    """An edit of the record with a number: its values by the model's names, then its faults.

    A given `record_id` names the record instead of the number; so the admin edits duplicates too.
    """

    phone_number: str
    values: dict[str, Any]
    is_search_in_additional: bool = False
    faults: list[Fault] = field(default_factory=list)
    number: str = ""
    additional: list[tuple[str, str]] = field(default_factory=list)
    record_id: int | None = None
    # The record's own spelling of the number, and its normal form.
    stored_number: str = ""
    own_number: str = ""
    before: Draft = _UNREAD
    after: Draft = _UNREAD
    # [old, new] if the additional numbers change.
    additional_change: list[list[str]] | None = None

    @property
    def is_change(self) -> bool:
        return self.after != self.before or bool(self.additional_change)


_FIND_DUPLICATED = """
SELECT DISTINCT number FROM campaigns_record WHERE campaign_id = %s AND NOT is_primary AND number = ANY(%s)
"""
_FIND_ADDITIONAL = f"""
SELECT number, record_id FROM campaigns_additionalnumber WHERE campaign_id = %(campaign)s AND number = ANY(%(numbers)s)
UNION ALL
{FOUND_BY_CUSTOMER} AND x.number = ANY(%(numbers)s) AND c.id = %(campaign)s
"""  # noqa: S608  (a text of ours)
# In the order of ids, so that two batches with common records cannot deadlock.
LOCK = f"""
SELECT r.id, r.number, r.is_primary, r.phone_number, COALESCE(a.login, '') AS agent_login,
       {IS_LEASED} AS is_leased, {columns(STORED, "r")}
FROM campaigns_record r LEFT JOIN telephony_agent a ON a.id = r.agent_id
WHERE r.campaign_id = %(campaign)s AND ((r.is_primary AND r.number = ANY(%(numbers)s)) OR r.id = ANY(%(ids)s))
ORDER BY r.id FOR NO KEY UPDATE OF r
"""  # noqa: S608  (composed of our own table)
# Rows are sent as one JSON text: PostgreSQL reads it several times faster than a driver writes arrays. Unchanged fields
# are not sent.
CHANGES = f"""
given AS MATERIALIZED (
  SELECT * FROM json_to_recordset(%(rows)s::json)
    AS g(id bigint, phone_number text, agent_login text, changes jsonb, is_status_changed boolean, from_status text,
         to_status text, from_system_status text, {typed_columns(STORED)})
), edited AS (
  UPDATE campaigns_record r SET held_until = NULL, fields = COALESCE(v.fields, r.fields),
         {assignments((field for field in STORED if field.name != "fields"), "v")}
  FROM given v WHERE r.id = v.id
), history AS (
  INSERT INTO campaigns_recordchange (record_id, actor_kind, actor_id, actor_name, actor_address, action, changes,
                                      from_status, to_status, from_system_status, to_system_status)
  SELECT id, %(actor_kind)s, %(actor_id)s, %(actor_name)s, %(actor_address)s::inet, %(change_action)s, changes,
         from_status, to_status, from_system_status, system_status
  FROM given
)"""  # noqa: S608  (composed of our own table)
_CHANGED_STATUSES = """
SELECT g.*, %(campaign_code)s AS campaign_code, g.id AS position FROM given g WHERE is_status_changed
"""
_DELETE_ADDITIONAL = """
WITH gone AS (DELETE FROM campaigns_additionalnumber WHERE record_id = ANY(%s) RETURNING id, record_id, phone_number)
SELECT record_id, phone_number FROM gone ORDER BY id
"""
_INSERT_ADDITIONAL = """
INSERT INTO campaigns_additionalnumber (record_id, campaign_id, phone_number, number)
SELECT v.record_id, %s, v.phone_number, v.number
FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS v(record_id, phone_number, number)
"""


def edit_records(campaign: CampaignFacts, actor: Actor, edits: Sequence[Edit], *, action: str = "edit") -> None:
    """Apply the edits without faults in one transaction; the others have `faults` afterwards.

    Each edit is independent of the others. A second edit of the same record is refused, even if the first was refused.
    `action` names the changes in the history.
    """
    agents = Agent.objects.ids_by_login(edit.values["agent_login"] for edit in edits if edit.values.get("agent_login"))
    for edit in edits:
        if edit.record_id is None:
            try:
                edit.number = normalise(edit.phone_number)
            except PhoneError as error:
                edit.faults.append(error.fault("phone_number"))
        edit.additional = read_additional(edit.values, edit.number, edit.faults)
    with transaction.atomic(), connection.cursor() as cursor:
        _find(cursor, campaign, edits)
        taken: set[int] = set()
        for edit in edits:
            if edit.record_id is None:
                continue
            if edit.record_id in taken:
                edit.faults.append(Fault(ErrorCode.SAME_RECORD_TWICE, "phone_number"))
                continue
            taken.add(edit.record_id)
            edit.after, faults = check(edit.values, campaign, agents, edit.before, edit.own_number)
            edit.faults += besides(edit.faults, faults)
        _refuse_taken_identifiers(campaign, edits)
        made = [edit for edit in edits if edit.record_id is not None and not edit.faults]
        _replace_additional(cursor, campaign, made)
        if changed := [edit for edit in made if edit.is_change]:
            _write(cursor, campaign, actor, action, changed)


def _find(cursor: Any, campaign: CampaignFacts, edits: Sequence[Edit]) -> None:
    """Lock and read the record of each edit. An edit without a record, or of a busy one, gets a fault."""
    numbers = list({edit.number for edit in edits if edit.number})
    given = [edit.record_id for edit in edits if edit.record_id is not None]
    additional = _find_additional(cursor, campaign, edits)
    ids = {*given, *(record_id for several in additional.values() for record_id in several)}
    if not numbers and not ids:
        return
    cursor.execute(LOCK, {"campaign": campaign.id, "numbers": numbers, "ids": list(ids)})
    rows = {row["id"]: row for row in named_rows(cursor)}
    primary = {row["number"]: {row["id"]} for row in rows.values() if row["is_primary"]}
    duplicated = set()
    if numbers:
        cursor.execute(_FIND_DUPLICATED, [campaign.id, numbers])
        duplicated = {number for (number,) in cursor.fetchall()}
    for edit in edits:
        if edit.record_id is not None:
            # Additional numbers that are the record's own are dropped.
            row = rows.get(edit.record_id, {})
            edit.additional = [pair for pair in edit.additional if pair[1] != row.get("number")]
            _take(edit, {edit.record_id} & rows.keys(), rows, campaign, "")
        elif edit.number:
            found = primary.get(edit.number, set())
            if not found and edit.is_search_in_additional:
                found = additional.get(edit.number, set()) & rows.keys()
            if edit.number in duplicated or len(found) > 1:
                edit.faults.append(Fault(ErrorCode.NUMBER_AMBIGUOUS, "phone_number"))
            else:
                _take(edit, found, rows, campaign, "phone_number")


def _find_additional(cursor: Any, campaign: CampaignFacts, edits: Sequence[Edit]) -> dict[str, set[int]]:
    """Return number -> records with this additional number, for edits that search in additional numbers."""
    searched = [edit.number for edit in edits if edit.is_search_in_additional and edit.number]
    found: dict[str, set[int]] = defaultdict(set)
    if searched:
        cursor.execute(_FIND_ADDITIONAL, {"campaign": campaign.id, "numbers": searched})
        for number, record_id in cursor.fetchall():
            found[number].add(record_id)
    return found


def _take(edit: Edit, found: set[int], rows: Mapping[int, Any], campaign: CampaignFacts, field: str) -> None:
    """Read the found record, at most one, into the edit."""
    row = rows[next(iter(found))] if found else None
    if row is None or row["is_leased"]:
        edit.record_id = None
        edit.faults.append(Fault(ErrorCode.RECORD_BUSY if row else ErrorCode.RECORD_NOT_FOUND, field))
    else:
        edit.record_id, edit.stored_number, edit.own_number = row["id"], row["phone_number"], row["number"]
        edit.before = _draft(row, campaign)


def _draft(row: Mapping[str, Any], campaign: CampaignFacts) -> Draft:
    status_id, system_status = row["status_id"], row["system_status"]
    known = campaign.statuses.get(status_id, NO_STATUS)
    status = known if known.system_status == system_status else StatusFact(status_id, known.name, system_status, None)
    fields, number = orjson.loads(row["fields"]), row["number"]
    # Not the zone of the row, which an edit mends if it is out of date.
    zone = kept_zone(campaign, row["zone"]) or zone_of(campaign.zone_key, fields, number)
    plain = {name: row[name] for name in PLAIN}
    return Draft(
        status, row["agent_id"], row["agent_login"], fields, zone=zone, calling_code=calling_code(number), **plain
    )


def _refuse_taken_identifiers(campaign: CampaignFacts, edits: Sequence[Edit]) -> None:
    changed = [edit for edit in edits if edit.after.identifier and edit.after.identifier != edit.before.identifier]
    taken = taken_identifiers(campaign.id, [edit.after.identifier for edit in changed])
    for edit in changed:
        if edit.after.identifier in taken:
            edit.faults.append(Fault(ErrorCode.IDENTIFIER_TAKEN, "identifier"))
        # A refused edit does not take the identifier.
        if not edit.faults:
            taken.add(edit.after.identifier)


def _write(cursor: Any, campaign: CampaignFacts, actor: Actor, action: str, edits: Sequence[Edit]) -> None:
    """Change the records, and write their history and the events of new statuses, in one statement."""
    rows = [_row(edit) for edit in edits]
    # In the order of ids, neighbours stand in the same pages.
    rows.sort(key=itemgetter("id"))
    values = {
        "rows": orjson.dumps(rows).decode(),
        "campaign_code": campaign.code,
        "change_action": action,
        **change_columns(actor),
    }
    if any(row["is_status_changed"] for row in rows):
        events.statuses_changed_by(CHANGES, _CHANGED_STATUSES, values)
    else:
        cursor.execute(f"WITH {CHANGES} SELECT", values)


def _row(edit: Edit) -> dict[str, Any]:
    before, after = edit.before, edit.after
    return {
        "id": edit.record_id,
        "phone_number": edit.stored_number,
        "agent_login": after.agent_login,
        **values_to_store(after),
        "fields": after.fields if after.fields is not before.fields else None,
        "changes": differences(RECORD_FIELDS, before, after)
        | ({"additional_numbers": edit.additional_change} if edit.additional_change else {}),
        "is_status_changed": after.status != before.status,
        "from_status": before.status.name,
        "to_status": after.status.name,
        "from_system_status": before.status.system_status,
    }


def _replace_additional(cursor: Any, campaign: CampaignFacts, edits: Sequence[Edit]) -> None:
    replaced = [edit for edit in edits if "additional_numbers" in edit.values]
    if not replaced:
        return
    ids = [edit.record_id for edit in replaced]
    rows = [(edit.record_id, *pair) for edit in replaced for pair in edit.additional]
    cursor.execute(_DELETE_ADDITIONAL, [ids])
    before = defaultdict(list)
    for record_id, phone_number in cursor.fetchall():
        before[record_id].append(phone_number)
    for edit in replaced:
        old, new = before[edit.record_id], [phone_number for phone_number, _ in edit.additional]
        edit.additional_change = [old, new] if old != new else None
    cursor.execute(_INSERT_ADDITIONAL, [campaign.id, *([row[position] for row in rows] for position in range(3))])
