from collections.abc import Iterator

import pytest

from telephony.calls import orders
from telephony.leading import Leadership
from telephony.models import Agent, Queue
from tests.telephony.callers import HOTLINE, member
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import QueueFactory


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch, heard: None) -> RecordingSwitch:
    """The switch that is told what to do in this process, and that somebody hears."""
    double = RecordingSwitch()
    monkeypatch.setattr(orders, "current_switch", lambda: double)
    return double


@pytest.fixture
def heard() -> Iterator[None]:
    with Leadership() as leadership:
        leadership.tell(is_heard=True)
        yield


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
