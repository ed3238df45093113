"""Deletion of recordings: here, at the switch, and the words that were made of them."""

from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from callcentre.core import deletions
from callcentre.core.deletions import Deletion, consequences_of
from callcentre.core.due_work import Claim
from callcentre.core.errors import Conflict
from callcentre.core.file_removals import FileRemoval
from telephony import recording_files
from telephony.models import Connection, Recording, Transcription
from telephony.verbs import recordings
from tests.conftest import ACTOR
from tests.statements import few_statements
from tests.telephony.factories import ConnectionFactory, RecordingFactory, TranscriptionFactory
from webhooks import outbox
from webhooks.event_types import EventType
from webhooks.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]


def a_recording(call: Connection | None = None, **values: Any) -> Recording:
    """A recording with its file on the disk."""
    recording: Recording = RecordingFactory(connection=call or ConnectionFactory(), **({"ready": True} | values))
    default_storage.save(recording.path, ContentFile(b"voice"))
    Recording.objects.filter(pk=recording.pk).update(file=recording.path)
    return recording


def removed(recording: Recording) -> Deletion:
    deletion = Deletion.ask(ACTOR, "recording", recording, "on request")
    deletions.run(deletion.pk)
    deletion.refresh_from_db()
    recording.refresh_from_db()
    return deletion


def test_a_recording_goes_with_its_file_and_its_words_and_stays_known(tmp_path):
    recording = a_recording()
    TranscriptionFactory(connection=recording.connection, finished=True)

    deletion = removed(recording)

    assert deletion.deleted == {"telephony.recording": 1, "telephony.transcription": 1}
    assert (recording.state, recording.file.name) == ("removed", "")
    assert not Transcription.objects.exists()
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_other_recordings_of_the_call_stay():
    first = a_recording()
    second = a_recording(first.connection, name=f"{first.name}-2")

    removed(first)

    second.refresh_from_db()
    assert second.state == "ready"
    assert default_storage.exists(second.path)


@pytest.mark.parametrize(("folder", "is_asked"), [("", True), ("/srv/recordings", False)])
def test_the_switch_removes_its_copy_unless_the_folder_is_its_own(settings, folder, is_asked):
    settings.RECORDINGS_FOLDER = folder
    recording = a_recording()
    says_so = "The file in RECORDINGS_FOLDER stays: the folder belongs to the switch."

    assert (says_so in consequences_of("recording", recording).remarks) is not is_asked
    removed(recording)

    assert Recording.objects.leaving(timezone.now()).exists() is is_asked


def test_a_recording_being_fetched_leaves_no_file(monkeypatch, settings, tmp_path):
    """The deletion comes between the last look at the row and its result."""
    settings.RECORDINGS_FOLDER = "/srv/recordings"
    recording = RecordingFactory(fetching=True)

    def copy(fetched: Claim[Recording]) -> tuple[int, float]:
        removed(recording)
        default_storage.save(fetched.row.path, ContentFile(b"voice"))
        return 5, 1.0

    monkeypatch.setattr(recording_files, "_copy", copy)
    recording_files.fetch(recording.pk)

    recording.refresh_from_db()
    assert recording.state == "removed"
    assert not default_storage.exists(recording.path)
    # A worker that dies before it could do that is covered as well.
    assert FileRemoval.objects.get().path == recording.path


def test_a_recording_that_failed_is_not_fetched_again_once_it_was_deleted():
    recording = RecordingFactory(state="failed", error="the switch could not record")

    removed(recording)

    assert (recording.state, recording.error, recordings.fetch_again(recording, ACTOR)) == ("removed", "", False)


def test_a_recording_that_is_gone_already_is_refused():
    recording = RecordingFactory(state="removed")

    with pytest.raises(Conflict):
        removed(recording)


def test_the_page_asks_a_fixed_number_of_questions():
    recording = RecordingFactory(ready=True)

    with few_statements(2):
        consequences_of("recording", recording)


def test_fields_of_stored_events_are_blanked_and_none_is_added():
    for subject in ("call:1", "call:2"):
        outbox.record(EventType.AGENT_RINGING, subject, {"source_number": "+48225559876", "queue_id": 3})
    outbox.record(EventType.RECORDING_READY, "call:1", {"filename": "1.wav"})

    outbox.redact(["call:1"], {"source_number": "", "destination_number": ""})

    assert list(Event.objects.order_by("id").values_list("payload", flat=True)) == [
        {"source_number": "", "queue_id": 3},
        {"source_number": "+48225559876", "queue_id": 3},
        {"filename": "1.wav"},
    ]
