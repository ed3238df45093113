"""The removal of a record, and the zones of the records of a campaign."""

from django.db import transaction

from callcentre.core import audit
from callcentre.core.actor import Actor
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.core.phone import calling_code
from campaigns.models import Campaign, Record
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
    """Delete the record; the oldest other one of its number becomes the primary. Raises Conflict in a live call."""
    with transaction.atomic():
        locked = Record.objects.select_for_update().get(pk=record.pk)
        if locked.is_leased:
            raise Conflict(ErrorCode.RECORD_BUSY)
        others = Record.objects.filter(campaign_id=locked.campaign_id, number=locked.number, is_primary=False)
        gone = Record(pk=locked.pk)
        audit.record(actor, "delete", gone, changes=audit.counts_of(locked.delete()[1]))
        if locked.is_primary and (heir := others.select_for_update(no_key=True).order_by("id").first()):
            heir.is_primary = True
            heir.save(update_fields=["is_primary"])
