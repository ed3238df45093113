"""Recycling: the records of a campaign that had certain statuses or outcomes are called again in a new campaign.

The request counts the records and clones the campaign; an import without a file copies them afterwards. In one
transaction, the feed of events would stop at the event of the clone until all records are copied.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import IntegrityError, transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.changes import change_columns
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import ErrorCode, Fault, Invalid, numbered
from callcentre.core.field_tables import columns
from callcentre.core.request_id import current_request_id
from callcentre.core.statements import rows_of
from campaigns.models import Campaign, RecordImport
from campaigns.models.record import IS_LEASED
from campaigns.models.record_fields import STORED
from campaigns.models.rules import CampaignFacts
from campaigns.verbs.campaigns import clone_campaign

# The chosen records with the outcome of their last call, NULL without one. Records in a call or reserved are left out.
_CHOSEN = f"""
SELECT r.*, last.outcome FROM campaigns_record r
LEFT JOIN LATERAL (
  SELECT t.outcome FROM campaigns_attempt t WHERE t.record_id = r.id AND t.outcome NOT IN ('', 'not_dialled')
  ORDER BY t.dialled_at DESC, t.id DESC LIMIT 1
) AS last ON true
WHERE r.campaign_id = %(source)s AND NOT {IS_LEASED}
  AND (%(statuses)s::bigint[] IS NULL OR r.status_id = ANY(%(statuses)s))
  AND (%(outcomes)s::text[] IS NULL OR last.outcome = ANY(%(outcomes)s))
