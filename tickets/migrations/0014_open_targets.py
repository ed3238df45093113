"""Bring open tickets to the rules of their targets: none where an agent has responded, a pause while they wait.

Opening hours that overlap become one row: the constraint that follows refuses them.
"""

from datetime import UTC, datetime
from typing import Any

from django.db import migrations

from callcentre.hours import join_overlapping

BATCH = 1000


def settle_open_tickets(apps: Any, schema_editor: Any) -> None:
    open_tickets = apps.get_model("tickets", "Ticket").objects.filter(closed_at=None)
    answered = open_tickets.filter(response_due_at__isnull=False, first_agent_responded_at__isnull=False)
    _in_batches(answered, response_due_at=None)
    # What they have waited until now is not known: it counts.
    waiting = open_tickets.filter(status__kind="waiting_for_customer", waits=[])
    _in_batches(waiting, waits=[datetime.now(UTC)], response_due_at=None, resolution_due_at=None)


def _in_batches(tickets: Any, **values: Any) -> None:
    """Update the tickets, a thousand at a time; an updated ticket is none of them any more."""
    while ids := list(tickets.order_by().values_list("pk", flat=True)[:BATCH]):
        tickets.filter(pk__in=ids).update(**values)


def join_hours(apps: Any, schema_editor: Any) -> None:
    join_overlapping(apps.get_model("tickets", "TicketQueueHours"))


class Migration(migrations.Migration):
    dependencies = [("tickets", "0013_targets_and_limits")]

    operations = [
        migrations.RunPython(settle_open_tickets, migrations.RunPython.noop),
        migrations.RunPython(join_hours, migrations.RunPython.noop),
    ]
