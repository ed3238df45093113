"""New records: any number of them in a constant number of statements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from callcentre.core.actor import Actor
from callcentre.core.changes import change_columns
from callcentre.core.errors import ErrorCode, Fault, besides, numbered
from callcentre.core.field_tables import columns, typed_columns
from callcentre.core.phone import PhoneError, normalise
from callcentre.core.statements import Statement
from campaigns import events
from campaigns.models.record_fields import STORED, values_to_store
from campaigns.models.record_rows import ids_by_number, taken_identifiers, zones_of_customers
from campaigns.models.rules import CampaignFacts, Draft, check
from telephony.models import Agent


@dataclass(slots=True)
class NewRecord:
    """A record to add: its values by the model's names, then its id or its faults."""

    values: dict[str, Any]
    faults: list[Fault] = field(default_factory=list)
    number: str = ""
    draft: Draft = field(default_factory=Draft)
    additional: list[tuple[str, str]] = field(default_factory=list)
    id: int | None = None
    # The record that already has the number.
    existing_id: int | None = None


# One statement adds records, additional numbers, history and events; without a transaction around it, it is one. If
# another request adds the same number meanwhile, the unique index makes the statement wait; it locks nothing else. Ids
# are in the order of the records. Rows are written in the order of numbers, so that two batches with common numbers
# cannot deadlock.
INSERT = Statement("""
given AS MATERIALIZED (
  SELECT nextval('campaigns_record_id_seq') AS id, g.* FROM json_to_recordset(%(records)s::json)
    AS g(phone_number text, number text, status_name text, agent_login text, {typed_columns})
), added AS (
  INSERT INTO campaigns_record (id, campaign_id, phone_number, number, is_primary, leased_by, {columns})
  SELECT id, %(campaign)s, phone_number, number, true, '', {columns}
  FROM given ORDER BY number
  ON CONFLICT DO NOTHING
  RETURNING id, number
), history AS (
  INSERT INTO campaigns_recordchange (record_id, actor_kind, actor_id, actor_name, actor_address, action, changes,
                                      from_status, to_status, from_system_status, to_system_status)
  SELECT added.id, %(actor_kind)s, %(actor_id)s, %(actor_name)s, %(actor_address)s::inet, 'create', '{{}}',
         '', given.status_name, '', given.system_status
  FROM added JOIN given USING (number)
), additional AS (
  INSERT INTO campaigns_additionalnumber (record_id, campaign_id, phone_number, number)
  SELECT added.id, %(campaign)s, a.phone_number, a.number
  FROM json_to_recordset(%(additional)s::json) AS a(of_number text, phone_number text, number text)
  JOIN added ON added.number = a.of_number
)""").of(typed_columns=typed_columns(STORED), columns=columns(STORED))
_ADDED = """
SELECT given.*, %(campaign_code)s AS campaign_code, given.id AS position FROM given WHERE id IN (SELECT id FROM added)
"""
_IDS = "(SELECT json_object_agg(number, id)::text FROM added)"


def add_records(campaign: CampaignFacts, actor: Actor, records: Sequence[NewRecord]) -> None:
    """Add the records without faults; each record has its `id` or its `faults` afterwards.

    A refused record reserves neither its number nor its identifier. A record gets all its faults at once, also those
    of taken numbers and identifiers.
    """
    agents = Agent.objects.ids_by_login(
        record.values["agent_login"] for record in records if record.values.get("agent_login")
    )
    start = Draft(status=campaign.first_status)
    for record in records:
        _read_numbers(record)
        record.draft, faults = check(record.values, campaign, agents, start, record.number)
        record.faults += besides(record.faults, faults)
    if campaign.is_crm:
        _use_zones_of_customers(records)
    faulty = [record for record in records if record.faults]
    faultless = [record for record in records if not record.faults]
    if _has_repeats(faultless):
        # Before the repeats, because a record with a taken number or identifier blocks no other record.
        _find_taken(campaign, faultless)
    twins = _refuse_repeats(record for record in faultless if not record.faults)
    chosen = [record for record in faultless if not record.faults]
    ids = _insert(actor, campaign, chosen) if chosen else {}
    for record in chosen:
        record.id = ids.get(record.number)
    late = [record for record in chosen if record.id is None]
    if unjudged := [*faulty, *late]:
        _find_taken(campaign, unjudged)
    for record in late:
        if not record.faults:  # the conflicting record was removed meanwhile
            record.faults.append(Fault(ErrorCode.CONFLICT))
    for repeat, first in twins:
        repeat.existing_id = first.id or first.existing_id
        if repeat.existing_id is None:  # the first record was not added, so the number is free
            others = [fault for fault in repeat.faults if fault.code != ErrorCode.NUMBER_DUPLICATED]
            repeat.faults = [Fault(ErrorCode.CONFLICT), *others]


