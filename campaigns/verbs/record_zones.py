"""The zones of records that exist, computed anew: after a change of the field that has them."""

from django.db import transaction

from callcentre.core.phone import calling_code
from campaigns.models import Campaign, Record
from campaigns.models.rules import zone_of

BATCH = 1_000


def fill_zones(campaign: Campaign) -> int:
    """Write the zones of the campaign's records whose zones have changed, in batches. Return their number."""
    key, last, written = str(campaign.zone_field_id or ""), 0, 0
    while True:
        with transaction.atomic():
            # In the order of ids, as edits lock records.
            following = (
                Record.objects.filter(campaign=campaign, pk__gt=last).order_by("pk").select_for_update(no_key=True)
            )
            records = list(following.only("number", "fields", "zone", "calling_code")[:BATCH])
            if not records:
                return written
            last, changed = records[-1].pk, []
            for record in records:
                before = record.zone, record.calling_code
                record.zone, record.calling_code = (
                    zone_of(key, record.fields, record.number),
                    calling_code(record.number),
                )
                record.held_until = None
                if (record.zone, record.calling_code) != before:
                    changed.append(record)
            Record.objects.bulk_update(changed, ["zone", "calling_code", "held_until"])
            written += len(changed)
