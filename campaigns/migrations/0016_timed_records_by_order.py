"""An index with the whole order of timed records, so that many of one time cost no sort. Writes go on meanwhile."""

from django.db import migrations, models

from callcentre.core.migration_steps import AddMissingIndex, RemovePresentIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("campaigns", "0015_endings_of_numbers")]

    operations = [
        AddMissingIndex(
            "record",
            models.Index(
                fields=["campaign", "system_status", "zone", "calling_code", "next_call_at", "order", "id"],
                condition=models.Q(("held_until", None), ("system_status__in", ["CALL_NO_SOONER_THAN", "MY_RECORD"])),
                name="record_by_time",
            ),
        ),
        RemovePresentIndex("record", "record_timed"),
    ]
