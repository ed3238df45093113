from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine

from callcentre.core.times import zone
from telephony import call_clock
from telephony.calls import switch_requests
from telephony.models import Agent, Queue
from tests.processes import heard_switch
from tests.telephony.callers import HOTLINE, free_agent, member
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import QueueFactory
from tests.telephony.provider import Provider, running_provider


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch, heard: None) -> RecordingSwitch:
    """A switch that records the requests of this process, with a connected listener."""
    double = RecordingSwitch()
    monkeypatch.setattr(switch_requests, "current_switch", lambda: double)
    return double


@pytest.fixture
def heard() -> Iterator[None]:
    with heard_switch():
        yield


@pytest.fixture
def provider(settings: Any, own_storage: Path) -> Iterator[Provider]:
    """A provider of transcriptions. Without the setting ANALYSIS_MODEL it is not asked for an analysis."""
    with running_provider() as running:
        settings.TRANSCRIPTION_URL = settings.ANALYSIS_URL = running.url
        settings.TRANSCRIPTION_API_KEY = "key-1"
        yield running


@pytest.fixture
def agent() -> Agent:
    return free_agent()


# A queue with a number, and agents of it who are free


@pytest.fixture
def queue() -> Queue:
    return QueueFactory(number=HOTLINE, wrap_up_seconds=10)


@pytest.fixture
def anna(queue: Queue) -> Agent:
    return member(queue, "anna", "101", minutes_free=20)


@pytest.fixture
def bert(queue: Queue, anna: Agent) -> Agent:
    return member(queue, "bert", "102", minutes_free=10)


# A morning on which only the test moves the time

MORNING = datetime(2026, 11, 20, 9, tzinfo=zone())


class Clock:
    """The time of a test, on all clocks: it stands still until the test moves it on."""

    def __init__(self, traveller: Any, patch: pytest.MonkeyPatch) -> None:
        self._traveller, self.now = traveller, MORNING
        patch.setattr(call_clock, "time", self)

    def time(self) -> float:
        return self.now.timestamp()

    monotonic = time

    def later(self, seconds: int) -> datetime:
        self.now += timedelta(seconds=seconds)
        self._traveller.move_to(self.now)
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    with time_machine.travel(MORNING, tick=False) as traveller:
        yield Clock(traveller, monkeypatch)
