"""The phone in a real Chromium: its registration, its calls and its troubles, against a stand-in for the switch."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from telephony.models import Agent, BrowserPhone, CallCommand, Connection, Leg
from telephony.verbs import presence
from tests.browser.conftest import CHROMIUM, PATIENCE, barriers
from tests.browser.sip_stand_in import SipStandIn
from tests.conftest import ACTOR
from tests.desk.agents import Desk, desk_of
from tests.processes import heard_switch
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import ConnectionFactory

pytestmark = pytest.mark.usefixtures("plain_static", "switch_told")
SMALL: Any = {"width": 400, "height": 720}


@pytest.fixture
def switch_told(monkeypatch, settings):
    double = RecordingSwitch()
    monkeypatch.setattr("telephony.calls.switch_requests.current_switch", lambda: double)
    monkeypatch.setattr("callcentre.web.desk.phone.current_switch", lambda: double)
    settings.SWITCH_BACKEND = "asterisk"
    return double


@pytest.fixture
def desk(committed_db, plain_http):
    cache.clear()
    return desk_of(uses_browser_phone=True)


class Window:
    """The window of the phone, and the switch to which it speaks."""

    def __init__(self, browser: Browser, desk: Desk, address: str, permissions: list[str]) -> None:
        self.agent: Agent = desk.agent
        context = browser.new_context(base_url=address, viewport=SMALL, permissions=permissions)
        context.set_default_timeout(PATIENCE)
        context.add_cookies([{"name": "sessionid", "value": desk.cookies["sessionid"].value, "url": address}])
        self.page: Page = context.new_page()
        self.sip = SipStandIn(self.agent.number, set())
        self.sip.join(self.page)
        self.page.expose_function("allow", self.allow)
        self.page.on("response", self._opened)
        self.page.goto("/admin/desk/phone/")

    def _opened(self, response: Any) -> None:
        if response.url.endswith("/open/"):
            self.allow()

    def allow(self) -> None:
        """Let the switch accept the password of now."""
        self.sip.passwords = set(BrowserPhone.objects.filter(closed_at=None).values_list("password", flat=True))

    def wait_for(self, condition: Callable[[], Any]) -> None:
        for _ in range(PATIENCE // 50):
            if condition():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError([message.start for message in self.sip.heard])

    def says(self, call_id: str, answers: str) -> None:
        self.wait_for(lambda: answers in self.sip.of(call_id))

    def is_in(self, text: str) -> None:
        expect(self.page.locator("[data-state]")).to_contain_text(text)


@pytest.fixture
def open_window(chromium, desk, live_server):
    opened: list[Window] = []
    browser = chromium.browser_type.launch(
        executable_path=CHROMIUM,
        args=["--no-sandbox", "--use-fake-device-for-media-stream", "--autoplay-policy=no-user-gesture-required"],
    )

    def open_window(permissions: list[str] | None = None) -> Window:
        opened.append(Window(browser, desk, live_server.url, ["microphone"] if permissions is None else permissions))
        return opened[-1]

    yield open_window
    for window in opened:
        window.page.goto("about:blank")
    browser.close()


@pytest.fixture
def window(open_window):
    window = open_window()
    window.wait_for(lambda: window.sip.contact)
    BrowserPhone.objects.update(registered_at=timezone.now())
    window.is_in("Ready for calls")
    return window


def test_a_call_rings_is_answered_muted_kept_alive_and_hung_up(window):
    page, sip = window.page, window.sip
    assert barriers(page) == []
    sip.offer("one")
    window.says("one", "180 INVITE")
    expect(page.locator("[data-number]")).to_have_text("+48225550107")
    # A second caller hears that the phone is busy.
    sip.offer("two")
    window.says("two", "486 INVITE")
    page.get_by_role("button", name="Answer").click()
    window.says("one", "200 INVITE")
    answer = sip.last("one", "200 INVITE")
    assert answer.header("Session-Expires") == "90;refresher=uac"
    assert "m=audio" in answer.text
    assert "a=fingerprint:sha-256" in answer.text
    sip.request("ACK", "one")
    expect(page.get_by_role("button", name="Mute")).to_be_visible()
    assert barriers(page) == []
    page.keyboard.press("m")
    expect(page.get_by_role("button", name="Mute")).to_have_attribute("aria-pressed", "true")
    # The switch keeps the session alive, in both ways.
    sip.request("UPDATE", "one", headers="Session-Expires: 90\r\n", sequence=2)
    window.says("one", "200 UPDATE")
    sip.offer("one", sequence=3)
    window.wait_for(lambda: sip.of("one").count("200 INVITE") > 1)
    sip.request("ACK", "one", sequence=3)
    page.get_by_role("button", name="Hang up").click()
    window.says("one", "BYE")
    bye = sip.last("one", "BYE")
    assert bye.start.startswith("BYE sip:asterisk@192.0.2.1:8088;transport=ws ")
    assert bye.header("From").endswith(f";tag={sip.tag('one')}")
    expect(page.locator("[data-call]")).to_be_hidden()


def test_the_switch_ends_calls(window):
    page, sip = window.page, window.sip
    sip.offer("one")
    window.says("one", "180 INVITE")
    sip.request("CANCEL", "one")
    window.says("one", "487 INVITE")
    expect(page.locator("[data-call]")).to_be_hidden()
    # A call that the agent has asked for, or a standing line, is answered by the phone.
    sip.offer("two", headers="X-Awaited: 1\r\n")
    window.says("two", "200 INVITE")
    # Without a confirmation the answer is repeated.
    window.wait_for(lambda: sip.of("two").count("200 INVITE") > 2)
    sip.request("ACK", "two")
    sip.request("BYE", "two", sequence=2)
    window.says("two", "200 BYE")
    expect(page.locator("[data-call]")).to_be_hidden()
    sip.offer("three")
    window.says("three", "180 INVITE")
    page.get_by_role("button", name="Hang up").click()
    window.says("three", "486 INVITE")
    sip.request("OPTIONS", "four")
    window.says("four", "200 OPTIONS")
    sip.request("INFO", "five")
    window.says("five", "481 INFO")


@pytest.mark.trial
def test_a_lost_connection_is_opened_again_and_a_taken_phone_is_not(window, desk, open_window):
    window.sip.sockets[-1].close()
    window.is_in("No connection to the switch")
    window.wait_for(lambda: len(window.sip.sockets) > 1)
    window.is_in("Ready for calls")
    # In this browser one window has the phone.
    second = window.page.context.new_page()
    second.goto("/admin/desk/phone/")
    expect(second.locator("[data-state]")).to_contain_text("open in another window of this browser")
    second.close()
    # Another browser takes it.
    other = open_window()
    other.wait_for(lambda: other.sip.contact)
    window.is_in("Another window has this phone now")
    # It comes back with the button, and goes with the log-out.
    window.page.get_by_role("button", name="Open the phone here").click()
    other.is_in("Another window has this phone now")
    presence.log_out(desk.agent, ACTOR)
    BrowserPhone.objects.update(closed_at=timezone.now(), registered_at=None)
    window.is_in("Log in on the desk")
    presence.log_in(desk.agent, ACTOR)
    window.wait_for(lambda: BrowserPhone.objects.filter(closed_at=None).exists())


def talk(window: Window, call_id: str) -> None:
    window.sip.offer(call_id, headers="X-Awaited: 1\r\n")
    window.says(call_id, "200 INVITE")
    window.sip.request("ACK", call_id)
    expect(window.page.get_by_role("button", name="Mute")).to_be_visible()


@pytest.mark.trial
def test_a_call_is_offered_anew_over_the_next_connection(window):
    talk(window, "one")
    window.sip.sockets[-1].close()
    window.wait_for(lambda: len(window.sip.sockets) > 1)
    window.is_in("Ready for calls")
    expect(window.page.locator("[data-call]")).to_be_hidden()
    talk(window, "two")
    assert "BYE" not in window.sip.of("one")


@pytest.mark.trial
def test_the_customer_is_put_on_hold(window):
    call: Connection = ConnectionFactory(talking=True, agent=window.agent)
    values = {"role": "agent", "channel_id": "a-1", "state": "up", "asked_at": call.created_at}
    Leg.objects.create(connection=call, agent=window.agent, **values)
    talk(window, "one")
    with heard_switch():
        window.page.keyboard.press("h")
        expect(window.page.get_by_role("button", name="Hold")).to_have_attribute("aria-pressed", "true")
        expect(window.page.locator("[data-call-state]")).to_have_text("on hold")
    assert CallCommand.objects.get().kind == "hold"
    # The desk lets the agent talk on: the window hears of it.
    expect(window.page.get_by_role("button", name="Hold")).to_have_attribute("aria-pressed", "false")


def test_without_a_microphone_the_phone_does_not_register(open_window):
    window = open_window([])
    window.is_in("The browser may not use the microphone")
    assert window.sip.heard == []
    window.wait_for(lambda: BrowserPhone.objects.filter(trouble="denied", registered_at=None).exists())


@pytest.mark.trial
def test_a_closed_window_gives_the_phone_back_unless_it_talks(window, switch_told):
    talk(window, "one")
    # A page that is really left could not tell the stand-in, which lives in it.
    window.page.evaluate("dispatchEvent(new Event('pagehide'))")
    window.page.get_by_role("button", name="Hang up").click()
    window.says("one", "BYE")
    assert BrowserPhone.objects.get().closed_at is None
    window.page.evaluate("dispatchEvent(new Event('pagehide'))")
    window.wait_for(lambda: BrowserPhone.objects.get().closed_at)
    assert switch_told.told[-1] == ("remove_phone", window.agent.number)
