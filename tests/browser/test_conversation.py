"""A conversation in a real Chromium: a line's time is a button from which the recording is heard."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect, sync_playwright

from telephony.models import Recording, Transcription
from tests.callcentre.factories import UserFactory
from tests.telephony.factories import RecordingFactory, TranscriptionFactory
from tests.telephony.sound import wav

CHROMIUM = shutil.which("chromium") or ""

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium on this machine"),
    pytest.mark.usefixtures("plain_static"),
]


@pytest.fixture
def session_id(committed_db: None, settings: Any, tmp_path: Path) -> str:
    options = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": tmp_path / "files"}}
    settings.STORAGES = settings.STORAGES | {"default": options}
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = False
    client = Client()
    client.force_login(UserFactory(admin=True))
    return client.cookies["sessionid"].value


@pytest.fixture
def page(session_id: str, live_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    # Playwright's loop runs in the thread of the test, which asks the database all the same.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(base_url=live_server.url, viewport={"width": 1400, "height": 900})
        context.add_cookies([{"name": "sessionid", "value": session_id, "url": live_server.url}])
        yield context.new_page()
        browser.close()


@pytest.fixture
def transcription() -> Transcription:
    """Of a call with a recording of 20 seconds."""
    recording: Recording = RecordingFactory(ready=True, seconds=20)
    recording.file.name = default_storage.save(recording.path, ContentFile(wav(1000, seconds=20)))
    recording.save(update_fields=["file"])
    made: Transcription = TranscriptionFactory(connection=recording.connection, finished=True)
    return made


def test_a_line_is_heard_from_its_begin(page: Page, transcription: Transcription) -> None:
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda said: trouble.append(said.text) if said.type == "error" else None)

    page.goto(reverse("admin:telephony_transcription_change", args=[transcription.pk]))
    player = page.locator("audio")
    expect(page.get_by_text("I am calling about my invoice.")).to_be_visible()
    page.get_by_role("button", name="0:15").click()

    expect(player).to_have_js_property("paused", value=False, timeout=20_000)
    heard_from = player.evaluate("player => player.played.length ? player.played.start(0) : player.currentTime")
    assert 14.9 <= heard_from < 20
    assert player.evaluate("player => player.duration") == 20
    assert trouble == []
