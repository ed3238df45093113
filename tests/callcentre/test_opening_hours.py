"""Opening hours of queues of calls and of tickets: hours of one day must not overlap."""

from datetime import time
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.urls import reverse

from tests.backoffice import errors_of, page_of, superuser
from tests.campaigns.factories import CampaignFactory
from tests.telephony.factories import OpeningHoursFactory, QueueFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

KINDS = [
    ("telephony_queue", QueueFactory, OpeningHoursFactory),
]
kinds = pytest.mark.parametrize(("page", "queue_factory", "hours_factory"), KINDS)


def clock(text: str) -> time:
    return time.fromisoformat(text)


def rows(*hours: tuple[int | str, str, str], initial: tuple[Any, ...] = ()) -> dict[str, str]:
    """Return the fields of a form with these hours, the first of which are already stored."""
    fields = {
        "language": "en",
        "opening_hours-TOTAL_FORMS": str(len(hours)),
        "opening_hours-INITIAL_FORMS": str(len(initial)),
    }
    for number, (weekday, opens_at, closes_at) in enumerate(hours):
        values = {"weekday": str(weekday), "opens_at": opens_at, "closes_at": closes_at}
        fields |= {f"opening_hours-{number}-{name}": value for name, value in values.items()}
    return fields


def stored(queue: Any) -> list[tuple[int, str, str]]:
    hours = queue.opening_hours.order_by("weekday", "opens_at")
    return [(each.weekday, f"{each.opens_at:%H:%M}", f"{each.closes_at:%H:%M}") for each in hours]


@kinds
def test_one_row_fills_several_days_that_do_not_overlap_others(page, queue_factory, hours_factory):
    queue = queue_factory()
    address = reverse(f"admin:{page}_change", args=[queue.pk])

    response = superuser().submit(address, expected=200, **rows(("1-7", "08:00", "16:00"), (3, "09:00", "13:00")))
    assert stored(queue) == []
    assert "overlap" in str(errors_of(response))

    superuser().submit(address, **rows(("1-5", "08:00", "16:00"), (6, "09:00", "13:00")))
    assert stored(queue) == [*((day, "08:00", "16:00") for day in range(1, 6)), (6, "09:00", "13:00")]


def test_one_row_fills_several_days_of_a_campaign():
    campaign = CampaignFactory()
    fields = {"hours-TOTAL_FORMS": "1", "hours-INITIAL_FORMS": "0", "hours-0-weekday": "1-7"}
    fields |= {"hours-0-begins_at": "09:00", "hours-0-ends_at": "20:00"}

    superuser().submit(page_of(campaign), **fields)

    assert list(campaign.hours.order_by("weekday").values_list("weekday", flat=True)) == [*range(1, 8)]


@kinds
@pytest.mark.parametrize(
    ("hours", "is_taken"),
    [
        ([(1, "08:00", "12:00"), (1, "12:00", "16:00")], True),
        ([(1, "08:00", "12:00"), (2, "08:00", "12:00")], True),
        ([(1, "08:00", "12:00"), (1, "11:59", "16:00")], False),
        ([(1, "12:00", "16:00"), (1, "08:00", "20:00")], False),
        ([(1, "12:00", "00:00"), (1, "23:00", "23:30")], False),
        ([(1, "00:00", "00:00"), (1, "08:00", "09:00")], False),
        ([(1, "08:00", "12:00"), (1, "08:00", "12:00")], False),
    ],
)
def test_hours_that_overlap_are_refused_in_the_admin(hours, is_taken, page, queue_factory, hours_factory):
    queue = queue_factory()

    response = superuser().submit(
        reverse(f"admin:{page}_change", args=[queue.pk]), expected=302 if is_taken else 200, **rows(*hours)
    )

    assert stored(queue) == (sorted(hours) if is_taken else [])
    if not is_taken:
        assert "These hours overlap with others of this day." in response.content.decode()


@kinds
def test_the_border_between_two_hours_may_move(page, queue_factory, hours_factory):
    queue = queue_factory()
    first = hours_factory(queue=queue, opens_at=clock("08:00"), closes_at=clock("12:00"))
    second = hours_factory(queue=queue, opens_at=clock("12:00"), closes_at=clock("16:00"))
    moved = [(1, "08:00", "14:00"), (1, "14:00", "16:00")]

    superuser().submit(
        reverse(f"admin:{page}_change", args=[queue.pk]),
        expected=302,
        **rows(*moved, initial=(first, second)),
        **{"opening_hours-0-id": str(first.pk), "opening_hours-1-id": str(second.pk)},
    )

    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert stored(queue) == moved


@kinds
def test_the_database_refuses_hours_that_overlap(page, queue_factory, hours_factory):
    queue = queue_factory()
    hours_factory(queue=queue, opens_at=clock("08:00"), closes_at=clock("00:00"))
    hours_factory(opens_at=clock("08:00"), closes_at=clock("00:00"))

    hours_factory(queue=queue, opens_at=clock("23:00"), closes_at=clock("23:30"))

    with connection.cursor() as cursor, pytest.raises(IntegrityError, match="do_not_overlap"):
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    connection.needs_rollback = True
