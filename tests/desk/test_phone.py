"""What the window of the phone in the browser asks for."""

from typing import Any

import pytest

from telephony.models import BrowserPhone, CallCommand, CallQuality, Connection, Leg
from tests.backoffice import page_of, superuser
from tests.desk.agents import Desk, desk_of, talk
from tests.processes import heard_switch
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import CallQualityFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


@pytest.fixture
def desk(monkeypatch):
    double = RecordingSwitch()
    monkeypatch.setattr("telephony.calls.switch_requests.current_switch", lambda: double)
    return desk_of(uses_browser_phone=True)


@pytest.fixture
def call(desk):
    call = talk(desk)
    Leg.objects.create(
        connection=call, role="agent", agent=desk.agent, channel_id="a-1", state="up", asked_at=call.created_at
    )
    return call


def ask(desk: Desk, action: str, **form: Any) -> dict[str, Any]:
    answer: dict[str, Any] = desk.post(f"/admin/desk/phone/{action}/", form).json()
    return answer


def test_the_quality_of_the_present_call_is_kept(desk, call):
    token = ask(desk, "open")["token"]
    ask(desk, "seen", token=token, reports="[[0, 2.5, null], [4, 7.5, null]]")
    assert ask(desk, "seen", token=token, reports="[[8, 35, 120]]")["is_on_hold"] is False
    for wrong in ("[[1]]", '[["1", 2, 3]]', "[[true, 2, 3]]", "[[null, 2, 3]]", "{}", "[", str([[0, 0, 0]] * 21)):
        ask(desk, "seen", token=token, reports=wrong)
    ask(desk, "seen", token="", reports="[[50, 50, 50]]")

    kept = CallQuality.objects.get(connection=call, agent=desk.agent)
    assert (kept.reports, kept.loss, kept.loss_worst, kept.jitter, kept.jitter_worst) == (3, 4, 8, 15, 35)
    assert (kept.round_trip, kept.round_trip_worst) == (120, 120)


def test_a_line_in_no_call_has_no_quality(desk):
    ask(desk, "seen", token=ask(desk, "open")["token"], reports="[[0, 1, 2]]")
    assert not CallQuality.objects.exists()


def test_the_page_of_the_call_shows_it():
    kept = CallQualityFactory(round_trip=None, round_trip_worst=None)
    page = superuser().page(page_of(kept.connection))
    assert "0.5 / 3.0" in page
    assert "4.0 / 21.0" in page


def test_hold_and_resume(desk, call):
    assert "errors" in ask(desk, "hold")
    with heard_switch():
        assert ask(desk, "hold") == {"is_on_hold": True}
        Connection.objects.update(is_on_hold=True)
        CallCommand.objects.all().delete()
        assert ask(desk, "hold") == {"is_on_hold": False}
    assert CallCommand.objects.get().kind == "resume"
    Leg.objects.all().delete()
    assert "errors" in ask(desk, "hold")


def test_a_window_that_lacks_a_microphone_says_so(desk):
    ask(desk, "lack", trouble="nothing")
    assert not BrowserPhone.objects.exists()
    ask(desk, "lack", trouble="denied")
    phone = BrowserPhone.objects.get()
    assert (phone.trouble, phone.state_at(phone.seen_at)) == ("denied", "denied")
    # Not while the switch reaches another window.
    ask(desk, "open")
    BrowserPhone.objects.update(registered_at=phone.seen_at)
    ask(desk, "lack", trouble="denied")
    assert BrowserPhone.objects.get().trouble == ""
