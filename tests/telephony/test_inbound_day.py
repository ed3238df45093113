"""The inbound calls of a day, of which a process keeps the settled hours."""

from dataclasses import astuple
from datetime import datetime, timedelta

import pytest
from django.core.cache import cache
from django.utils import timezone

from telephony import inbound_day
from telephony.models import Connection, Queue
from tests.statements import few_statements
from tests.telephony.factories import ConnectionFactory, QueueFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queue")]

NOON = "2026-11-23 11:00:00+00:00"


@pytest.fixture
def noon(time_machine):
    """Stop the clock at noon, with nothing kept."""
    cache.clear()
    time_machine.move_to(NOON, tick=False)
    return timezone.now()


@pytest.fixture
def queue(noon):
    """A queue with an answered call of nine and one of half past eleven."""
    queue: Queue = QueueFactory()
    for at in (noon - timedelta(hours=3), noon - timedelta(minutes=30)):
        ConnectionFactory(inbound=True, queue=queue, created_at=at, answered_at=at, ended_at=at, wait_seconds=0)
    return queue


def counts_of(now: datetime) -> dict[int, tuple[int, ...]]:
    """Return came, answered, in time and abandoned by hour."""
    midnight = timezone.localtime(now).replace(hour=0)
    return {hour: astuple(counts) for (_queue, hour), counts in inbound_day.of_day(midnight, 20).items()}


def test_settled_hours_are_read_once(queue, noon):
    before = counts_of(noon)
    ConnectionFactory(waiting=True, queue=queue, created_at=noon)
    Connection.objects.filter(created_at__lt=noon - timedelta(hours=2)).update(wait_seconds=99)

    assert before == {9: (1, 1, 1, 0), 11: (1, 1, 1, 0)}
    assert counts_of(noon) == before | {12: (1, 0, 0, 0)}


def test_an_hour_settles_after_its_last_call_has_ended(queue, noon):
    at = noon - timedelta(hours=3)
    call = ConnectionFactory(waiting=True, queue=queue, created_at=at)
    assert counts_of(noon)[9] == (2, 1, 1, 0)

    Connection.objects.filter(pk=call.pk).update(
        state="ended", ended_at=noon, disposition="NO ANSWER", hung_up_by="customer"
    )

    assert counts_of(noon)[9] == (2, 1, 1, 1)


def test_later_hours_are_added_to_the_kept_ones(noon, time_machine):
    first = counts_of(noon)
    time_machine.move_to(noon + timedelta(hours=3), tick=False)

    assert [counts_of(noon), counts_of(noon)] == [first, first]


def test_a_reading_is_one_query(noon):
    for _ in range(2):
        with few_statements(1):
            counts_of(noon)
