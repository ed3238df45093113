"""A switch that does not answer: the dialler does not wait for it, and loses few calls."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError

from campaigns.dialling.dialler import Dialler
from campaigns.models import Attempt, DiallerState
from telephony.calls import switch_requests
from telephony.calls.switch_requests import AT_ONCE, RequestThreads
from telephony.switch.base import SwitchUnreachable
from tests.campaigns.dialling.calls import add_agent, dialling_campaign
from tests.processes import heard_switch, wait_for
from tests.telephony.doubles import RecordingSwitch

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_SECONDS = 30.0


class SilentSwitch(RecordingSwitch):
    """Leaves requests open until `gives_up` is set. Answers at once when `is_well`."""

    def __init__(self) -> None:
        super().__init__()
        self.gives_up, self.is_well = threading.Event(), False

    def call_agent(self, *args: Any, **values: Any) -> None:
        if not self.is_well:
            assert self.gives_up.wait(PATIENCE_SECONDS)
            raise SwitchUnreachable("silent")


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[SilentSwitch]:
    double, threads = SilentSwitch(), RequestThreads()
    monkeypatch.setattr(switch_requests, "current_switch", lambda: double)
    monkeypatch.setattr(switch_requests, "threads", threads)
    with heard_switch():
        yield double
    double.gives_up.set()
    threads.shut_down(PATIENCE_SECONDS)


def round_of(dialler: Dialler) -> int:
    """Dial for all campaigns. Return the calls that were placed."""
    threads, before = switch_requests.threads, Attempt.objects.count()
    assert threads
    threads.begin_round()
    dialler.tick()
    return Attempt.objects.count() - before


def test_a_round_ends_when_the_switch_is_silent_and_goes_on_by_one_call(
    silent: SilentSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = dialling_campaign(agents=AT_ONCE + 2, records=AT_ONCE + 2), dialling_campaign(agents=0)
    add_agent(second, "second", "201")
    dialler = Dialler()

    # Nothing is answered, and yet the tick is over. Neither campaign places more calls.
    assert round_of(dialler) == AT_ONCE
    assert round_of(dialler) == 0
    assert set(DiallerState.objects.values_list("campaign", "code")) == {
        (first.pk, "no_switch"),
        (second.pk, "no_switch"),
    }

    silent.gives_up.set()
    threads = switch_requests.threads
    assert threads
    wait_for(lambda: not threads._open, "all requests have failed")
    monkeypatch.setattr(switch_requests, "ROOM_SECONDS", PATIENCE_SECONDS)
    assert round_of(dialler) == 1
    silent.is_well = True
    assert round_of(dialler) == 2
    dialler.disown()


@pytest.mark.parametrize("failure", [OperationalError, InterfaceError])
def test_a_request_is_not_repeated_when_its_answer_cannot_be_stored(failure: type[Exception]) -> None:
    threads, sent = RequestThreads(), []

    def request() -> bool:
        sent.append(1)
        raise failure("the database is down")

    threads.submit(request)
    threads.shut_down(1.0)

    assert sent == [1]
