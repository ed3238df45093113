"""The removal of a record."""

from django.db import transaction

from callcentre.core import audit
from callcentre.core.actor import Actor
from callcentre.core.errors import Conflict, ErrorCode
from campaigns.models import Record


def remove_record(record: Record, actor: Actor) -> None:
    """Delete the record; the oldest other one of its number becomes the primary. Raises Conflict in a live call."""
    with transaction.atomic():
        locked = Record.objects.select_for_update().get(pk=record.pk)
        if locked.is_leased:
            raise Conflict(ErrorCode.RECORD_BUSY)
        gone = Record(pk=locked.pk)
        audit.record(actor, "delete", gone, changes=audit.counts_of(delete_record(locked)))


def delete_record(locked: Record) -> dict[str, int]:
    """Delete a locked record; the oldest other one of its number becomes the primary. Return the number of rows."""
    others = Record.objects.filter(campaign_id=locked.campaign_id, number=locked.number, is_primary=False)
    counts = locked.delete()[1]
    if locked.is_primary and (heir := others.select_for_update(no_key=True).order_by("id").first()):
        heir.is_primary = True
        heir.save(update_fields=["is_primary"])
    return counts
