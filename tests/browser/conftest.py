"""A real Chromium, given the time that a busy machine needs."""

import shutil
from collections.abc import Iterator

import pytest
from django.db import connection
from playwright.sync_api import Browser, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or ""
# Milliseconds. Playwright's own are 5,000 for what is expected and 30,000 for the rest.
PATIENCE = 60_000


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("there is no Chromium on this machine")
    # Playwright's loop runs in the thread of the test, which asks the database all the same.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE)
        yield browser
        browser.close()
        # Django keeps a connection apart for code inside a loop: it would outlive the test, and hold the database up.
        connection.close()
