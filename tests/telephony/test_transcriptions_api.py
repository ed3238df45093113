"""Answers of transcriptions: statuses, extras, and the two kinds of 404."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callcentre.core.errors import ErrorCode
from telephony.talk_ratio import ratio
from tests.conftest import ApiClient
from tests.telephony.factories import ConnectionFactory, RecordingFactory, TranscriptionFactory

pytestmark = pytest.mark.django_db

ALL = "includeSummary=true&includeSentiment=1&includeEvaluatedCriteria=TRUE&includeTalkListenSilenceRatio=true"
PARTS = [
    {"begin": 0, "end": 15, "speaker": "USER", "text": "Good morning."},
    {"begin": 15, "end": 45, "speaker": "CUSTOMER", "text": "I am calling about my invoice."},
]


@pytest.fixture
def with_provider(settings):
    settings.TRANSCRIPTION_URL = "http://127.0.0.1:9/v1"


def read(api: ApiClient, call: Any, query: str = "") -> Any:
    return api.get(f"/api/connections/{call.uid}/transcription?{query}")


def code_of(response: Any) -> int:
    assert response.status_code == 404
    return int(response.json()["errors"][0]["code"])


def test_the_default_answer_has_status_and_parts_only(api):
    call = TranscriptionFactory(finished=True).connection

    assert read(api, call).json() == {"status": "SUCCESS", "parts": PARTS}


def test_all_extras_come_when_they_are_asked_for(api):
    call = TranscriptionFactory(finished=True).connection

    assert read(api, call, ALL).json() == {
        "status": "SUCCESS",
        "parts": PARTS,
        "summary": [{"content": "A question about an invoice.", "important": True}],
        "sentiment": {"sentiment": "NEUTRAL", "justification": "A plain question."},
        "evaluatedCriteria": [{"criteriaId": "1", "fulfilled": True}],
        "talkListenSilenceRatio": {"talk": 25.0, "listen": 50.0, "silence": 25.0},
    }


@pytest.mark.parametrize("extra", ["summary", "sentiment", "evaluatedCriteria", "talkListenSilenceRatio"])
def test_each_extra_comes_alone(api, extra):
    call = TranscriptionFactory(finished=True).connection

    answer = read(api, call, f"include{extra[0].upper()}{extra[1:]}=true").json()

    assert answer.keys() == {"status", "parts", extra}


def test_an_unavailable_extra_is_absent(api):
    nothing = {"summary": None, "sentiment": None, "evaluated_criteria": None}
    unknown = [{"begin": 0, "end": 1, "speaker": "UNKNOWN", "text": "Hello."}]
    call = TranscriptionFactory(finished=True, parts=unknown, **nothing).connection

    assert read(api, call, ALL).json() == {"status": "SUCCESS", "parts": unknown}


@pytest.mark.parametrize("status", ["PENDING", "ERROR", "LIMIT_EXCEEDED"])
def test_a_transcription_that_is_not_ready_has_its_status_and_no_parts(api, status):
    call = TranscriptionFactory(status=status).connection

    assert read(api, call, ALL).json() == {"status": status, "parts": []}


def test_a_recording_that_waits_for_its_turn_is_pending(api, with_provider):
    call = RecordingFactory(fetching=True).connection

    assert read(api, call, ALL).json() == {"status": "PENDING", "parts": []}


def test_a_recording_without_a_provider_is_404_with_its_own_code(api):
    call = RecordingFactory(ready=True).connection

    assert code_of(read(api, call)) == ErrorCode.TRANSCRIPTION_NOT_CONFIGURED.number


@pytest.mark.parametrize("state", ["failed", "removed"])
def test_an_unavailable_recording_is_refused(api, with_provider, state):
    call = RecordingFactory(state=state).connection

    assert code_of(read(api, call)) == ErrorCode.TRANSCRIPTION_NOT_FOUND.number


def test_a_connection_without_recording_and_transcription_is_404(api, with_provider):
    assert code_of(read(api, ConnectionFactory())) == ErrorCode.TRANSCRIPTION_NOT_FOUND.number


def test_every_malformed_parameter_is_reported(api):
    call = TranscriptionFactory(finished=True).connection

    response = read(api, call, "includeSummary=perhaps&includeSentiment=2")

    assert response.status_code == 400
    assert {error["field"] for error in response.json()["errors"]} == {"includeSummary", "includeSentiment"}


def spoken(*spans: tuple[float, float, str]) -> list[dict[str, Any]]:
    return [{"begin": begin, "end": end, "speaker": speaker, "text": ""} for begin, end, speaker in spans]


@pytest.mark.parametrize(
    ("parts", "seconds", "expected"),
    [
        ([], 10, (0, 0, 100)),
        (spoken((0, 4, "USER"), (5, 8, "CUSTOMER")), 10, (40, 30, 30)),
        # a repeated part counts once
        (spoken((0, 4, "USER"), (2, 4, "USER")), 10, (40, 0, 60)),
        # simultaneous speech counts half for each speaker
        (spoken((0, 6, "USER"), (4, 10, "CUSTOMER")), 10, (50, 50, 0)),
        # parts after the end extend the length
        (spoken((0, 5, "USER"), (10, 20, "CUSTOMER")), 12, (25, 50, 25)),
        (spoken((0, 1, "USER"), (1, 3, "CUSTOMER")), 3, (33.33, 66.67, 0)),
    ],
)
def test_the_ratio_is_of_the_length_of_the_call(parts, seconds, expected):
    assert ratio(parts, seconds) == dict(zip(("talk", "listen", "silence"), expected, strict=True))


def test_without_a_length_there_is_no_ratio():
    assert ratio([], 0) is None


_SPANS = st.tuples(st.floats(0, 500), st.floats(0, 500), st.sampled_from(["USER", "CUSTOMER"]))


@given(st.lists(_SPANS, max_size=12), st.floats(1, 600))
def test_the_ratio_sums_to_100_without_negative_shares(spans, seconds):
    parts = spoken(*((min(a, b), max(a, b), speaker) for a, b, speaker in spans))

    shares = ratio(parts, seconds)

    assert shares is not None
    assert min(shares.values()) >= 0
    assert sum(shares.values()) == pytest.approx(100, abs=1e-9)
