"""The phone in a real Chromium against a real Asterisk: registered, called, heard. TRIAL_ARI_URL names it and its user:

    TRIAL_ARI_URL=http://callcentre:ari-secret@127.0.0.1:8088/ari make trials

Asterisk is configured as docs/telephony-switch.md says. Where the machine has no address but loopback, give it one.
"""

import json
import os
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.cache import cache
from playwright.sync_api import Page, expect
from websockets.sync.client import connect

from telephony import switch as switches
from telephony.switch.asterisk import AsteriskSwitch
from tests.browser.conftest import CHROMIUM, PATIENCE
from tests.browser.test_phone import SMALL
from tests.desk.agents import Desk, desk_of

ASTERISK = urlsplit(os.environ.get("TRIAL_ARI_URL", ""))
NUMBER, CALLER = "699", "+48225550107"
# Keeps the connections, so that the test can ask them for what was heard.
KEEP = """window.peers = [];
window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(...given) { super(...given); window.peers.push(this); }
};"""
HEARD = """async () => {
    const reports = [...(await window.peers.at(-1).getStats()).values()];
    const [heard, said] = ["inbound-rtp", "outbound-rtp"].map((kind) => reports.find(({ type }) => type === kind));
    const [received, energy] = [heard?.packetsReceived ?? 0, heard?.totalAudioEnergy ?? 0];
    return { received, energy, sent: said?.packetsSent ?? 0 };
}"""

pytestmark = [
    pytest.mark.trial,
    pytest.mark.skipif(not ASTERISK.hostname, reason="TRIAL_ARI_URL names no Asterisk"),
    pytest.mark.usefixtures("plain_static", "committed_db", "plain_http"),
]


class Trial:
    """The window of a phone, the switch, and what the switch says."""

    def __init__(self, page: Page, switch: AsteriskSwitch) -> None:
        self.page, self.switch = page, switch
        self.said: list[dict[str, Any]] = []

    def listen(self, url: str) -> None:
        with connect(url) as stream:
            for message in stream:
                self.said.append(json.loads(message))

    def wait_for(self, condition: Callable[[], Any]) -> Any:
        for _ in range(PATIENCE // 50):
            if found := condition():
                return found
            self.page.wait_for_timeout(50)
        raise AssertionError([one["type"] for one in self.said])

    def says(self, kind: str, **values: str) -> None:
        self.wait_for(lambda: any(one["type"] == kind and values.items() <= one.items() for one in self.said))

    def heard(self) -> dict[str, float]:
        found: dict[str, float] = self.page.evaluate(HEARD)
        return found


@pytest.fixture
def trial(chromium, live_server, settings, monkeypatch):
    settings.SWITCH_BACKEND = "asterisk"
    settings.ARI_APP = "callcentre-trial"
    address = f"{ASTERISK.hostname}:{ASTERISK.port}"
    settings.ARI_URL = f"http://{address}{ASTERISK.path}"
    settings.ARI_USER, settings.ARI_PASSWORD = ASTERISK.username, ASTERISK.password
    settings.PHONE_URL = f"http://{address}/ws"
    cache.clear()
    switch = AsteriskSwitch()
    monkeypatch.setattr(switches, "_made", lambda backend: switch)
    desk: Desk = desk_of(uses_browser_phone=True, number=NUMBER)
    media = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
    flags = ["--no-sandbox", *media, "--allow-loopback-in-peer-connection"]
    browser = chromium.browser_type.launch(executable_path=CHROMIUM, args=flags)
    # The page's policy allows the service's own host only, behind whose proxy Asterisk usually is.
    context = browser.new_context(base_url=live_server.url, viewport=SMALL, bypass_csp=True)
    context.set_default_timeout(PATIENCE)
    context.add_cookies([{"name": "sessionid", "value": desk.cookies["sessionid"].value, "url": live_server.url}])
    context.add_init_script(KEEP)
    trial = Trial(context.new_page(), switch)
    key = f"api_key={ASTERISK.username}:{ASTERISK.password}"
    url = f"ws://{address}{ASTERISK.path}/events?app={settings.ARI_APP}&{key}"
    threading.Thread(target=trial.listen, args=[url], daemon=True).start()
    trial.page.goto("/admin/desk/phone/")
    trial.says("PeerStatusChange")
    yield trial
    switch.remove_phone(NUMBER)
    browser.close()


def test_calls_on_a_real_asterisk(trial):
    page, switch = trial.page, trial.switch
    button = page.get_by_role("button", name="Mute")
    # A call that rings: sound both ways, keys, hung up by the agent.
    switch.call_agent("callcentre-trial-1-1", NUMBER, presented=CALLER, ring_seconds=30)
    expect(page.locator("[data-number]")).to_have_text(CALLER)
    page.get_by_role("button", name="Answer").click()
    trial.says("StasisStart")
    switch.play_silence("callcentre-trial-1-1")
    trial.wait_for(lambda: min(trial.heard()["received"], trial.heard()["sent"]) > 100)
    page.keyboard.press("5")
    trial.says("ChannelDtmfReceived", digit="5")
    page.get_by_role("button", name="Hang up").click()
    trial.says("ChannelDestroyed")
    # A call that the agent has asked for answers itself; the switch ends it.
    switch.call_agent("callcentre-trial-2-1", NUMBER, presented=CALLER, ring_seconds=30, is_awaited=True)
    expect(button).to_be_visible()
    switch.hang_up("callcentre-trial-2-1")
    expect(button).to_be_hidden()
    # The test call: the agent hears what the microphone hears.
    page.get_by_role("button", name="Test call").click()
    expect(button).to_be_visible()
    trial.wait_for(lambda: trial.heard()["energy"] > 0.001)
    page.get_by_role("button", name="Hang up").click()
    expect(button).to_be_hidden()
