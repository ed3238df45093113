"""The zones of records that exist, computed anew: after a change of the field that has them."""

from django.db import transaction

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
