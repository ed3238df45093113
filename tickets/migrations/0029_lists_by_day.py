"""Indexes for lists from a day to a day. Writes go on meanwhile."""

from django.db import migrations, models

from callcentre.core.migration_steps import AddMissingIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("tickets", "0028_closed_and_reopened_tickets")]

    operations = [
        AddMissingIndex("customer", models.Index(fields=["-created_at", "-id"], name="customer_created")),
        AddMissingIndex("storedfile", models.Index(fields=["-created_at", "-id"], name="storedfile_created")),
        AddMissingIndex("receivedmail", models.Index(fields=["-received_at", "-id"], name="receivedmail_newest")),
        AddMissingIndex("dispatch", models.Index(fields=["-queued_at", "-id"], name="dispatch_newest")),
        AddMissingIndex("rating", models.Index(fields=["-given_at", "-id"], name="rating_newest")),
    ]
