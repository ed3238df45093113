"""The changes that a call makes to its record: reserved, in progress, settled. The record is locked.

A reservation is a lease with an end. The dial turns it into a hold without an end: the call holds the record until the
call is settled, so no lease runs out during a call.
"""

from datetime import datetime
from typing import Any

from callcentre.core.actor import Actor
from callcentre.core.changes import change_columns, differences
from campaigns import events
from campaigns.models import Record, RecordStatus, SystemStatus

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
    record.status, record.system_status = status, system_status
    for name, value in values.items():
        setattr(record, name, value)
    record.save(update_fields=["status", "system_status", *values])
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
