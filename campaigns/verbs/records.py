"""Changes of one record by a call, and its removal."""

from datetime import datetime
from typing import Any

from django.db import transaction

from callcentre.core.actor import Actor
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.models import actor_columns
from campaigns import events
from campaigns.models import Record, RecordStatus, SystemStatus


def lease_record(record: Record, actor: Actor, call: str, until: datetime) -> None:
    """Give the record to a call. The record cannot be edited until the call or the lease ends. Raises Conflict."""
    with transaction.atomic():
        if Record.objects.select_for_update(no_key=True).get(pk=record.pk).is_leased:
            raise Conflict(ErrorCode.RECORD_BUSY)
        status = record.campaign.statuses.filter(system_status=SystemStatus.IN_PROGRESS).first()
        _set_status(record, actor, "lease", status, SystemStatus.IN_PROGRESS, leased_by=call, leased_until=until)


def release_record(record: Record, actor: Actor, status: RecordStatus, **values: Any) -> None:
    """Take the record back from its call, with the status and the other values of the call's result."""
    with transaction.atomic():
        Record.objects.select_for_update(no_key=True).get(pk=record.pk)
        _set_status(record, actor, "call", status, status.system_status, leased_by="", leased_until=None, **values)


def remove_record(record: Record, actor: Actor) -> None:
    """Delete the record; the oldest other one of its number becomes the primary. Raises Conflict in a live call."""
    with transaction.atomic():
        locked = Record.objects.select_for_update().get(pk=record.pk)
        if locked.is_leased:
            raise Conflict(ErrorCode.RECORD_BUSY)
        others = Record.objects.filter(campaign_id=locked.campaign_id, number=locked.number, is_primary=False)
        locked.delete()
        if locked.is_primary and (heir := others.select_for_update(no_key=True).order_by("id").first()):
            heir.is_primary = True
            heir.save(update_fields=["is_primary"])


def _set_status(
    record: Record, actor: Actor, action: str, status: RecordStatus | None, system_status: str, **values: Any
) -> None:
    before = Record.objects.select_related("status").get(pk=record.pk)
    record.status, record.system_status = status, system_status
    for name, value in values.items():
        setattr(record, name, value)
    record.save(update_fields=["status", "system_status", *values])
    record.history.create(
        action=action,
        from_status=before.status.name if before.status else "",
        to_status=status.name if status else "",
        from_system_status=before.system_status,
        to_system_status=system_status,
        **actor_columns(actor),
    )
    if (before.status_id, before.system_status) != (record.status_id, system_status):
        facts = events.RecordFacts(
            record.pk,
            record.campaign.code,
            record.phone_number,
            system_status,
            record.status_id,
            record.next_call_at,
            record.agent.login if record.agent else "",
        )
        events.statuses_changed([facts])
