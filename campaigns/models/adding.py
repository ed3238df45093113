"""Adding records: any number of them in a constant number of statements."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.db import connection, transaction

from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode, Fault, besides, numbered
from callcentre.core.field_tables import columns, typed_columns
from callcentre.core.phone import PhoneError, normalise
from callcentre.models import actor_columns
from campaigns import events
from campaigns.models.record_fields import STORED, values_to_store
from campaigns.models.rules import CampaignFacts, Draft, check
from telephony.models import Agent


@dataclass(slots=True)
class NewRecord:
    """A record to be added: what was sent, by the model's names, then what came of it."""

    values: dict[str, Any]
    faults: list[Fault] = field(default_factory=list)
    number: str = ""
    draft: Draft = field(default_factory=Draft)
    additional: list[tuple[str, str]] = field(default_factory=list)
    id: int | None = None
    # The record that has the number already.
    existing_id: int | None = None


# One statement for record, further numbers and history: nothing is half-written, and a number that another request
# adds at the same moment is waited for on the unique index, without a lock on anything else.
# Ids are given in the order of the records, rows are written in the order of numbers: two batches that share numbers
# wait for each other and never for ever.
INSERT = f"""
WITH given AS MATERIALIZED (
  SELECT nextval('campaigns_record_id_seq') AS id, g.* FROM json_to_recordset(%(records)s::json)
    AS g(phone_number text, number text, status_name text, {typed_columns(STORED)})
), added AS (
  INSERT INTO campaigns_record (id, campaign_id, phone_number, number, is_primary, leased_by, {columns(STORED)})
  SELECT id, %(campaign)s, phone_number, number, true, '', {columns(STORED)}
  FROM given ORDER BY number
  ON CONFLICT DO NOTHING
  RETURNING id, number
), history AS (
  INSERT INTO campaigns_recordchange (record_id, actor_kind, actor_id, actor_name, action, changes, from_status,
                                      to_status, from_system_status, to_system_status)
  SELECT added.id, %(actor_kind)s, %(actor_id)s, %(actor_name)s, 'create', '{{}}', '', given.status_name, '',
         given.system_status
  FROM added JOIN given USING (number)
), additional AS (
  INSERT INTO campaigns_additionalnumber (record_id, campaign_id, phone_number, number)
  SELECT added.id, %(campaign)s, a.phone_number, a.number
  FROM json_to_recordset(%(additional)s::json) AS a(of_number text, phone_number text, number text)
  JOIN added ON added.number = a.of_number
)
SELECT number, id FROM added
"""  # noqa: S608  (composed of our own table)


def add_many(actor: Actor, campaign: CampaignFacts, records: Sequence[NewRecord]) -> None:
    """Add the records without faults; each record has its `id` or its `faults` afterwards.

    A record that is refused reserves neither its number nor its identifier. Every fault of a record is found at once,
    taken numbers and identifiers included.
    """
    agents = Agent.objects.ids_by_login(
        record.values["agent_login"] for record in records if record.values.get("agent_login")
    )
    start = Draft(status=campaign.first_status)
    for record in records:
        _read_numbers(record)
        record.draft, faults = check(record.values, campaign, agents, start)
        record.faults += besides(record.faults, faults)
    faulty = [record for record in records if record.faults]
    faultless = [record for record in records if not record.faults]
    if _has_repeats(faultless):
        # Before the repeats: a record whose number or identifier is taken stands in no other's way.
        _find_taken(campaign, faultless)
    twins = _refuse_repeats(record for record in faultless if not record.faults)
    chosen = [record for record in faultless if not record.faults]
    with transaction.atomic():
        ids = _insert(actor, campaign, chosen) if chosen else {}
        for record in chosen:
            record.id = ids.get(record.number)
        events.records_created(_facts(campaign, record) for record in chosen if record.id is not None)
    late = [record for record in chosen if record.id is None]
    if unjudged := [*faulty, *late]:
        _find_taken(campaign, unjudged)
    for record in late:
        if not record.faults:  # the record that was in the way has gone since
            record.faults.append(Fault(ErrorCode.CONFLICT))
    for repeat, first in twins:
        repeat.existing_id = first.id or first.existing_id
        if repeat.existing_id is None:  # the first was not added after all: the number is free
            others = [fault for fault in repeat.faults if fault.code != ErrorCode.NUMBER_DUPLICATED]
            repeat.faults = [Fault(ErrorCode.CONFLICT), *others]


def _facts(campaign: CampaignFacts, record: NewRecord) -> events.RecordFacts:
    assert record.id is not None
    draft = record.draft
    return events.RecordFacts(
        record.id,
        campaign.code,
        record.values["phone_number"],
        draft.status.system_status,
        draft.status.id,
        draft.next_call_at,
        draft.agent_login,
    )


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
    """(as sent, normal form) of the additional numbers, without repetitions and the record's own number."""
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
    """Refuse each record with a number or an identifier of an earlier one that is added.

    Return the pairs with one number: the repeat, and the earlier record.
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
        **actor_columns(actor),
    }
    with connection.cursor() as cursor:
        cursor.execute(INSERT, values)
        return dict(cursor.fetchall())


def _find_taken(campaign: CampaignFacts, records: Sequence[NewRecord]) -> None:
    """Add to each record the faults of a taken number and identifier, and the id of the record that has the number."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT number, id FROM campaigns_record WHERE campaign_id = %s AND is_primary AND number = ANY(%s)",
            [campaign.id, [record.number for record in records if record.number]],
        )
        numbers = dict(cursor.fetchall())
        cursor.execute(
            "SELECT identifier FROM campaigns_record"
            " WHERE campaign_id = %s AND identifier <> '' AND identifier = ANY(%s)",
            [campaign.id, [record.draft.identifier for record in records if record.draft.identifier]],
        )
        identifiers = {identifier for (identifier,) in cursor.fetchall()}
    for record in records:
        codes = {fault.code for fault in record.faults}
        record.existing_id = numbers.get(record.number)
        if record.existing_id and ErrorCode.NUMBER_DUPLICATED not in codes:
            record.faults.append(Fault(ErrorCode.NUMBER_DUPLICATED, "phone_number"))
        if record.draft.identifier in identifiers and ErrorCode.IDENTIFIER_TAKEN not in codes:
            record.faults.append(Fault(ErrorCode.IDENTIFIER_TAKEN, "identifier"))
