"""The demonstration's topics, shortcuts and transcriptions: what a client finds there."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from callcentre.demonstration import switchboard
from telephony import recording_files
from telephony.models import Queue, Transcription
from telephony.transcription.attempt import run
from tests.conftest import ApiClient, kept_for_all

pytestmark = pytest.mark.django_db

ALL = "includeSummary=true&includeSentiment=true&includeEvaluatedCriteria=true&includeTalkListenSilenceRatio=true"


@pytest.fixture(scope="module", autouse=True)
def _seeded(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with kept_for_all(django_db_blocker, switchboard.seed):
        yield


def test_the_hotline_has_two_active_groups_one_of_them_empty(api: ApiClient) -> None:
    queue = Queue.objects.get(name="Hotline")

    answer = api.get(f"/api/queues/{queue.pk}/topics").json()

    assert [(group["group_name"], len(group["topics"])) for group in answer["topic_groups"]] == [
        ("Orders", 3),
        ("Other", 0),
    ]
    assert {field["type"] for field in answer["custom_fields"]} == {"TEXT", "LONG_TEXT"}


def test_a_shortcut_leads_to_the_queue_and_another_to_a_number_each_with_its_icon(api: ApiClient) -> None:
    shortcuts = api.get("/api/system/transfer_shortcuts").json()

    assert [(bool(one["queue"]), bool(one["number"])) for one in shortcuts] == [(True, False), (False, True)]
    assert all(one["icon"].startswith("iVBORw0KGgo") for one in shortcuts)


@pytest.mark.slow("makes the demonstration")
def test_there_is_a_transcription_in_each_state_and_one_connection_with_a_topic(api: ApiClient) -> None:
    found = {transcription.status: transcription.connection for transcription in Transcription.objects.all()}

    answers = {status: api.get(f"/api/connections/{call.uid}/transcription?{ALL}") for status, call in found.items()}

    assert {status: answer.json()["status"] for status, answer in answers.items()} == {
        status: status for status in ("SUCCESS", "PENDING", "ERROR", "LIMIT_EXCEEDED")
    }
    ready = answers["SUCCESS"].json()
    assert ready.keys() == {
        "status",
        "parts",
        "summary",
        "sentiment",
        "evaluatedCriteria",
        "talkListenSilenceRatio",
    }
    assert len(ready["evaluatedCriteria"]) == 3
    assert min(ready["talkListenSilenceRatio"].values()) > 5
    topic = api.get(f"/api/connections/{found['SUCCESS'].uid}/topic").json()
    assert topic["custom_fields"][0]["value"] == "815/2026"


def test_the_states_stay_as_they_are_while_the_service_runs(settings: Any) -> None:
    before = Counter(Transcription.objects.values_list("status", flat=True))

    recording_files.sweep(timezone.now() + timedelta(days=30))
    for pk in Transcription.objects.values_list("pk", flat=True):
        run(pk)

    assert Counter(Transcription.objects.values_list("status", flat=True)) == before


def test_a_second_time_adds_nothing() -> None:
    switchboard.seed()

    assert Transcription.objects.count() == 4
