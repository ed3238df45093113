"""A real Chromium with the timeouts of a busy machine, and a superuser's visit to the admin."""

import shutil
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.callcentre.factories import UserFactory

CHROMIUM = shutil.which("chromium") or ""
# Milliseconds. Playwright's defaults are 5,000 for expectations and 30,000 for the rest.
PATIENCE = 60_000
SCREENS = {"desk": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
# The number of pages that a visit opens at a time.
TABS = 6

STOPPED = "stopped by the policy: "
_REPORT = f"""document.addEventListener("securitypolicyviolation", (event) =>
    console.error("{STOPPED}" + event.effectiveDirective + " " + event.blockedURI + " " + event.sourceFile));"""


class Visit:
    """A page of a superuser's browser, and the failures on it."""

    def __init__(self, browser: Browser, address: str, session_id: str, **options: Any) -> None:
        self.address = address
        context = browser.new_context(timezone_id="Europe/Warsaw", **options)
        context.add_cookies([{"name": "sessionid", "value": session_id, "url": address}])
        context.set_default_timeout(PATIENCE)
        context.add_init_script(_REPORT)
        self.trouble: list[str] = []
        context.on("request", self._look_at)
        context.on("weberror", lambda failed: self.trouble.append(str(failed.error)))
        context.on("console", lambda said: self.trouble.append(said.text) if said.type == "error" else None)
        self.page: Page = context.new_page()

    def _look_at(self, request: Any) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.trouble.append(f"loads {request.url}")

    @property
    def violations(self) -> list[str]:
        """The violations of the policy on the pages. The frames of mails have a policy of their own."""
        return [said for said in self.trouble if said.startswith(STOPPED)]

    def open(self, path: str, until: Literal["load", "networkidle"] = "networkidle") -> Page:
        """Open this page and wait. A page with frames that the policy blocks may never become idle: wait for "load"."""
        self.page.goto(f"{self.address}{path}", wait_until="load")
        self.page.wait_for_load_state(until)
        return self.page

    def too_wide(self, paths: list[str]) -> list[str]:
        """Open these pages, each until its requests have ended. Return the pages that are wider than the screen.

        A page is quiet half a second after its last request. Some tabs take turns, so each waits while others load.
        """
        tabs = [self.page, *(self.page.context.new_page() for _ in range(TABS - 1))]
        found = []
        for start in range(0, len(paths), TABS):
            opened = list(zip(paths[start : start + TABS], tabs, strict=False))
            for path, tab in opened:
                tab.goto(f"{self.address}{path}")
            for path, tab in opened:
                tab.wait_for_load_state("networkidle")
                if tab.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    found.append(path)
        return found


@pytest.fixture(scope="module")
def chromium(django_db_setup: None) -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("there is no Chromium on this machine")
    expect.set_options(timeout=PATIENCE)
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright's loop runs in the thread of the tests, and the tests use the database there.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE)
        yield browser
        browser.close()
        # Django has a separate connection for code inside a loop. An open one would block the deletion of the database.
        connection.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    yield chromium
    for context in chromium.contexts:
        context.close()


@pytest.fixture
def session_id(committed_db: None, plain_http: None) -> str:
    cache.clear()
    client = Client()
    client.force_login(UserFactory(admin=True))
    return client.cookies["sessionid"].value


@pytest.fixture
def visit(browser: Browser, session_id: str, live_server: Any) -> Iterator[Visit]:
    visit = Visit(browser, live_server.url, session_id, viewport=SCREENS["desk"])
    yield visit
    visit.page.goto("about:blank")  # this ends its requests
    assert visit.violations == []
