"""Pause the targets of open tickets that wait for the customer.

Join opening hours that overlap, because the constraint of the next migration refuses them.
"""

from datetime import UTC, datetime
from typing import Any

from django.db import migrations

from callcentre.core.opening_hours import join_overlapping

BATCH = 1000


def pause_waiting_tickets(apps: Any, schema_editor: Any) -> None:
    open_tickets = apps.get_model("tickets", "Ticket").objects.filter(closed_at=None)
    # The time that they have waited until now is unknown, so it counts for the targets.
    waiting = open_tickets.filter(status__kind="waiting_for_customer", waits=[])
    paused = {"waits": [datetime.now(UTC)], "response_due_at": None, "resolution_due_at": None}
    # The query no longer finds a ticket that was updated.
    while ids := list(waiting.order_by().values_list("pk", flat=True)[:BATCH]):
        waiting.filter(pk__in=ids).update(**paused)


def join_hours(apps: Any, schema_editor: Any) -> None:
    join_overlapping(apps.get_model("tickets", "TicketQueueHours"))


def prepare(apps: Any, schema_editor: Any) -> None:
    pause_waiting_tickets(apps, schema_editor)
    join_hours(apps, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("tickets", "0016_targets_and_limits")]

    operations = [migrations.RunPython(prepare, migrations.RunPython.noop)]
