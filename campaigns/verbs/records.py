"""The hold of a call on a record, the removal of a record, and the zones of the records of a campaign."""

from datetime import datetime
from typing import Any

from django.db import transaction

from callcentre.core import audit
from callcentre.core.actor import Actor
from callcentre.core.changes import change_columns, differences, store
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.core.personal_data import is_held
from callcentre.core.phone import calling_code
from campaigns import events
from campaigns.models import Campaign, Record, RecordStatus, SystemStatus
from campaigns.models.rules import zone_of

BATCH = 1_000


def fill_zones(campaign: Campaign) -> int:
    """Write the zones of the campaign's records whose zones have changed, in batches. Return their number."""
    key, last, written = str(campaign.zone_field_id or ""), 0, 0
    following = Record.objects.filter(campaign=campaign).order_by("pk").only("number", "fields", "zone", "calling_code")
    while records := list(following.filter(pk__gt=last)[:BATCH]):
        last, changed = records[-1].pk, []
        for record in records:
            zone, code = zone_of(key, record.fields, record.number), calling_code(record.number)
            if (zone, code) != (record.zone, record.calling_code):
                record.zone, record.calling_code, record.held_until = zone, code, None
                changed.append(record)
        with transaction.atomic():
            # In the order of ids, as edits lock records.
            locked = Record.objects.filter(pk__in=[record.pk for record in changed]).order_by("pk")
            list(locked.select_for_update(no_key=True).values_list("pk"))
            Record.objects.bulk_update(changed, ["zone", "calling_code", "held_until"])
        written += len(changed)
    return written


def remove_record(record: Record, actor: Actor) -> None:
    """Delete the record; the oldest other one of its number becomes the primary. Raises Conflict in a live call, or
    on a legal hold.
    """
    with transaction.atomic():
        locked = Record.objects.select_for_update().get(pk=record.pk)
        if locked.is_leased:
            raise Conflict(ErrorCode.RECORD_BUSY)
        if is_held(Record, locked.pk):
            raise Conflict(ErrorCode.LEGAL_HOLD)
        gone = Record(pk=locked.pk)
        audit.record(actor, "delete", gone, changes=audit.counts_of(delete_record(locked)))


def delete_record(locked: Record) -> dict[str, int]:
    """Delete a locked record; the oldest other one of its number becomes the primary. Return the number of rows."""
    others = Record.objects.filter(campaign_id=locked.campaign_id, number=locked.number, is_primary=False)
    counts = locked.delete()[1]
    if locked.is_primary and (heir := others.select_for_update(no_key=True).order_by("id").first()):
        store(heir, is_primary=True)
    return counts


DIALLER = Actor("dialler", None, "dialler")


def lock_held(record_id: int, holder: str, now: datetime) -> Record | None:
    """Lock the record if this holder has it, else return None."""
    held = Record.objects.select_for_update(of=("self",), no_key=True).filter(pk=record_id, leased_by=holder)
    record = held.select_related("campaign", "status", "agent").first()
    return record if record and record.is_leased else None


def begin_call(record: Record, actor: Actor, holder: str, at: datetime) -> None:
    """Set the record IN_PROGRESS for a call, which holds it from now on."""
    status = status_for(record, SystemStatus.IN_PROGRESS)
    change(record, actor, "dial", status, SystemStatus.IN_PROGRESS, leased_by=holder, leased_until=None, called_at=at)


def end_call(
    record: Record, actor: Actor, action: str, status: RecordStatus | None, system_status: str, **values: Any
) -> None:
    """Take the record back from its call and give it these values, and a status of this system status or none."""
    change(record, actor, action, status, system_status, leased_by="", leased_until=None, **values)


def status_for(record: Record, system_status: str) -> RecordStatus | None:
    """Return the first status of the campaign with this system status, or None."""
    return RecordStatus.objects.filter(campaign_id=record.campaign_id, system_status=system_status).first()


# The columns that a history entry does not repeat.
_UNTOLD = ("leased_by", "leased_until", "called_at", "held_until", "one_to_one_until")


def change(
    record: Record, actor: Actor, action: str, status: RecordStatus | None, system_status: str, **values: Any
) -> None:
    """Write the status and the values, the entry of the history, and the event if the status changes."""
    before_name = record.status.name if record.status else ""
    before = (record.status_id, record.system_status)
    told = differences(record, {name: value for name, value in values.items() if name not in _UNTOLD})
    store(record, status=status, system_status=system_status, **values)
    record.history.create(
        action=action,
        changes=told,
        from_status=before_name,
        to_status=status.name if status else "",
        from_system_status=before[1],
        to_system_status=system_status,
        **change_columns(actor),
    )
    if before != (record.status_id, system_status):
        events.record_status_changed(record)
