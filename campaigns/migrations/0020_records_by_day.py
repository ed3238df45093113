"""Indexes for lists from a day to a day. Writes go on meanwhile."""

from django.db import migrations, models

from callcentre.core.migration_steps import AddMissingIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("campaigns", "0019_address_of_imports")]

    operations = [
        AddMissingIndex("record", models.Index(fields=["-created_at", "-id"], name="record_created")),
    ]