"""  # noqa: S608  (of our own constants)
# A record of the new campaign that is added during the copying may have a copy's number or identifier. The next try
# sees it.
_MOST_TRIES = 5
_COUNT = f"SELECT status_id, outcome, count(*) FROM ({_CHOSEN}) AS chosen GROUP BY status_id, outcome"  # noqa: S608

# Column of a new record -> its value, where it is not the value of the old one.
_FRESH = {
    "status_id": "%(status)s",
    "system_status": "'TO_CALL'",
    "next_call_at": "NULL",
    "fields": """COALESCE((
    SELECT jsonb_object_agg(names.new, value.value) FROM jsonb_each(old.fields) AS value(key, value)
    JOIN jsonb_each_text(%(fields)s::jsonb) AS names(old, new) ON names.old = value.key
  ), '{{}}')""",
}
_VALUES = ", ".join(_FRESH.get(field.name, f'old."{field.name}"') for field in STORED)
# A mark of a wrong number, and the guarantee of an agent after a drop, stay with the number. The new campaign may have
# records by now: an identifier that one of them has is not copied, and of one number the record there stays primary.
_COPY = f"""
WITH old AS MATERIALIZED (
  SELECT nextval('campaigns_record_id_seq') AS new_id, chosen.*,
    row_number() OVER (PARTITION BY number ORDER BY id) = 1 AND NOT EXISTS (
      SELECT FROM campaigns_record own
      WHERE own.campaign_id = %(campaign)s AND own.number = chosen.number AND own.is_primary
    ) AS is_first
  FROM ({_CHOSEN} ORDER BY r.id) AS chosen
  WHERE chosen.identifier = '' OR NOT EXISTS (
    SELECT FROM campaigns_record own WHERE own.campaign_id = %(campaign)s AND own.identifier = chosen.identifier
  )
), added AS (
  INSERT INTO campaigns_record (id, campaign_id, phone_number, number, is_primary, leased_by, is_number_wrong,
                                one_to_one_until, {columns(STORED)})
  SELECT new_id, %(campaign)s, phone_number, number, is_first, '', is_number_wrong, one_to_one_until, {_VALUES} FROM old
), history AS (
  INSERT INTO campaigns_recordchange (record_id, actor_kind, actor_id, actor_name, actor_address, action, changes,
                                      from_status, to_status, from_system_status, to_system_status)
  SELECT new_id, %(actor_kind)s, %(actor_id)s, %(actor_name)s, %(actor_address)s::inet, 'recycle', '{{}}',
         '', %(status_name)s, '', 'TO_CALL'
  FROM old
), additional AS (
  INSERT INTO campaigns_additionalnumber (record_id, campaign_id, phone_number, number, is_wrong)
  SELECT old.new_id, %(campaign)s, a.phone_number, a.number, a.is_wrong
  FROM campaigns_additionalnumber a JOIN old ON old.id = a.record_id ORDER BY a.id
)
SELECT count(*) FROM old
""".replace("{{}}", "{}")  # noqa: S608  (composed of our own tables)


@dataclass(frozen=True, slots=True)
class Recycled:
    """The chosen records: their number by status and by the outcome of the last call, and the campaign that has them.

    The keys are None for records without a status or without a call. The campaign is None if only the count was asked
    for.
    """

    campaign: Campaign | None
    by_status: dict[int | None, int]
    by_outcome: dict[str | None, int]

    @property
    def records_count(self) -> int:
        return sum(self.by_status.values())


def recycle_campaign(
    source: Campaign,
    actor: Actor,
    faults: Sequence[Fault] = (),
    *,
    name: str = "",
    statuses: Sequence[int] = (),
    outcomes: Collection[str] = (),
    is_dry_run: bool = False,
) -> Recycled:
    """Clone the campaign, paused, and let a worker copy the chosen records into the clone; or only count them.

    A record is chosen by its status and by the outcome of its last call; with both, it must have both. The worker
    copies those that are chosen when it begins. A dry run writes nothing.

    Raises Invalid with the given and its own faults.
    """
    unread = {fault.field.partition(".")[0] for fault in faults}
    if not name and not is_dry_run and "name" not in unread:
        faults = [*faults, Fault(ErrorCode.EMPTY, "name")]
    if not statuses and not outcomes and not unread & {"statuses", "outcomes"}:
        faults = [*faults, Fault(ErrorCode.EMPTY, "statuses")]
    known = set(source.statuses.order_by().values_list("pk", flat=True)) if statuses else set()
    unknown = [position for position, status_id in numbered(statuses) if status_id not in known]
    faults = [*faults, *(Fault(ErrorCode.STATUS_NOT_FOUND, f"statuses.{position}") for position in unknown)]
    if faults:
        raise Invalid(faults)
    choice = {"source": source.pk, "statuses": list(statuses) or None, "outcomes": list(outcomes) or None}
    with transaction.atomic():
        by_status, by_outcome = _count(choice)
        if is_dry_run:
            return Recycled(None, by_status, by_outcome)
        if not by_status:
            raise Invalid([Fault(ErrorCode.NOTHING_TO_RECYCLE, "statuses" if statuses else "outcomes")])
        clone = clone_campaign(source, actor, name=name)
        _queue_copy(source, clone, actor, choice)
    return Recycled(clone, by_status, by_outcome)


def _count(choice: dict[str, Any]) -> tuple[dict[int | None, int], dict[str | None, int]]:
    by_status: Counter[int | None] = Counter()
    by_outcome: Counter[str | None] = Counter()
    for status_id, outcome, count in rows_of(_COUNT, choice):
        by_status[status_id] += count
        by_outcome[outcome] += count
    return by_status, by_outcome


def _queue_copy(source: Campaign, clone: Campaign, actor: Actor, choice: dict[str, Any]) -> None:
    queued = RecordImport.objects.create(
        campaign=clone,
        recycled=choice,
        file_name=f"{source.code} → {clone.code}",
        file_size=0,
        state=RecordImport.State.QUEUED,
        next_attempt_at=timezone.now(),
        request_id=current_request_id(),
        **change_columns(actor),
    )
    enqueue("campaigns.import_records", queued.pk)


def copy_records(given: RecordImport) -> int:
    """Copy the chosen records into the import's campaign, to be called. Return their number.

    The history of a copy begins anew, and so does the count of its attempts.
    """
    assert given.campaign
    choice = given.recycled or {}
    source = Campaign.objects.filter(pk=choice["source"]).first()
    before, after = CampaignFacts.read(source.code if source else ""), CampaignFacts.read(given.campaign.code)
    if before is None or after is None:  # deleted: campaigns with records are not
        return 0
    status = after.first_status
    names = {key: after.fields[name] for name, key in before.fields.items() if name in after.fields}
    copied = {
        "campaign": given.campaign.pk,
        "status": status.id,
        "status_name": status.name,
        "fields": orjson.dumps(names).decode(),
        **change_columns(given.actor),
    }
    for _ in range(_MOST_TRIES - 1):
        with suppress(IntegrityError), transaction.atomic():
            return _copy(choice | copied)
    return _copy(choice | copied)


def _copy(values: dict[str, Any]) -> int:
    return int(rows_of(_COPY, values)[0][0])
