"""The parts of the trial: the PBX with its far ends, the processes of the service, and two browsers."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from playwright.sync_api import Page, sync_playwright

from benchmarks.calls import is_heard
from benchmarks.harness import ROOT, Service, wait_until_up
from benchmarks.sound.heard import AGENT_HZ, OUTSIDE_HZ, write_tones
from callcentre.launch.children import bury, spawn
from callcentre.launch.servers import choose_port
from callcentre.launch.supervisor import programs

FOLDER = Path(__file__).parent
SIPP_PHONES, BROWSERS = range(200, 228), range(228, 230)
# An agent in a long call, and the supervisor who listens to it.
TALKER, SUPERVISOR = 230, 231
QUEUE = "48225550100"

# Answers as an agent does who clicks at once, and notes when the tone from outside begins. Milliseconds since 1970.
_PAGE = """
window.heard = []; window.answered = [];
const given = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = () => given({
    audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false },
});
window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(...values) {
        super(...values);
        this.addEventListener("track", ({ streams: [stream] }) => {
            const context = new AudioContext();
            const ear = new AnalyserNode(context, { fftSize: 512, smoothingTimeConstant: 0 });
            context.createMediaStreamSource(stream).connect(ear);
            const levels = new Float32Array(ear.frequencyBinCount);
            const bin = Math.round(1500 / context.sampleRate * ear.fftSize);
            let isHeard = false;
            const timer = setInterval(() => {
                ear.getFloatFrequencyData(levels);
                const was = isHeard;
                isHeard = levels[bin] > -50;
                if (isHeard && !was) window.heard.push(Date.now());
                if (this.connectionState === "closed") clearInterval(timer);
            }, 10);
        });
    }
};
document.addEventListener("DOMContentLoaded", () => setInterval(() => {
    const button = document.querySelector("[data-answer]");
    if (button.hidden) { window.isAsked = false; return; }
    if (window.isAsked) return;
    window.isAsked = true;
    window.answered.push(Date.now());
    button.click();
}, 10));
"""


def wait_for(condition: Callable[[], Any], seconds: float, what: str, *, step: float = 0.05) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(step)
    raise RuntimeError(f"not within {seconds} s: {what}")


class Switch:
    """The Asterisk of the trial: its REST interface, its phones, its start."""

    def __init__(self) -> None:
        self._ari = urlsplit(os.environ["TRIAL_ARI_URL"])
        self.address = f"{self._ari.hostname}:{self._ari.port}"
        self.sip, self.trunk = os.environ["TRIAL_SIP"], os.environ["TRIAL_TRUNK"]
        self._session = requests.Session()
        self._session.auth = (self._ari.username or "", self._ari.password or "")

    @property
    def settings(self) -> dict[str, str]:
        return {
            "SWITCH_BACKEND": "asterisk",
            "ARI_URL": f"http://{self.address}/ari",
            "ARI_USER": self._ari.username or "",
            "ARI_PASSWORD": self._ari.password or "",
            "PHONE_URL": f"http://{self.address}/ws",
        }

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._session.request(method, f"http://{self.address}/ari/{path}", json=body, timeout=10)
        return answer.json() if answer.content and answer.ok else None

    def add_phones(self, port: int) -> None:
        """Write the phones that sipp plays into Asterisk's memory, all at this port."""
        for number in (*SIPP_PHONES, TALKER, SUPERVISOR):
            endpoint = {
                "transport": "udp",
                "context": "phones",
                "disallow": "all",
                "allow": "ulaw",
                "aors": str(number),
            }
            endpoint |= {"rtp_timeout": "5", "media_address": "127.0.0.1", "bind_rtp_to_media_address": "yes"}
            objects = {"aor": {"contact": f"sip:{number}@127.0.0.1:{port}"}, "endpoint": endpoint}
            for kind in reversed(objects):  # the contacts of an aor that exists would be added to
                self.ask("DELETE", f"asterisk/config/dynamic/res_pjsip/{kind}/{number}")
            for kind, values in objects.items():
                fields = [{"attribute": name, "value": value} for name, value in values.items()]
                self.ask("PUT", f"asterisk/config/dynamic/res_pjsip/{kind}/{number}", {"fields": fields})

    def restart(self) -> None:
        """Kill and start Asterisk by TRIAL_RESTART, and wait until it answers."""
        subprocess.run(os.environ["TRIAL_RESTART"], shell=True, check=True)
        wait_for(self.is_up, 30, "Asterisk answers")

    def is_up(self) -> bool:
        try:
            return self.ask("GET", "asterisk/ping") is not None
        except requests.RequestException:
            return False


