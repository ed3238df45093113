"""The parts of the listener. The tests of faults cover its process."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, transaction
from django.test import Client
from django.utils import timezone

from telephony import call_clock
from telephony.calls import legs
from telephony.keyed_pool import KeyedPool
from telephony.leader_election import LastContact, Leadership
from telephony.listener import Listener
from telephony.models import Connection
from telephony.switch.base import Online
from telephony.verbs import presence
from tests.conftest import ACTOR
from tests.processes import wait_for
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import AgentFactory, ConnectionFactory, QueueFactory
from tests.tickets.factories import DispatchFactory, TicketQueueFactory

PATIENCE_SECONDS = 30.0
MORNING = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


def value(client: Client, name: str) -> float:
    lines = client.get("/metrics").content.decode().splitlines()
    return next(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} "))


def ended(pool: KeyedPool) -> None:
    pool.shut_down(PATIENCE_SECONDS)


def test_work_of_one_call_is_done_in_its_order():
    pool, done = KeyedPool(3), []
    for number in range(300):
        pool.submit(number % 7, lambda number=number: done.append(number))  # type: ignore[misc]
    ended(pool)

    for key in range(7):
        of_key = [number for number in done if number % 7 == key]
        assert of_key == sorted(of_key)
    assert len(done) == 300


def test_slow_work_of_one_call_delays_no_other():
    pool, may_end, done = KeyedPool(2), threading.Event(), threading.Event()
    pool.submit(1, lambda: may_end.wait(PATIENCE_SECONDS))
    pool.submit(1, lambda: None)
    for key in range(2, 20):
        pool.submit(key, lambda: None)
    pool.submit(21, done.set)

    assert done.wait(PATIENCE_SECONDS)
    may_end.set()
    ended(pool)


def test_tasks_and_their_successors_wait_for_the_database():
    pool, done, failures = KeyedPool(1), [], [OperationalError("gone"), OperationalError("gone still")]

    def first():
        if failures:
            raise failures.pop()
        done.append("first")

    pool.submit(1, first)
    pool.submit(1, lambda: done.append("second"))
    ended(pool)

    assert done == ["first", "second"]
    assert pool.has_failed


def test_work_that_cannot_be_done_does_not_stop_the_rest():
    pool, done = KeyedPool(1), []
    pool.submit(1, lambda: 1 // 0)
    pool.submit(1, lambda: done.append("next"))
    ended(pool)

    assert done == ["next"]
    assert pool.has_failed


@pytest.mark.usefixtures("committed_db")
def test_one_leads_until_its_connection_is_gone():
    with Leadership() as first:
        assert first.acquire()
        with Leadership() as second:
            assert not second.acquire()
            first.__exit__()
            assert not first.is_held()
            wait_for(second.acquire)
            assert second.is_held()


def test_a_second_silence_does_not_hide_when_the_first_one_began():
    """Calls that are gone after both were gone, for all that is known, when the first one began."""
    contact = LastContact(MORNING)
    contact.begin_stream()
    contact.update(MORNING + timedelta(seconds=80))
    contact.begin_stream()
    before = contact.silent_since, contact.to_store
    contact.settle()

    assert before == (MORNING, None)
    assert contact.to_store == MORNING + timedelta(seconds=80)


def test_an_interruption_after_a_settled_one_begins_at_the_last_contact():
    contact = LastContact()
    contact.begin_stream()
    contact.update(MORNING)
    contact.settle()
    contact.begin_stream()

    assert contact.silent_since == MORNING


def test_an_answer_that_is_noted_late_does_not_move_the_last_contact_back():
    """The answer to a ping is noted as of the ping; other signs may have come since."""
    contact, ping = LastContact(), call_clock.now()
    later = call_clock.now()
    contact.begin_stream()
    contact.settle()
    contact.update(later)
    contact.update(ping)

    assert contact.to_store == later


@pytest.mark.django_db
def test_listing_the_channels_is_a_contact(monkeypatch):
    """Otherwise a channel listed after the last event would seem to have survived the interruption."""
    monkeypatch.setattr("telephony.listener.current_switch", RecordingSwitch)
    listener = Listener()
    listener._receive(Online())
    listener._contact.update(MORNING)

    listener._compare()
    looked_at = call_clock.now()
    listener._receive(Online())

    assert listener._contact.silent_since is not None
    assert MORNING < listener._contact.silent_since <= looked_at


@pytest.mark.slow("runs threads")
@pytest.mark.usefixtures("committed_db")
def test_metrics_of_the_listener_and_open_calls(client):
    ConnectionFactory(talking=True)
    ConnectionFactory(talking=True, state=Connection.State.QUEUED)
    ConnectionFactory.create_batch(2, waiting=True, queue=QueueFactory(name="Hotline"))
    presence.log_in(AgentFactory(), ACTOR)
    before = value(client, "callcentre_listener_up"), value(client, "callcentre_switch_heard")
    with Leadership() as leadership:
        leadership.acquire()
        leadership.report(is_connected=True)
        leading = value(client, "callcentre_listener_up"), value(client, "callcentre_switch_heard")
        leadership.report(is_connected=False)
        deaf = value(client, "callcentre_switch_heard")

    assert (before, leading, deaf) == ((0, 0), (1, 1), 0)
    assert value(client, 'callcentre_open_calls{state="talking"}') == 1
    assert value(client, 'callcentre_waiting_callers{queue="Hotline"}') == 2
    assert value(client, 'callcentre_longest_wait_seconds{queue="Hotline"}') >= 300
    assert value(client, 'callcentre_agents{state="free"}') == 1
    assert value(client, "callcentre_queued_call_oldest_seconds") >= 300


@pytest.mark.slow("reads all metrics of the process")
@pytest.mark.usefixtures("committed_db")
def test_no_age_is_negative_where_the_clock_was_set_back(client):
    later = timezone.now() + timedelta(hours=1)
    ConnectionFactory(talking=True, state=Connection.State.QUEUED, created_at=later)
    ConnectionFactory(waiting=True, queue=QueueFactory(name="Hotline"), created_at=later)
    TicketQueueFactory(imap_host="mail.us.example", read_at=later)
    DispatchFactory(state="queued", queued_at=later)

    assert value(client, "callcentre_queued_call_oldest_seconds") == 0
    assert value(client, 'callcentre_longest_wait_seconds{queue="Hotline"}') == 0
    lines = client.get("/metrics").content.decode().splitlines()
    ages = {line.partition("{")[0]: float(line.rpartition(" ")[2]) for line in lines if "_seconds{" in line}
    assert ages["callcentre_mailbox_unread_seconds"] == 0
    assert min(ages.values()) >= 0


@pytest.mark.slow("reads all metrics of the process")
@pytest.mark.usefixtures("committed_db")
def test_operators_see_when_a_listener_has_stopped_looking_round(client):
    name = "callcentre_listener_silent_seconds"
    with Leadership() as leadership:
        leadership.acquire()
        before = value(client, name)
        wait_for(lambda: value(client, name) > before)
    assert name not in client.get("/metrics").content.decode()


@pytest.mark.slow("reads all metrics of the process")
@pytest.mark.usefixtures("committed_db")
def test_calls_that_are_over_are_counted_by_their_result(client):
    call = ConnectionFactory(talking=True)
    name = 'callcentre_calls_total{direction="OUTBOUND",disposition="ANSWERED"}'
    before = value(client, name) if name in client.get("/metrics").content.decode() else 0
    with transaction.atomic():
        locked = legs.lock(call.pk)
        assert locked
        for _ in range(2):
            legs.end(locked, timezone.now(), "ANSWERED", cause=16, hung_up_by="agent")

    assert value(client, name) == before + 1


def a_subscriber(topic: str) -> tuple[threading.Event, threading.Event, Callable[[], Any]]:
    from callcentre.core.pubsub import subscribe

    told, stopping = threading.Event(), threading.Event()
    thread = subscribe(topic, told.set, stopping)

    def stop() -> None:
        stopping.set()
        thread.join(PATIENCE_SECONDS)

    return told, stopping, stop


@pytest.mark.django_db
def test_a_message_reaches_subscribers_after_the_commit(django_capture_on_commit_callbacks):
    from callcentre.core.pubsub import publish

    told, _, stop = a_subscriber("tested")
    try:
        assert told.wait(PATIENCE_SECONDS)  # the subscription begins
        told.clear()
        with django_capture_on_commit_callbacks(execute=True):
            publish("tested")
            publish("something else")
            assert not told.is_set()
        assert told.wait(PATIENCE_SECONDS)
    finally:
        stop()


@pytest.mark.django_db
def test_a_message_without_redis_is_free(django_capture_on_commit_callbacks, monkeypatch):
    import redis

    from callcentre.core import pubsub

    asked: list[int] = []

    class Away:
        def publish(self, *args):
            asked.append(1)
            raise redis.ConnectionError

    monkeypatch.setattr(pubsub, "client", Away)
    monkeypatch.setattr(pubsub, "_paused_until", 0.0)
    with django_capture_on_commit_callbacks(execute=True):
        pubsub.publish("tested")
        pubsub.publish("tested")

    # For a second it is not enqueued again.
    assert asked == [1]
