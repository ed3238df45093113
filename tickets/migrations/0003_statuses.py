"""Create the statuses of a new installation. People may rename, add and order them."""

from typing import Any

from django.db import migrations

STATUSES = [
    ("New", "new"),
    ("Waiting for customer", "waiting_for_customer"),
    ("Postponed", "postponed"),
    ("Merged", "merged"),
    ("In progress", "in_progress"),
    ("Closed", "closed"),
]


def install(apps: Any, schema_editor: Any) -> None:
    status = apps.get_model("tickets", "TicketStatus")
    for position, (name, kind) in enumerate(STATUSES, start=1):
        status.objects.get_or_create(name=name, defaults={"kind": kind, "order": position * 10})


class Migration(migrations.Migration):
    dependencies = [("tickets", "0002_ticket_count")]

    operations = [migrations.RunPython(install, migrations.RunPython.noop)]
