"""Transcriptions when things go wrong: providers that fail, hang or talk nonsense, workers that die."""

import threading
from datetime import timedelta
from functools import partial

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from callcentre.core.due_work import Claim, NotOurs
from telephony.models import Connection, Recording, Transcription, TranscriptionUsage
from telephony.transcription.attempt import run
from telephony.verbs import recordings, transcriptions
from tests.conftest import ACTOR
from tests.serving import at_once
from tests.telephony.factories import EvaluationCriterionFactory, RecordingFactory
from tests.telephony.provider import ANALYSIS, SEGMENTS, Answer, completion
from tests.telephony.sound import wav
from tests.webhooks.receivers import receiver, says
from webhooks.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("provider", "call")]

SEGMENT = {"start": 0, "end": 1, "text": "Hello."}


@pytest.fixture
def call():
    """Over, recorded, and asked to be transcribed."""
    recording: Recording = RecordingFactory(ready=True, seconds=10)
    default_storage.save(recording.path, ContentFile(wav(1000, seconds=2)))
    transcriptions.request(recording.connection_id)
    return recording.connection


def attempt(call: Connection) -> Transcription:
    """One attempt, as if it were due."""
    Transcription.objects.filter(pk=call.pk, status="PENDING").update(next_attempt_at=timezone.now())
    run(call.pk)
    return Transcription.objects.get(pk=call.pk)


def all_attempts(call: Connection) -> Transcription:
    """All attempts, and one more."""
    for _ in range(len(Transcription.delays) + 2):
        made = attempt(call)
    return made


def told() -> list[str]:
    return list(Event.objects.filter(action="TRANSCRIPTION_READY").values_list("payload__status", flat=True))


def seconds_used() -> int:
    return sum(TranscriptionUsage.objects.values_list("seconds", flat=True))


NONSENSE = [
    b"",
    b"<html>502</html>",
    b'{"segments": [NaN]}',
    b"[" * 2000,
    [],
    {},
    {"text": "Only words."},
    {"segments": "none"},
    {"segments": [1]},
    {"segments": [SEGMENT | {"start": "soon"}]},
    {"segments": [SEGMENT | {"text": None}]},
]


@pytest.mark.parametrize("body", NONSENSE, ids=repr)
def test_nonsense_of_the_provider_is_an_error_in_the_end(provider, call, body):
    provider.hear = lambda asked: Answer(body=body)

    first, last = attempt(call), all_attempts(call)

    assert (first.status, bool(first.error)) == ("PENDING", True)
    assert (last.status, last.parts, last.next_attempt_at) == ("ERROR", None, None)
    assert len(provider.heard) == last.attempt_count == len(Transcription.delays) + 1
    assert told() == ["ERROR"]
    assert seconds_used() == 0


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_a_provider_that_may_recover_is_asked_again(provider, call, status):
    answers = iter([Answer(status), Answer(body=SEGMENTS)])
    provider.hear = lambda asked: next(answers)

    assert attempt(call).status == "PENDING"
    assert attempt(call).status == "SUCCESS"
    assert seconds_used() == 10


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 413, 422])
def test_a_provider_that_refuses_is_asked_once(provider, call, status):
    provider.hear = lambda asked: Answer(status, {"error": {"message": "No."}}, {"Location": provider.url})

    made = all_attempts(call)

    assert (made.status, made.error) == ("ERROR", f"HTTP {status}: No.")
    assert len(provider.asked) == 1


def test_a_provider_that_asks_for_time_gets_it(provider, call):
    provider.hear = lambda asked: Answer(429, headers={"Retry-After": "1800"})
    before = timezone.now()

    made = attempt(call)

    assert made.next_attempt_at is not None
    assert made.next_attempt_at >= before + timedelta(seconds=1800)


def test_a_dead_provider_is_an_error_after_the_last_attempt(settings, call):
    settings.TRANSCRIPTION_URL = "http://127.0.0.1:9/v1"

    for _ in Transcription.delays:
        assert attempt(call).status == "PENDING"
    made = attempt(call)

    assert (made.status, made.error) == ("ERROR", "no answer: ConnectionError")
    assert told() == ["ERROR"]


def test_a_provider_that_hangs_is_left(provider, settings, call):
    settings.TRANSCRIPTION_TIMEOUT_SECONDS = 1
    is_over = threading.Event()

    def hang(asked):
        is_over.wait(timeout=60)
        return Answer(body=SEGMENTS)

    provider.hear = hang

    made = attempt(call)
    is_over.set()

    assert (made.status, made.attempt_count) == ("PENDING", 1)
    assert made.error.startswith("no answer: ")


@pytest.mark.parametrize("size", [b"-5", b"zz", b"5;" + b"x" * 70_000])
def test_a_malformed_http_answer_of_the_provider_is_an_error(size, settings, call):
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + size + b"\r\nhello"
    with receiver(says(answer)) as broken:
        settings.TRANSCRIPTION_URL = broken.at("127.0.0.1", "")
        made = attempt(call)

    assert (made.status, made.attempt_count) == ("PENDING", 1)
    assert made.error != ""


