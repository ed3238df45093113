"""The admin of recordings and transcriptions: lists, player, repetition."""

from io import BytesIO
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.http import FileResponse
from django.test import RequestFactory
from django.urls import reverse

from telephony.admin.transcriptions import Part, sound
from telephony.models import Recording, Transcription
from telephony.verbs import recordings
from tests.backoffice import messages_of, page_of, staff, superuser
from tests.statements import few_statements
from tests.telephony.factories import (
    AgentFactory,
    ConnectionFactory,
    EvaluationCriterionFactory,
    RecordingFactory,
    TranscriptionFactory,
    TranscriptionUsageFactory,
)
from tests.telephony.sound import wav

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "own_storage")]

LIST = reverse("admin:telephony_transcription_changelist")
SOUND = wav(1000, seconds=0.1)


def recorded(**values: Any) -> Recording:
    recording: Recording = RecordingFactory(ready=True, **values)
    recording.file.name = default_storage.save(recording.path, ContentFile(SOUND))
    recording.save(update_fields=["file"])
    return recording


def audio_of(recording: Recording) -> str:
    return reverse("admin:telephony_recording_audio", args=[recording.pk])


def heard(client: Any, recording: Recording, span: str = "") -> tuple[int, bytes, Any]:
    response = client.get(audio_of(recording), headers={"Range": span} if span else {})
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return response.status_code, content, response


# The page of a transcription


def test_a_transcription_is_shown_as_a_conversation_with_all_that_was_made_of_it():
    criterion = EvaluationCriterionFactory(name="Greeting")
    call = ConnectionFactory(agent=AgentFactory(name="Anna", surname="Nowak"))
    recording = recorded(connection=call, seconds=60)
    evaluated = [{"criteriaId": str(criterion.pk), "fulfilled": True}]
    transcription = TranscriptionFactory(connection=call, finished=True, evaluated_criteria=evaluated)

    page = superuser().page(page_of(transcription))

    shown = ["Anna Nowak", "Good morning.", "I am calling about my invoice.", "A question about an invoice."]
    shown += ["A plain question.", "Greeting", audio_of(recording), 'data-at="15"', "Agent 25.0 %"]
    assert [text for text in shown if text not in page] == []


def test_words_are_shown_as_text_without_markup():
    parts = [{"begin": 0, "end": 1, "speaker": "USER", "text": "<script>alert(1)</script>"}]
    transcription = TranscriptionFactory(finished=True, parts=parts)

    assert "<script>alert(1)" not in superuser().page(page_of(transcription))


@pytest.mark.parametrize(
    "values", [{"status": "PENDING"}, {"status": "ERROR", "error": "HTTP 401: No."}, {"status": "LIMIT_EXCEEDED"}]
)
def test_a_transcription_that_is_not_ready_says_so(values):
    transcription = TranscriptionFactory(**values)

    page = superuser().page(page_of(transcription))

    assert str(transcription.get_status_display()) in page
    assert values.get("error", "") in page


def test_a_conversation_takes_few_queries_however_long_it_is():
    parts = [{"begin": n, "end": n + 1, "speaker": "USER", "text": "Yes."} for n in range(200)]
    transcription = TranscriptionFactory(finished=True, parts=parts)
    client = superuser()

    with few_statements(9):
        client.page(page_of(transcription))


# The list


def test_the_list_says_how_much_of_the_month_is_used(settings, time_machine):
    time_machine.move_to("2026-11-21 12:00")
    settings.TRANSCRIPTION_URL, settings.TRANSCRIPTION_MONTHLY_MINUTES = "http://127.0.0.1:9/v1", 500
    TranscriptionUsageFactory(month="2026-11", seconds=60 * 120)

    assert "120 of this month&#x27;s 500 minutes are used." in superuser().page(LIST).replace("'", "&#x27;")


