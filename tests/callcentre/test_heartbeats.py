"""Heartbeats of processes, their check and metrics, and two beats of which one leads."""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.test import Client

from callcentre.beat import LOOK_SECONDS, Scheduler
from callcentre.celery import app
from callcentre.models import Heartbeat
from callcentre.schedule import SCHEDULE, LocalTime
from tests.callcentre.factories import HeartbeatFactory
from tests.processes import wait_for

KINDS = ("beat", "listener", "calls", "webhooks", "mail", "default", "reports")


@pytest.fixture
def all_alive(committed_db):
    Heartbeat.objects.all().delete()
    for kind in KINDS:
        HeartbeatFactory(process=kind)


@pytest.mark.walk("dialler")
@pytest.mark.slow("runs the checks of each process")
@pytest.mark.usefixtures("all_alive")
@pytest.mark.parametrize("dead", [*KINDS, "dialler"])
def test_a_process_that_is_silent_for_a_minute_fails_the_check(dead):
    client = Client()
    assert client.get("/health/processes").status_code == 200

    Heartbeat.objects.filter(process=dead).delete()
    HeartbeatFactory(process=dead, silent=True)

    answer = client.get("/health/processes")
    assert answer.status_code == 503
    assert answer.json()["error"] == f"No heartbeat from: {dead}."
    assert f'callcentre_processes{{process="{dead}"}} 0.0' in client.get("/metrics").content.decode()


@pytest.mark.usefixtures("all_alive")
def test_one_of_two_processes_is_enough():
    HeartbeatFactory(process="mail", silent=True)

    assert Client().get("/health/processes").status_code == 200
    assert 'callcentre_processes{process="mail"} 1.0' in Client().get("/metrics").content.decode()


class Recorder(Scheduler):
    """A beat that looks at its lock at each tick, and records tasks instead of sending them."""

    producer: Any = None

    def __init__(self) -> None:
        self.sent: list[str] = []
        super().__init__(app)

    def tick(self, *args: Any, **kwargs: Any) -> float:
        self._look_at = float("-inf")
        return super().tick(*args, **kwargs)

    def apply_async(self, entry: Any, producer: Any = None, advance: bool = True, **kwargs: Any) -> Any:
        self.sent.append(entry.task)


@pytest.mark.usefixtures("committed_db")
def test_a_second_beat_stands_by_and_takes_over():
    Heartbeat.objects.all().delete()
    first, second = Recorder(), Recorder()

    assert first.tick() < LOOK_SECONDS
    assert second.tick() == LOOK_SECONDS
    assert second.sent == []
    assert Heartbeat.objects.get().process == "beat"

    first.close()
    # PostgreSQL releases the lock a moment after the connection has ended.
    wait_for(lambda: second.tick() < LOOK_SECONDS and second.sent, "the second beat sends tasks")
    second.close()


@pytest.mark.usefixtures("committed_db")
@pytest.mark.parametrize("zone", ["Europe/Warsaw", "Asia/Tokyo"])
def test_a_beat_that_begins_to_lead_sends_what_was_due_since_the_last_heartbeat(settings, zone):
    settings.TIME_ZONE = zone
    nightly = [entry for entry in SCHEDULE.values() if isinstance(entry["schedule"], LocalTime)]
    night = datetime(2026, 6, 2, tzinfo=ZoneInfo(zone))
    Heartbeat.objects.all().delete()
    Heartbeat.objects.create(process="beat", name="former", beat_at=night + timedelta(hours=3, minutes=10))

    with time_machine.travel(night + timedelta(hours=20), tick=False):
        beat = Recorder()
        while beat.tick() <= 0:
            pass
        beat.close()

    later = {
        entry["task"] for entry in nightly if max(entry["schedule"].hour) == 3 and max(entry["schedule"].minute) > 10
    }
    assert len(later) > 5
    assert {entry["task"] for entry in nightly}.intersection(beat.sent) == later


@pytest.mark.usefixtures("committed_db")
def test_a_broker_that_is_away_is_said_once_a_minute(monkeypatch, caplog):
    def fail(*args, **kwargs):
        raise ConnectionError("refused")

    beat = Recorder()
    monkeypatch.setattr(beat, "apply_async", fail)

    for entry in beat.schedule.values():
        beat.apply_entry(entry)
    beat.close()

    assert [record.getMessage() for record in caplog.records] == ["tasks are not sent"]
    assert caplog.records[0].exc_info is None