BAD_ANSWERS = [
    Answer(500),
    Answer(body={"choices": []}),
    Answer(body={"choices": [{"message": {"content": None, "refusal": "I will not."}}]}),
    completion("Certainly! Here is your summary."),
    completion('{"summary": [], "sentiment": {"sentiment": "POSITIVE"'),
    completion([]),
    completion({}),
    completion(ANALYSIS | {"summary": "It was fine."}),
    completion(ANALYSIS | {"summary": [{"content": "It was fine.", "important": "very"}]}),
    completion(ANALYSIS | {"sentiment": {"sentiment": "ECSTATIC", "justification": ""}}),
    completion(ANALYSIS | {"criteria": None}),
    completion(ANALYSIS | {"criteria": {"999999": True}}),
    completion(ANALYSIS | {"criteria": [{"criteriaId": "1", "fulfilled": True}]}),
]


@pytest.mark.parametrize("answer", BAD_ANSWERS, ids=lambda answer: repr(answer.body))
def test_a_model_that_talks_nonsense_is_an_error_in_the_end_and_the_words_are_kept(
    provider, settings, call, api, answer
):
    settings.ANALYSIS_MODEL = "thinker"
    EvaluationCriterionFactory()
    provider.think = lambda asked: answer

    made = all_attempts(call)

    assert (made.status, len(made.parts or []), made.summary) == ("ERROR", 2, None)
    assert (len(provider.heard), len(provider.thought)) == (1, len(Transcription.delays) + 1)
    assert seconds_used() == 10  # the words were paid for
    response = api.get(f"/api/connections/{call.uid}/transcription?includeSummary=true")
    assert (response.status_code, response.json()["status"]) == (200, "ERROR")
    assert response.json().keys() == {"status", "parts"}


def test_a_model_that_comes_to_its_senses_is_enough(provider, settings, call):
    settings.ANALYSIS_MODEL = "thinker"
    answers = iter([completion("Certainly!"), completion(ANALYSIS)])
    provider.think = lambda asked: next(answers)

    assert attempt(call).status == "PENDING"
    made = attempt(call)

    assert (made.status, made.summary) == ("SUCCESS", ANALYSIS["summary"])
    assert len(provider.heard) == 1


# Recordings and workers


def test_a_recording_that_was_removed_meanwhile_is_an_error(call):
    recordings.remove(Recording.objects.get())

    made = attempt(call)

    assert (made.status, made.error) == ("ERROR", "the recording is gone")


def test_a_file_that_is_not_there_is_an_error_in_the_end(call):
    default_storage.delete(Recording.objects.get().path)

    assert attempt(call).status == "PENDING"
    assert all_attempts(call).status == "ERROR"


def claimed() -> Claim[Transcription]:
    claim = Transcription.objects.claim(Transcription.objects.get().pk)
    assert claim
    return claim


def test_a_worker_that_died_leaves_its_work_to_the_next_one(provider, call):
    claimed()

    run(call.pk)
    assert provider.heard == []  # its lease holds
    made = attempt(call)

    assert (made.status, made.attempt_count) == ("SUCCESS", 2)
    assert told() == ["SUCCESS"]


def test_work_that_ends_every_worker_is_told_as_an_error(provider, call):
    Transcription.objects.update(attempt_count=len(Transcription.delays) + 1, charged_month="2026-11")

    assert attempt(call).status == "ERROR"
    assert (provider.heard, told()) == ([], ["ERROR"])


def test_a_worker_that_was_held_up_stores_nothing_over_its_successor(call):
    held_up = claimed()
    attempt(call)

    for end in (partial(transcriptions.end, status="SUCCESS"), transcriptions.put_off, transcriptions.withdraw):
        with pytest.raises(NotOurs):
            end(held_up)

    made = Transcription.objects.get()
    assert (made.status, made.summary, made.error) == ("SUCCESS", None, "")
    assert told() == ["SUCCESS"]


def test_a_new_request_takes_the_transcription_from_its_worker(provider, call):
    at_work = claimed()

    assert transcriptions.request_again(at_work.row, ACTOR)
    with pytest.raises(NotOurs):
        transcriptions.end(at_work, Transcription.Status.SUCCESS)

    assert Transcription.objects.get().status == "PENDING"
    assert attempt(call).status == "SUCCESS"


def test_a_removed_recording_cannot_be_transcribed_again(call):
    made = attempt(call)
    recordings.remove(Recording.objects.get())

    assert transcriptions.request_again(made, ACTOR) is False
    assert Transcription.objects.get().status == "SUCCESS"


@pytest.mark.django_db(transaction=True)
def test_one_of_two_calls_at_the_limit_of_the_month_is_transcribed(provider, settings):
    settings.TRANSCRIPTION_MONTHLY_MINUTES = 1

    taken = at_once([partial(transcriptions.take_seconds, "2026-11", 40)] * 2)

    assert sorted(taken) == [False, True]
    assert seconds_used() == 40