def test_a_transcription_is_found_by_the_id_of_its_connection_and_by_its_status():
    one, two = TranscriptionFactory(finished=True), TranscriptionFactory(status="ERROR")
    client = superuser()

    found = client.page(LIST, q=two.connection.uid)
    failed = client.page(LIST, status__exact="ERROR")

    for page in (found, failed):
        assert page_of(two) in page
        assert page_of(one) not in page


def test_a_failed_transcription_is_made_again(settings):
    settings.TRANSCRIPTION_URL = "http://127.0.0.1:9/v1"
    with_recording = TranscriptionFactory(status="ERROR", connection=recorded().connection)
    without = TranscriptionFactory(status="ERROR")

    response = superuser().act(LIST, "transcribe_again", with_recording, without)

    assert len(messages_of(response)) == 2
    assert Transcription.objects.get(pk=with_recording.pk).status == "PENDING"
    assert Transcription.objects.get(pk=without.pk).status == "ERROR"


def test_there_is_no_player_without_the_permission():
    recording = recorded()
    transcription = TranscriptionFactory(connection=recording.connection, finished=True)

    page = staff("view_transcription").page(page_of(transcription))

    assert "Good morning." in page
    assert "<audio" not in page
    assert "data-player" not in page


def test_fetching_failed_recordings_again_needs_the_permission():
    failed, page = RecordingFactory(state="failed"), reverse("admin:telephony_recording_changelist")

    staff("view_recording").act(page, "fetch_again", failed)
    assert Recording.objects.get().state == "failed"
    response = superuser().act(page, "fetch_again", failed)

    assert messages_of(response) == ["1 recording is fetched again."]
    assert Recording.objects.get().state == "fetching"


# The sound


def test_playing_a_whole_recording():
    status, content, response = heard(superuser(), recorded())

    assert (status, content) == (200, SOUND)
    assert response["Content-Type"] == "audio/wav"
    assert response["Content-Length"] == str(len(SOUND))
    assert response["Accept-Ranges"] == "bytes"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Cache-Control"].startswith("private")


SIZE = len(SOUND)


@pytest.mark.parametrize(
    ("span", "expected", "first", "last"),
    [
        ("bytes=0-", 206, 0, SIZE - 1),
        ("bytes=0-0", 206, 0, 0),
        ("bytes=100-199", 206, 100, 199),
        ("bytes=100-999999", 206, 100, SIZE - 1),
        ("bytes=-10", 206, SIZE - 10, SIZE - 1),
        ("bytes=-999999", 206, 0, SIZE - 1),
        # A malformed range is the whole file. One beyond the end is refused.
        *((span, 200, 0, SIZE - 1) for span in ("bytes=5-1", "bytes=0-1,5-6", "bytes=-", "bytes=a-b", "seconds=1-2")),
        *((span, 416, 0, -1) for span in (f"bytes={SIZE}-", "bytes=-0")),
    ],
)
def test_a_player_may_jump(span, expected, first, last):
    status, content, response = heard(superuser(), recorded(), span)

    ranges = {200: None, 206: f"bytes {first}-{last}/{SIZE}", 416: f"bytes */{SIZE}"}
    assert (status, content) == (expected, SOUND[first : last + 1])
    assert response.get("Content-Range") == ranges[status]
    assert response.get("Content-Length", "0") == str(last - first + 1)


@pytest.mark.parametrize("span", ["", "bytes=100-199"])
def test_sound_is_sent_as_a_file_which_holds_no_thread_while_a_player_is_paused(span):
    request = RequestFactory().get("/", headers={"Range": span} if span else {})

    response = sound(request, BytesIO(SOUND), SIZE, "a.wav")

    assert isinstance(response, FileResponse)
    assert isinstance(response.file_to_stream, Part)


def test_a_recording_that_is_not_there_is_404():
    gone, removed = recorded(), recorded()
    default_storage.delete(gone.path)
    recordings.remove(removed)
    client = superuser()

    assert [heard(client, recording)[0] for recording in (gone, removed)] == [404, 404]
