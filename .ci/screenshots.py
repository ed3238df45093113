"""Take the pictures of docs/supervisors.md: run by `make screenshots`.

The service runs with the demonstration in a folder of its own. Three agents log in, DEMO1 is dialled, and callers wait.
The pictures replace those in docs/images.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import requests
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "images"
SCREEN = {"width": 1440, "height": 900}
# Seconds until the service must answer, and those that calls need to begin.
START, SETTLE = 120, 25


class Demonstration:
    """The running service, its API as the user demo, and the command line."""

    def __init__(self, port: int, folder: Path) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.environment = {**os.environ, "PORT": str(port), "CALLCENTRE_VAR": str(folder), "LANG": "C.UTF-8"}
        self.passwords: dict[str, str] = {}
        self._folder = folder

    def start(self) -> "subprocess.Popen[bytes]":
        """Start the service, and wait until the demonstration is complete."""
        output = self._folder / "output.log"
        command = [sys.executable, "-m", "callcentre.supervisor"]
        with output.open("wb") as log:
            service = subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=log)
        deadline = time.monotonic() + START
        # It is the last line of the demonstration.
        while "Admin user:" not in output.read_text(errors="replace"):
            if service.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("The service does not start.")
            time.sleep(0.5)
        self.passwords = json.loads((self._folder / "demo.json").read_text())
        return service

    def post(self, path: str) -> None:
        """Call the API as the user demo."""
        answer = requests.post(f"{self.address}/api{path}", auth=("demo", self.passwords["api"]), timeout=30)
        answer.raise_for_status()

    def visitor(self, browser: Browser, name: str) -> Page:
        """Return a page on which this user is logged in."""
        page = browser.new_page(viewport=SCREEN, locale="en-GB", timezone_id="Europe/Warsaw")
        page.goto(f"{self.address}/admin/login/")
        page.fill("#id_username", name)
        page.fill("#id_password", self.passwords["admin"])
        page.click("[type=submit]")
        page.wait_for_load_state()
        return page

    def manage(self, *arguments: str) -> None:
        subprocess.run([sys.executable, "manage.py", *arguments], cwd=ROOT, env=self.environment, check=True)

    def fill(self) -> None:
        """Let agents work, a campaign dial, and callers wait."""
        for agent in ("agent1", "agent2", "agent3"):
            self.post(f"/agents/{agent}/login")
        self.post("/outbounds/DEMO1/dialer/start")
        for number in ("600100201", "600100202"):
            self.manage("simulate_inbound", "Hotline", number)
        time.sleep(SETTLE)


def search(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("0107")
    page.locator("#search-hits a").first.wait_for()


def first_row(page: Page) -> None:
    page.locator("#result_list tbody tr").first.locator("a").first.click()


def dialling(page: Page) -> None:
    page.get_by_role("link", name="DEMO1").first.click()
    page.get_by_role("link", name="Dialling").first.click()


def this_month(page: Page) -> None:
    page.get_by_role("link", name="This month").click()
    page.locator("#report-total td").nth(2).wait_for()
    page.locator("#report-charts").scroll_into_view_if_needed()
    page.mouse.wheel(0, 420)


def upload(page: Page) -> None:
    lines = ["phone_number,city", *(f"22 556 {number:04d},Warszawa" for number in range(40)), "12,no number"]
    file = {"name": "numbers.csv", "mimeType": "text/csv", "buffer": "\n".join(lines).encode()}
    page.get_by_role("link", name="DEMO1").first.click()
    page.get_by_role("link", name="Import records").first.click()
    page.locator("input[type=file]").set_input_files([file])
    page.locator("form [type=submit], form button:not([type])").last.click()


# Picture -> page, and what is done there before the picture is taken.
PICTURES_OF: dict[str, tuple[str, Callable[[Page], None] | None]] = {
    "overview": ("/admin/", None),
    "search": ("/admin/", search),
    "customer": ("/admin/tickets/customer/?q=Piotrowska", first_row),
    "dialling": ("/admin/campaigns/campaign/", dialling),
    "import": ("/admin/campaigns/campaign/", upload),
    "ticket": ("/admin/tickets/ticket/", first_row),
    "report": ("/admin/reports/export/work-report/", this_month),
    "first-steps": ("/admin/first-steps/", None),
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    chromium = shutil.which("chromium")
    if not chromium:
        raise SystemExit("Chromium is needed: apt-get install chromium")
    folder = Path(tempfile.mkdtemp(prefix="screenshots-"))
    demonstration = Demonstration(free_port(), folder)
    service = demonstration.start()
    try:
        demonstration.fill()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = demonstration.visitor(browser, "admin")
            for name, (path, step) in PICTURES_OF.items():
                page.goto(f"{demonstration.address}{path}", wait_until="load")
                if step:
                    step(page)
                page.wait_for_timeout(1500)
                page.screenshot(path=str(PICTURES / f"{name}.png"))
                print(name)
            page = demonstration.visitor(browser, "agent2")
            page.get_by_role("button", name="Contacted").wait_for(timeout=60_000)
            page.screenshot(path=str(PICTURES / "desk.png"))
            print("desk")
            browser.close()
    finally:
        service.send_signal(signal.SIGINT)
        service.wait(60)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
