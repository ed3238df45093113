"""Indexes of closed and reopened tickets, for the report of tickets. Writes go on meanwhile."""

from django.db import migrations, models

from callcentre.core.migration_steps import AddMissingIndex


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("tickets", "0027_audit")]

    operations = [
        AddMissingIndex(
            "ticket",
            models.Index(
                fields=["queue", "closed_at", "created_at"],
                condition=models.Q(closed_at__isnull=False),
                name="ticket_closed_in_queue",
            ),
        ),
        AddMissingIndex(
            "ticket",
            models.Index(
                fields=["queue", "targets_began_at"],
                condition=models.Q(targets_began_at__isnull=False),
                name="ticket_reopened_in_queue",
            ),
        ),
    ]
