from uuid import uuid4

from django.db import connection, migrations, transaction

from tickets.models.working_time import WorkingTime

BATCH = 2000
LEVELLED = """
UPDATE tickets_ticket t SET service_level_id = n.level, first_response_met = n.responded, resolution_met = n.resolved
FROM unnest(%s::bigint[], %s::bigint[], %s::boolean[], %s::boolean[]) AS n(id, level, responded, resolved)
WHERE t.id = n.id
"""


def make_levels(apps, schema_editor):
    """Make a service level of the minutes and hours of each queue, to the minute, and give it to the queue's tickets."""
    levels, times = {}, {}
    for queue in apps.get_model("tickets", "TicketQueue").objects.order_by("id"):
        hours = tuple(queue.opening_hours.order_by("weekday").values_list("weekday", "opens_at", "closes_at"))
        if hours or queue.first_response_minutes is not None or queue.resolution_minutes is not None:
            levels[queue.pk], times[queue.pk] = level_of(apps, queue, hours), WorkingTime(hours)
    if not levels:
        return
    # The first worker of the new release computes open tickets: the one before writes some until it is stopped.
    apps.get_model("tickets", "AutomationState").objects.update_or_create(pk=1, defaults={"levels_token": uuid4()})
    tickets = apps.get_model("tickets", "Ticket").objects.filter(queue__in=levels, service_level=None).order_by("pk")
    last = 0
    while ids := list(tickets.filter(pk__gt=last).values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic(), connection.cursor() as cursor:
            rows = list(tickets.filter(pk__in=ids).select_for_update(no_key=True))
            found = [(row.pk, levels[row.queue_id].pk, *met(row, levels[row.queue_id], times[row.queue_id])) for row in rows]
            if found:
                cursor.execute(LEVELLED, [list(column) for column in zip(*found, strict=True)])
        last = ids[-1]


def level_of(apps, queue, hours):
    ServiceLevel = apps.get_model("tickets", "ServiceLevel")
    if found := ServiceLevel.objects.filter(name=queue.name).first():
        return found
    calendar = None
    with transaction.atomic():
        if hours:
            calendar = apps.get_model("tickets", "BusinessCalendar").objects.create(name=queue.name)
            apps.get_model("tickets", "CalendarHours").objects.bulk_create(
                apps.get_model("tickets", "CalendarHours")(calendar=calendar, weekday=day, opens_at=opens, closes_at=closes)
                for day, opens, closes in hours
            )
        return ServiceLevel.objects.create(
            name=queue.name,
            conditions=[{"name": "queue", "operator": "is", "values": [str(queue.pk)]}],
            calendar=calendar,
            first_response_minutes=queue.first_response_minutes,
            next_response_minutes=queue.first_response_minutes,
            resolution_minutes=queue.resolution_minutes,
        )


def met(ticket, level, working_time):
    """Return whether the first response, and the end, came in time; None before, and without a target."""
    ends = (
        (ticket.created_at, ticket.first_agent_responded_at, level.first_response_minutes),
        (ticket.targets_began_at or ticket.created_at, ticket.closed_at, level.resolution_minutes),
    )
    for start, end, minutes in ends:
        if end is None or minutes is None:
            yield None
            continue
        waits = [*ticket.waits, end] if len(ticket.waits) % 2 else ticket.waits
        pauses = list(zip(waits[::2], waits[1::2], strict=True))
        yield working_time.add(start, minutes, pauses) >= end


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ('tickets', '0005_indexes_of_priority_and_type'),
    ]

    operations = [
        migrations.RunPython(make_levels, migrations.RunPython.noop),
    ]
