"""A real Chromium with the timeouts of a busy machine, and a superuser's visit to the admin."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.core.cache import cache
from django.db import connection
from django.test import Client
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.callcentre.factories import UserFactory
from tests.conftest import plain_storages

CHROMIUM = shutil.which("chromium") or ""
# Milliseconds. Playwright's defaults are 5,000 for expectations and 30,000 for the rest.
PATIENCE = 60_000
SCREENS = {"desk": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
# The number of pages that a visit opens at a time.
TABS = 6
# Seconds without a request after which a page is quiet, and the longest time to wait for them.
QUIET, LONGEST = 0.3, 10.0

HOME = "/admin/"
STOPPED = "stopped by the policy: "
_REPORT = f"""document.addEventListener("securitypolicyviolation", (event) =>
    console.error("{STOPPED}" + event.effectiveDirective + " " + event.blockedURI + " " + event.sourceFile));"""


@pytest.fixture(autouse=True)
def _with_menu(with_menu: None) -> None:
    """Pages are as people see them."""


class Visit:
    """A page of a superuser's browser, and the failures on it."""

    def __init__(self, browser: Browser, address: str, session_id: str, **options: Any) -> None:
        self.address = address
        context = browser.new_context(base_url=address, timezone_id="Europe/Warsaw", **options)
        context.add_cookies([{"name": "sessionid", "value": session_id, "url": address}])
        context.set_default_timeout(PATIENCE)
        context.add_init_script(_REPORT)
        self.trouble: list[str] = []
        # The requests that have not ended.
        self._open: set[Any] = set()
        context.on("request", self._look_at)
        context.on("requestfinished", self._forget)
        context.on("requestfailed", self._forget)
        context.on("weberror", lambda failed: self.trouble.append(str(failed.error)))
        context.on("console", lambda said: self.trouble.append(said.text) if said.type == "error" else None)
        self.page: Page = context.new_page()

    def _look_at(self, request: Any) -> None:
        self._open.add(request)
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.trouble.append(f"loads {request.url}")

    def _forget(self, request: Any) -> None:
        self._open.discard(request)

    @property
    def violations(self) -> list[str]:
        """The violations of the policy on the pages. The frames of mails have a policy of their own."""
        return [said for said in self.trouble if said.startswith(STOPPED)]

    def open(self, path: str) -> Page:
        """Open this page, and wait until it is quiet."""
        self._open.clear()
        self.page.goto(f"{self.address}{path}")
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until the tabs have no open request for a moment, or until the longest time is over.

        Playwright's own wait for an idle network may never end: some requests of frames that a policy blocks do not
        end, and pages that poll ask again.
        """
        start = quiet_since = time.monotonic()
        while (now := time.monotonic()) < min(quiet_since + QUIET, start + LONGEST):
            self.page.wait_for_timeout(50)
            if self._open:
                quiet_since = now

    def faults_of(self, paths: list[str]) -> list[str]:
        """Open these pages, each until its requests have ended. Return what is wrong with them.

        A page is wrong if it is wider than the screen, or if axe finds a serious or critical fault of accessibility.
        Several tabs load at a time, and then wait together.
        """
        tabs = [self.page, *(self.page.context.new_page() for _ in range(TABS - 1))]
        found = []
        for start in range(0, len(paths), TABS):
            opened = list(zip(paths[start : start + TABS], tabs, strict=False))
            self._open.clear()
            for path, tab in opened:
                tab.goto(f"{self.address}{path}")
            self.settle()
            for path, tab in opened:
                if tab.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    found.append(f"{path} is too wide")
                found += [f"{path}: {fault}" for fault in barriers(tab)]
        return found


def barriers(page: Page) -> list[str]:
    """Return the serious and critical faults of accessibility that axe finds on the page: rule and first element.

    Frames are left out: they show documents that other people wrote.
    """
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations'], iframes: false})")
    return [
        f"{one['id']}, {len(one['nodes'])} times: {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.fixture(scope="package")
def chromium(django_db_setup: None) -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("there is no Chromium on this machine")
    expect.set_options(timeout=PATIENCE)
    # The last request of a page may come while its test restores settings, and would bring other storages back.
    with pytest.MonkeyPatch.context() as patch, plain_storages(), sync_playwright() as playwright:
        # Playwright's loop runs in the thread of the tests, and the tests use the database there.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE)
        yield browser
        browser.close()
        # Django has a separate connection for code inside a loop. An open one would block the deletion of the database.
        connection.close()


@pytest.fixture
def browser(chromium: Browser, committed_db: None, plain_http: None) -> Iterator[Browser]:
    cache.clear()
    yield chromium
    for context in chromium.contexts:
        context.close()


@pytest.fixture
def visitor(browser: Browser) -> Client:
    """A superuser. A module may have another visitor."""
    client = Client()
    client.force_login(UserFactory(admin=True))
    return client


@pytest.fixture
def session_id(visitor: Client) -> str:
    return visitor.cookies["sessionid"].value


@pytest.fixture
def free_visit(browser: Browser, session_id: str, live_server: Any) -> Visit:
    """A visit to pages that may violate the policy."""
    return Visit(browser, live_server.url, session_id, viewport=SCREENS["desk"])


@pytest.fixture
def visit(free_visit: Visit) -> Iterator[Visit]:
    yield free_visit
    for page in free_visit.page.context.pages:
        page.goto("about:blank")  # this ends its requests
    assert free_visit.violations == []


class Walk:
    """A supervisor at the overview, whose steps are counted."""

    def __init__(self, visit: Visit) -> None:
        self.page: Page = visit.open(HOME)
        self.steps = 0

    def click(self, target: Locator, **options: Any) -> None:
        self.steps += 1
        target.click(**options)

    def type(self, text: str) -> None:
        self.steps += 1
        self.page.keyboard.type(text)

    def link(self, name: str, *, exact: bool = False) -> None:
        self.click(self.page.get_by_role("link", name=name, exact=exact).first)

    def button(self, name: str) -> None:
        self.click(self.page.get_by_role("button", name=name, exact=True).first)

    def menu(self, name: str) -> None:
        """Click a page in the menu."""
        self.click(self.page.locator("#nav-sidebar-apps").get_by_role("link", name=name, exact=True))


@pytest.fixture
def walk(committed_db: None, visit: Visit) -> Iterator[Walk]:
    yield Walk(visit)
    assert visit.trouble == []


@contextmanager
def opened_once(visit: Visit, path: str) -> Iterator[Page]:
    """Open a page. At the end, check that no script has loaded it again and that nothing has failed on it."""
    page = visit.open(path)
    page.evaluate("window.neverReloaded = true")
    yield page
    assert page.evaluate("window.neverReloaded")
    assert visit.trouble == []