def _use_zones_of_customers(records: Sequence[NewRecord]) -> None:
    zones = zones_of_customers({record.number for record in records if not record.faults})
    for record in records:
        if zone := zones.get(record.number):
            record.draft = record.draft._replace(zone=zone)


def _read_numbers(record: NewRecord) -> None:
    try:
        if raw := record.values.get("phone_number"):
            record.number = normalise(raw)
    except PhoneError as error:
        record.faults.append(error.fault("phone_number"))
    record.additional = read_additional(record.values, record.number, record.faults)


def read_additional(
    values: Mapping[str, Any], number: str, faults: list[Fault], region: str | None = None
) -> list[tuple[str, str]]:
    """Return (as sent, normal form) of the additional numbers, without repetitions and the record's own number."""
    seen = {number}
    additional = []
    for position, raw in numbered(values.get("additional_numbers") or ()):
        try:
            further = normalise(raw, region)
        except PhoneError as error:
            faults.append(error.fault(f"additional_numbers.{position}"))
            continue
        if further not in seen:
            seen.add(further)
            additional.append((raw, further))
    return additional


def _has_repeats(records: Sequence[NewRecord]) -> bool:
    identifiers = [record.draft.identifier for record in records if record.draft.identifier]
    is_number_repeated = len({record.number for record in records}) < len(records)
    return is_number_repeated or len(set(identifiers)) < len(identifiers)


def _refuse_repeats(records: Iterable[NewRecord]) -> list[tuple[NewRecord, NewRecord]]:
    """Refuse each record with the number or the identifier of an earlier one that is added.

    Return the pairs with the same number: the repeat and the earlier record.
    """
    by_number: dict[str, NewRecord] = {}
    identifiers: set[str] = set()
    twins: list[tuple[NewRecord, NewRecord]] = []
    for record in records:
        if first := by_number.get(record.number):
            record.faults.append(Fault(ErrorCode.NUMBER_DUPLICATED, "phone_number"))
            twins.append((record, first))
        if (identifier := record.draft.identifier) in identifiers:
            record.faults.append(Fault(ErrorCode.IDENTIFIER_TAKEN, "identifier"))
        if not record.faults:
            by_number[record.number] = record
            if identifier:
                identifiers.add(identifier)
    return twins


def _insert(actor: Actor, campaign: CampaignFacts, records: Sequence[NewRecord]) -> dict[str, int]:
    rows = [
        {
            "phone_number": record.values["phone_number"],
            "number": record.number,
            "status_name": record.draft.status.name,
            "agent_login": record.draft.agent_login,
            **values_to_store(record.draft),
        }
        for record in records
    ]
    additional = [
        {"of_number": record.number, "phone_number": phone_number, "number": number}
        for record in records
        for phone_number, number in record.additional
    ]
    values = {
        "records": orjson.dumps(rows).decode(),
        "additional": orjson.dumps(additional).decode(),
        "campaign": campaign.id,
        "campaign_code": campaign.code,
        **change_columns(actor),
    }
    ids: dict[str, int] = orjson.loads(events.records_created_by(INSERT, _ADDED, values, result=_IDS) or "{}")
    return ids


def _find_taken(campaign: CampaignFacts, records: Sequence[NewRecord]) -> None:
    """Add to each record the faults of a taken number and identifier, and the id of the record that has the number."""
    numbers = ids_by_number(campaign.id, [record.number for record in records if record.number])
    identifiers = taken_identifiers(
        campaign.id, [record.draft.identifier for record in records if record.draft.identifier]
    )
    for record in records:
        codes = {fault.code for fault in record.faults}
        record.existing_id = numbers.get(record.number)
        if record.existing_id and ErrorCode.NUMBER_DUPLICATED not in codes:
            record.faults.append(Fault(ErrorCode.NUMBER_DUPLICATED, "phone_number"))
        if record.draft.identifier in identifiers and ErrorCode.IDENTIFIER_TAKEN not in codes:
            record.faults.append(Fault(ErrorCode.IDENTIFIER_TAKEN, "identifier"))
