"""The timetable, as beat's own scheduler runs it over the two clock changes of the year."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
import time_machine
from celery.beat import ScheduleEntry
from celery.schedules import crontab
from django.conf import settings
from django.utils import timezone

from callcentre.beat import Scheduler
from callcentre.celery import app
from callcentre.schedule import SCHEDULE, LocalTime

# Change at 01:00 UTC, in Warsaw: 02:00 becomes 03:00 in spring, 03:00 becomes 02:00 in autumn.
SPRING = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
AUTUMN = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
SPAN = timedelta(hours=2, minutes=20)
# Intervals of seconds are left out of these hours: beat would wake ten thousand times.
INTERVALS = {name: when for name, entry in SCHEDULE.items() if isinstance(when := entry["schedule"], float)}
SHORT = [name for name, seconds in INTERVALS.items() if seconds < 10]


class Recorder(Scheduler):
    """Our scheduler, which records each message instead of sending it."""

    producer: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.published: dict[str, list[datetime]] = defaultdict(list)
        super().__init__(*args, **kwargs)

    def is_leading(self) -> bool:
        return True

    def apply_entry(self, entry: ScheduleEntry, producer: Any = None) -> None:
        self.published[str(entry.name)].append(datetime.now(UTC))


@pytest.fixture(scope="module", params=[SPRING, AUTUMN], ids=["spring", "autumn"])
def published(request):
    """Run the timetable over a clock change, with the waits that the scheduler asks for."""
    assert settings.TIME_ZONE == "Europe/Warsaw"
    with time_machine.travel(request.param, tick=False) as clock:
        beat = Recorder(app)
        for name in SHORT:
            del beat.schedule[name]
        while datetime.now(UTC) < request.param + SPAN:
            clock.shift(max(beat.tick(), 0.001))
        beat.close()
    return beat.published


def test_beat_wakes_only_when_an_entry_is_due():
    with time_machine.travel(SPRING, tick=False) as clock:
        beat = Recorder(app)
        wakes = 0
        while datetime.now(UTC) < SPRING + timedelta(minutes=1):
            if (wait := beat.tick()) > 0:
                wakes += 1
                clock.shift(wait)
        beat.close()

    assert 60 <= wakes <= sum(map(len, beat.published.values()))


def test_clock_changes_stop_no_interval(published):
    longest = {
        name: max((b - a).total_seconds() for a, b in pairwise(published[name])) / seconds
        for name, seconds in INTERVALS.items()
        if name not in SHORT
    }

    assert len(longest) > 5
    assert {name: gap for name, gap in longest.items() if gap > 1.1} == {}


def test_clock_changes_stop_nothing_hourly(published):
    hourly = [name for name, entry in SCHEDULE.items() if type(entry["schedule"]) is crontab]

    minutes = {name: {(at.hour, at.minute) for at in published[name]} for name in hourly}
    assert hourly
    for name in hourly:
        minute = min(SCHEDULE[name]["schedule"].minute)
        assert minutes[name] == {(hour, minute) for hour in ((1, 2) if minute < 30 else (0, 1, 2))}, name


def test_clock_changes_neither_lose_nor_repeat_a_time_of_day(published):
    nightly: dict[str, Any] = {
        name: entry["schedule"] for name, entry in SCHEDULE.items() if isinstance(entry["schedule"], LocalTime)
    }

    local = {name: [f"{timezone.localtime(at):%-H:%M}" for at in published[name]] for name in nightly}
    is_spring = published["tickets.poll_mailboxes"][0].month == 3
    said = {name: f"{min(when.hour)}:{min(when.minute):02}" for name, when in nightly.items()}
    expected = {name: [at.replace("2:", "3:") if is_spring else at] for name, at in said.items()}
    assert "2:41" in said.values()
    assert local == expected


def test_every_entry_is_an_interval_an_hour_or_a_local_time():
    """Check that no entry is a `crontab` with an hour, which would be read in UTC."""
    for name, entry in SCHEDULE.items():
        when: Any = entry["schedule"]
        is_hourly = type(entry["schedule"]) is crontab and when.hour == set(range(24)) and len(when.minute) == 1
        assert isinstance(when, float | LocalTime) or is_hourly, name
