"""Transcriptions: from a recording to parts and extras, against a provider on a real socket."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from telephony import recording_files
from telephony.models import Connection, Recording, Transcription, TranscriptionUsage
from telephony.transcription.attempt import run
from telephony.verbs import transcriptions
from tests.conftest import ACTOR
from tests.telephony.factories import ConnectionFactory, EvaluationCriterionFactory, QueueFactory, RecordingFactory
from tests.telephony.provider import ANALYSIS, Answer, Asked, completion
from tests.telephony.sound import wav
from webhooks.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("provider")]


@pytest.fixture
def model(settings, provider):
    settings.ANALYSIS_URL, settings.ANALYSIS_API_KEY, settings.ANALYSIS_MODEL = provider.url, "key-2", "thinker"


def recorded(content: bytes, call: Connection | None = None, **values: Any) -> Connection:
    """Return a finished call with one more recording, by default of 10 seconds."""
    call = call or ConnectionFactory()
    name = f"{call.uid}-{call.recordings.count()}"
    recording: Recording = RecordingFactory(connection=call, name=name, ready=True, **{"seconds": 10, **values})
    Recording.objects.filter(pk=recording.pk).update(file=default_storage.save(recording.path, ContentFile(content)))
    return call


def transcribed(call: Connection) -> Transcription:
    recording_files.request_transcription(call.pk)
    run(call.pk)
    return Transcription.objects.get(pk=call.pk)


def heard(*segments: tuple[float, float, str, str]) -> Callable[[Asked], Answer]:
    """A provider that tells speakers apart."""
    found = [{"start": start, "end": end, "speaker": label, "text": text} for start, end, label, text in segments]
    return lambda asked: Answer(body={"segments": found})


def speakers(transcription: Transcription) -> list[str]:
    return [part["speaker"] for part in transcription.parts or []]


STEREO = wav(1000, 2000, seconds=10)
MONO = wav(1000, seconds=10)


def test_each_channel_is_a_speaker_and_their_parts_are_in_order(provider):
    said = iter(
        [
            {
                "segments": [
                    {"start": 0, "end": 2, "text": " Good morning. "},
                    {"start": 5, "end": 6.25, "text": "Sure."},
                ]
            },
            {"segments": [{"start": 2.5, "end": 4.75, "text": "I have a question."}]},
        ]
    )
    provider.hear = lambda asked: Answer(body=next(said))

    made = transcribed(recorded(STEREO))

    assert (made.status, made.seconds, made.attempt_count) == ("SUCCESS", 10, 1)
    assert made.parts == [
        {"begin": 0.0, "end": 2.0, "speaker": "USER", "text": "Good morning."},
        {"begin": 2.5, "end": 4.75, "speaker": "CUSTOMER", "text": "I have a question."},
        {"begin": 5.0, "end": 6.25, "speaker": "USER", "text": "Sure."},
    ]


def test_the_request_to_the_provider(provider, settings):
    settings.TRANSCRIPTION_LANGUAGE = "pl"

    transcribed(recorded(MONO))

    (asked,) = provider.heard
    assert asked.authorization == "Bearer key-1"
    assert asked.form.pop("file") == MONO
    assert asked.form == {
        "model": b"whisper-1",
        "response_format": b"verbose_json",
        "timestamp_granularities[]": b"segment",
        "language": b"pl",
    }


def test_a_repeated_event_is_recorded_once(provider):
    call = recorded(MONO)
    transcribed(call)
    transcribed(call)

    told = Event.objects.filter(action="TRANSCRIPTION_READY").values_list("payload", flat=True)
    assert list(told) == [{"connection_id": call.uid, "status": "SUCCESS"}]
    assert len(provider.heard) == 1


def test_a_silent_channel_is_not_sent(provider):
    made = transcribed(recorded(wav(0, 1000, seconds=10)))

    assert len(provider.heard) == 1
    assert set(speakers(made)) == {"CUSTOMER"}


def test_a_silent_call_has_no_parts_and_is_not_sent_to_the_provider(provider, model):
    made = transcribed(recorded(wav(0, 0, seconds=10)))

    assert (made.status, made.parts, made.summary) == ("SUCCESS", [], None)
    assert provider.asked == []


def test_a_long_recording_is_sent_in_pieces(provider, monkeypatch):
    monkeypatch.setattr("telephony.transcription.provider.PIECE_SECONDS", 4)
    provider.hear = heard((1, 9, "", "Hello."))

    made = transcribed(recorded(MONO))

    assert [(part["begin"], part["end"]) for part in made.parts or []] == [(1, 4), (5, 8), (9, 10)]


def test_the_recordings_of_a_call_that_was_held_follow_each_other():
    call = recorded(MONO, seconds=10)
    recorded(MONO, call, seconds=5)

    made = transcribed(call)

    assert made.seconds == 15
    assert [part["begin"] for part in made.parts or []] == [0, 3, 10, 13]


# Speakers of one channel


@pytest.mark.parametrize(
    ("direction", "expected"),
    [("INBOUND", ["USER", "CUSTOMER", "USER"]), ("OUTBOUND", ["CUSTOMER", "USER", "CUSTOMER"])],
)
def test_the_party_that_picked_up_speaks_first(provider, direction, expected):
    provider.hear = heard((0, 1, "A", "Hello."), (1, 2, "B", "Good morning."), (2, 3, "A", "Yes?"))
    inbound = {"inbound": True} if direction == "INBOUND" else {}

    made = transcribed(recorded(MONO, ConnectionFactory(**inbound)))

    assert speakers(made) == expected


def test_names_that_mean_something_are_believed(provider):
    provider.hear = heard((0, 1, "Customer", "Hello."), (1, 2, "agent", "Hello."), (2, 3, "dog", "Woof."))

    assert speakers(transcribed(recorded(MONO))) == ["CUSTOMER", "USER", "UNKNOWN"]


def test_unrecognised_speakers_are_unknown(provider):
    assert speakers(transcribed(recorded(wav(1000, 1000, seconds=10)))) == ["UNKNOWN", "UNKNOWN"]
    assert len(provider.heard) == 1  # two equal channels


def test_the_model_identifies_unrecognised_speakers(provider, model):
    provider.think = lambda asked: completion(ANALYSIS | {"speakers": ["USER", "CUSTOMER"]})

    assert speakers(transcribed(recorded(MONO))) == ["USER", "CUSTOMER"]


def test_a_model_that_miscounts_is_not_believed(provider, model):
    provider.think = lambda asked: completion(ANALYSIS | {"speakers": ["USER"]})

    made = transcribed(recorded(MONO))

    assert (made.status, speakers(made)) == ("SUCCESS", ["UNKNOWN", "UNKNOWN"])


# Analysis by the model


def test_the_model_sums_up_and_evaluates_by_the_criteria_of_the_queue(provider, model):
    queue = QueueFactory()
    greeting = EvaluationCriterionFactory(name="Greeting", description="The agent greets.")
    goodbye = EvaluationCriterionFactory(queue=queue)
    EvaluationCriterionFactory(is_active=False)
    EvaluationCriterionFactory(queue=QueueFactory())
    provider.think = lambda asked: completion(
        ANALYSIS | {"criteria": {str(greeting.pk): True, str(goodbye.pk): False}, "speakers": []}
    )

    made = transcribed(recorded(MONO, ConnectionFactory(inbound=True, queue=queue)))

    assert (made.status, made.summary, made.sentiment) == ("SUCCESS", ANALYSIS["summary"], ANALYSIS["sentiment"])
    assert made.evaluated_criteria == [
        {"criteriaId": str(greeting.pk), "fulfilled": True},
        {"criteriaId": str(goodbye.pk), "fulfilled": False},
    ]
    (asked,) = provider.thought
    assert (asked.authorization, asked.body["model"]) == ("Bearer key-2", "thinker")
    assert "Greeting. The agent greets." in asked.body["messages"][0]["content"]
    assert asked.body["messages"][1]["content"] == "1. UNKNOWN: Good morning.\n2. UNKNOWN: How can I help?"
    assert asked.body["response_format"]["json_schema"]["schema"]["properties"]["criteria"]["required"] == [
        str(greeting.pk),
        str(goodbye.pk),
    ]


def test_without_a_model_there_are_parts_only(provider):
    made = transcribed(recorded(MONO))

    assert (made.status, made.summary, made.sentiment, made.evaluated_criteria) == ("SUCCESS", None, None, None)
    assert provider.thought == []


def test_there_is_no_evaluation_without_criteria(model):
    assert transcribed(recorded(MONO)).evaluated_criteria is None


def test_an_answer_that_a_model_has_wrapped_is_understood(provider, model):
    provider.think = lambda asked: completion(
        '```json\n{"summary": [], "sentiment": {"sentiment": "NEUTRAL", "justification": "Nothing\\u0000."}}\n```'
    )

    made = transcribed(recorded(MONO))

    assert made.sentiment == {"sentiment": "NEUTRAL", "justification": "Nothing\ufffd."}


def test_when_the_months_minutes_are_used_up_nothing_is_sent(provider, settings):
    settings.TRANSCRIPTION_MONTHLY_MINUTES = 1

    assert [transcribed(recorded(MONO, seconds=29.5)).status for _ in range(3)] == [
        "SUCCESS",
        "SUCCESS",
        "LIMIT_EXCEEDED",
    ]

    assert TranscriptionUsage.objects.get(month=f"{timezone.localtime():%Y-%m}").seconds == 60
    assert len(provider.heard) == 2
    told = Event.objects.filter(action="TRANSCRIPTION_READY").order_by("-id").values_list("payload__status", flat=True)
    assert told[0] == "LIMIT_EXCEEDED"


def test_a_call_longer_than_all_the_minutes_is_refused(settings):
    settings.TRANSCRIPTION_MONTHLY_MINUTES = 1

    assert transcribed(recorded(MONO, seconds=61)).status == "LIMIT_EXCEEDED"
    assert not TranscriptionUsage.objects.exists()


def test_a_transcription_over_the_limit_can_be_requested_again(settings):
    settings.TRANSCRIPTION_MONTHLY_MINUTES = 1
    exceeded = transcribed(recorded(MONO, seconds=61))
    settings.TRANSCRIPTION_MONTHLY_MINUTES = 2

    assert transcriptions.request_again(exceeded, ACTOR)
    run(exceeded.pk)

    exceeded.refresh_from_db()
    assert (exceeded.status, exceeded.requested_by) == ("SUCCESS", ACTOR.name)


def test_recordings_from_before_there_was_a_provider_get_a_transcription(settings):
    url, settings.TRANSCRIPTION_URL = settings.TRANSCRIPTION_URL, ""
    call = recorded(MONO)
    recording_files.request_transcription(call.pk)
    recording_files.sweep(timezone.now())
    assert not Transcription.objects.exists()

    settings.TRANSCRIPTION_URL = url
    recording_files.sweep(timezone.now())
    run(call.pk)

    assert Transcription.objects.get().status == "SUCCESS"


def test_without_a_provider_nothing_stays_pending(settings):
    call = recorded(MONO)
    recording_files.request_transcription(call.pk)
    settings.TRANSCRIPTION_URL = ""

    run(call.pk)

    assert not Transcription.objects.exists()
    assert Recording.objects.untranscribed().exists()
