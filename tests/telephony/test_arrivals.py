"""A call that comes in: it is let in, or sent on where its queue is closed or it has waited for too long."""

from datetime import time, timedelta

import pytest
from django.utils import timezone

from callcentre.core.parsing import parse_instant
from telephony.calls import switch_events
from telephony.customers import Customer
from telephony.models import Connection, Queue
from telephony.switch.base import Arrived, Up
from tests.telephony.callers import CALLER, actions, call_in, distribute, offers, wait_too_long
from tests.telephony.factories import OpeningHoursFactory, QueueFactory
from tickets import customer_lookups

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queue")]


def test_a_caller_is_stored_hears_music_and_waits(queue, switch):
    call = call_in(caller="22 555 01 07", dialled="225550100")

    assert (call.direction, call.state, call.queue, call.src_number) == ("INBOUND", "waiting", queue, CALLER)
    assert switch.told == [("answer", "caller-1"), ("play_music", "caller-1", "default")]
    assert actions() == ["CONNECTION_STARTED"]


def test_a_repeated_arrival_changes_nothing(switch):
    call_in()
    call_in()

    assert Connection.objects.count() == 1


def test_a_number_without_a_queue_leaves_a_row_and_a_log_line(switch, caplog):
    for _ in range(2):
        switch_events.handle(Arrived("caller-1", timezone.now(), CALLER, "+48225550999"))

    call = Connection.objects.get()
    assert (call.state, call.disposition, call.hung_up_by, call.cause) == ("ended", "NO ANSWER", "system", 1)
    assert (call.queue, call.src_number, call.dst_number) == (None, CALLER, "+48225550999")
    assert switch.told == [("hang_up", "caller-1", 1)]
    assert actions() == ["CONNECTION_STARTED", "CONNECTION_ENDED"]
    assert caplog.messages.count("a number that no queue has was called") == 1


@pytest.mark.parametrize("caller", ["", "anonymous", "x" * 300])
def test_a_caller_without_a_number_is_let_in_too(caller, switch):
    assert call_in(caller=caller).state == "waiting"


def test_the_registered_function_finds_the_customer(switch, monkeypatch):
    monkeypatch.setattr(customer_lookups, "customers_of", lambda numbers: {CALLER: Customer(77, "Jan Kowal")})

    assert call_in().customer_id == 77


# Opening hours and overflow


def test_a_queue_that_is_closed_lets_callers_go(queue, switch):
    yesterday = (timezone.localtime() - timedelta(days=1)).isoweekday()
    OpeningHoursFactory(queue=queue, weekday=yesterday, opens_at=time(0), closes_at=time(0))

    call = call_in()

    # The caller is hung up with the cause of the row.
    assert (call.state, call.disposition, call.hung_up_by, call.cause) == ("ended", "NO ANSWER", "system", 20)
    assert switch.told == [("hang_up", "caller-1", 20)]
    assert actions() == ["CONNECTION_STARTED", "CONNECTION_ENDED"]


def test_a_queue_that_is_inactive_sends_callers_to_its_overflow_queue(queue, switch):
    other = QueueFactory(name="Other")
    Queue.objects.filter(pk=queue.pk).update(is_active=False, overflow_queue=other)

    call = call_in()

    assert (call.state, call.queue) == ("waiting", other)
    assert [(move.from_queue, move.queue, move.action) for move in call.transfers.all()] == [(queue, other, "overflow")]


def test_queues_that_are_closed_and_overflow_in_a_circle_let_callers_go(queue, switch):
    other = QueueFactory(is_active=False, overflow_queue=queue)
    Queue.objects.filter(pk=queue.pk).update(is_active=False, overflow_queue=other)

    assert call_in().state == "ended"


def test_a_queue_that_is_closed_sends_callers_to_its_overflow_number(queue, switch):
    Queue.objects.filter(pk=queue.pk).update(is_active=False, overflow_number="+48225550111")

    call = call_in()
    switch_events.handle(Up(call.legs.get(role="target").channel_id, timezone.now()))
    call.refresh_from_db()

    assert ("answer", "caller-1") in switch.told
    assert call.state == "talking"
    assert switch.told[-1][0] == "join"


@pytest.mark.parametrize(
    ("wall_clock", "is_open"),
    [
        ("2026-07-01 07:59:59", False),  # a Wednesday
        ("2026-07-01 08:00:00", True),
        ("2026-07-01 15:59:59", True),
        ("2026-07-01 16:00:00", False),
        ("2026-07-01 23:30:00", True),
        ("2026-07-02 09:00:00", False),
    ],
)
def test_opening_hours_are_by_the_clock_of_the_service(wall_clock, is_open, queue):
    OpeningHoursFactory(queue=queue, weekday=3, opens_at=time(8), closes_at=time(16))
    OpeningHoursFactory(queue=queue, weekday=3, opens_at=time(23), closes_at=time(0))

    assert queue.is_open(parse_instant(wall_clock)) is is_open


def test_a_caller_who_waits_too_long_is_disconnected(queue, switch):
    Queue.objects.filter(pk=queue.pk).update(longest_wait_seconds=60)
    call = wait_too_long(call_in(), 61)

    assert (call.state, call.disposition, call.hung_up_by) == ("ended", "NO ANSWER", "system")
    assert call.wait_seconds >= 61


def test_a_caller_below_the_limit_stays_in_the_queue(switch):
    call = call_in()

    distribute(seconds_from_now=540)
    call.refresh_from_db()

    assert call.state == "waiting"


def test_a_caller_over_the_limit_waits_for_a_ringing_phone(anna, switch):
    call = call_in()
    distribute()

    distribute(seconds_from_now=3600)
    call.refresh_from_db()

    assert (call.state, offers(call)) == ("waiting", [("anna", "ringing")])


def test_a_caller_who_overflows_in_a_circle_is_disconnected(queue, switch):
    other = QueueFactory(overflow_queue=queue)
    Queue.objects.filter(pk=queue.pk).update(overflow_queue=other)
    call = call_in()
    seen = [wait_too_long(call) for _ in range(4)]

    assert [(one.state, one.queue_id) for one in seen] == [
        ("waiting", other.pk),
        ("waiting", queue.pk),
        ("ended", queue.pk),
        ("ended", queue.pk),
    ]
