"""Indexes for lists from a day to a day. Writes go on meanwhile."""

from django.db import migrations, models

from callcentre.core.migration_steps import AddMissingIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("telephony", "0026_wrap_ups_of_calls")]

    operations = [
        AddMissingIndex("recording", models.Index(fields=["-started_at", "-id"], name="recording_newest")),
    ]
