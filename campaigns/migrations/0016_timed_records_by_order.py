"""An index with the whole order of timed records, so that many of one time cost no sort. Writes go on meanwhile."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("campaigns", "0015_endings_of_numbers")]

    operations = [
        AddIndexConcurrently(
            "record",
            models.Index(
                fields=["campaign", "system_status", "zone", "calling_code", "next_call_at", "order", "id"],
                condition=models.Q(("held_until", None), ("system_status__in", ["CALL_NO_SOONER_THAN", "MY_RECORD"])),
                name="record_by_time",
            ),
        ),
        RemoveIndexConcurrently("record", "record_timed"),
    ]