@contextmanager
def far_ends(switch: Switch, folder: Path) -> Iterator[int]:
    """Run the phones and the people outside. Yield the port of the phones."""
    port = choose_port(folder / "phones.port")
    write_tones(folder / "agents", AGENT_HZ)
    write_tones(folder / "outside", OUTSIDE_HZ)
    host, _, trunk_port = switch.trunk.rpartition(":")
    ends = [
        sipp(folder / "agents", "far_end.xml", "-i", "127.0.0.1", "-p", str(port), "-mi", "127.0.0.1", "-mp", "23000"),
        sipp(folder / "outside", "far_end.xml", "-i", host, "-p", trunk_port, "-mi", host, "-mp", "26000"),
    ]
    try:
        yield port
    finally:
        for end in ends:
            bury(end)


def sipp(folder: Path, scenario: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Run sipp where its tone is."""
    command = ["sipp", "-sf", str(FOLDER / scenario), "-nostdin", "-trace_err", *arguments]
    with (folder / "sipp.log").open("ab") as log:
        return spawn(command, cwd=folder, stdout=log, stderr=log)


def callers(switch: Switch, folder: Path, count: int, first: int) -> subprocess.Popen[bytes]:
    """Let so many callers call the queue at once, with numbers from +48600`first` on."""
    (folder / "callers.csv").write_text("\n".join(["SEQUENTIAL", *(f"+48600{first + n}" for n in range(count))]) + "\n")
    host = switch.trunk.rpartition(":")[0]
    port = choose_port(folder / "callers.port")
    ours = ("-i", host, "-p", str(port), "-mi", host, "-mp", "29000")
    return sipp(
        folder, "caller.xml", switch.sip, "-s", QUEUE, "-inf", "callers.csv", "-m", str(count), "-r", "200", *ours
    )


@dataclass
class Processes:
    """Web server, worker, listener, dialler and beat, as `make run` starts them."""

    running: Service
    _children: list[subprocess.Popen[bytes]]

    def start(self) -> None:
        log = Path(self.running.environment["CALLCENTRE_VAR"]) / "log" / "trial.log"
        with log.open("ab") as output:
            for arguments in programs(self.running.port).values():
                command = [sys.executable, *arguments]
                options: Any = {"env": self.running.environment, "cwd": ROOT, "stdout": output, "stderr": output}
                self._children.append(spawn(command, **options))
        wait_until_up(self.running)
        wait_for(lambda: is_heard(self.running), 60, "the listener hears the switch")

    def kill(self) -> None:
        """Kill all at once with SIGKILL."""
        for child in self._children:
            os.killpg(child.pid, signal.SIGKILL)
        while self._children:
            self._children.pop().wait()


@contextmanager
def processes(running: Service) -> Iterator[Processes]:
    folder = Path(running.environment["CALLCENTRE_VAR"]) / "run"
    found = Processes(replace(running, port=choose_port(folder / "trial.port")), [])
    try:
        found.start()
        yield found
    finally:
        found.kill()


@contextmanager
def browsers(running: Service, sessions: list[str], microphone: Path) -> Iterator[list[Page]]:
    """Open the windows of the phones in browsers; each answers, and says what it hears."""
    media = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
    flags = ["--no-sandbox", *media, f"--use-file-for-fake-audio-capture={microphone}"]
    flags += ["--allow-loopback-in-peer-connection", "--autoplay-policy=no-user-gesture-required"]
    address = f"http://127.0.0.1:{running.port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
        pages = []
        for session in sessions:
            # The page's policy allows the service's own host only, behind whose proxy Asterisk usually is.
            context = browser.new_context(base_url=address, bypass_csp=True)
            context.add_cookies([{"name": "sessionid", "value": session, "url": address}])
            context.add_init_script(_PAGE)
            pages.append(context.new_page())
            pages[-1].goto("/admin/desk/phone/")
        for page in pages:
            page.wait_for_selector("#phone[data-ready=true]", timeout=60_000)
        yield pages
        browser.close()
