"""A conversation in a real Chromium: the time of a line is a button that plays the recording from there."""

from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.urls import reverse
from playwright.sync_api import expect

from telephony.models import Recording, Transcription
from tests.browser.conftest import Visit
from tests.telephony.factories import RecordingFactory, TranscriptionFactory
from tests.telephony.sound import wav

pytestmark = pytest.mark.usefixtures("plain_static")


@pytest.fixture
def transcription(committed_db: None, own_storage: Path) -> Transcription:
    """The page of a call with a recording of 20 seconds."""
    recording: Recording = RecordingFactory(ready=True, seconds=20)
    recording.file.name = default_storage.save(recording.path, ContentFile(wav(1000, seconds=20)))
    recording.save(update_fields=["file"])
    made: Transcription = TranscriptionFactory(connection=recording.connection, finished=True)
    return made


def test_a_recording_plays_from_the_clicked_line(visit: Visit, transcription: Transcription) -> None:
    page = visit.open(reverse("admin:telephony_transcription_change", args=[transcription.pk]))
    player = page.locator("audio")
    expect(page.get_by_text("I am calling about my invoice.")).to_be_visible()
    page.get_by_role("button", name="0:15").click()

    expect(player).to_have_js_property("paused", value=False)
    heard_from = player.evaluate("player => player.played.length ? player.played.start(0) : player.currentTime")
    assert 14.9 <= heard_from < 20
    assert player.evaluate("player => player.duration") == 20
    assert visit.trouble == []
