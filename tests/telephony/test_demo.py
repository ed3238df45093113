"""The demonstration: something of everything for every agent, once, the same every time."""

from collections import Counter
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from callcentre.demonstration import data, switchboard
from callcentre.demonstration.calls import Month
from telephony import recording_files
from telephony.models import (
    Agent,
    AgentSession,
    AgentState,
    Connection,
    Leg,
    Offer,
    Pause,
    Queue,
    Transcription,
    Transfer,
)
from telephony.transcription.attempt import run
from tests.conftest import kept_for_all

pytestmark = pytest.mark.django_db

AGENTS = [f"agent{number}" for number in range(1, 6)]


@pytest.fixture(scope="module", autouse=True)
def _seeded(django_db_setup, django_db_blocker):
    with kept_for_all(django_db_blocker, switchboard.seed):
        yield


def test_every_agent_has_something_of_everything():
    agents = Agent.objects.order_by("login")

    assert [agent.login for agent in agents] == AGENTS
    for agent in agents:
        assert_has_something_of_everything(agent)


def assert_has_something_of_everything(agent: Agent) -> None:
    assert agent.sessions.count() > 20
    assert set(agent.states.values_list("kind", flat=True)) == {"free", "ringing", "talking", "wrap_up", "paused"}
    assert set(agent.states.exclude(pause=None).values_list("pause__name", flat=True)) == {"Break", "Lunch", "Training"}
    assert set(agent.offers.values_list("outcome", flat=True)) >= {"answered", "not_answered", "refused"}
    assert agent.offers.filter(transferred_at__isnull=False).exists()
    outbound = agent.connections.filter(direction="OUTBOUND")
    assert set(outbound.values_list("disposition", flat=True)) == {"ANSWERED", "BUSY", "NO ANSWER", "FAILED"}


def test_a_second_time_adds_nothing():
    def counts() -> list[int]:
        models: list[Any] = [Agent, Queue, Connection, Leg, Offer, Transfer, AgentSession, AgentState, Transcription]
        return [model.objects.count() for model in models]

    before = counts()
    switchboard.seed()

    assert counts() == before


@pytest.mark.trial
@pytest.mark.slow("makes the demonstration")
def test_it_is_the_same_every_time():
    def calls() -> list[tuple[Any, ...]]:
        shifts = data("switchboard")["shifts"]
        month = Month(Queue.objects.get(), list(Agent.objects.order_by("login")), list(Pause.objects.all()), shifts)
        made = month.rows[Connection]
        return [(call.created_at, call.src, call.dst, call.disposition, call.ended_at) for call in made]

    assert calls() == calls()


def test_all_of_it_is_over_and_of_the_last_thirty_days():
    today = timezone.localdate()

    assert not Connection.objects.open().exists()
    assert not AgentState.objects.filter(ended_at=None).exists()
    days = {timezone.localdate(start) for start in Connection.objects.values_list("created_at", flat=True)}
    assert days == {today - timedelta(days=back) for back in range(1, 31)}


def test_some_callers_gave_up_and_some_calls_went_on_to_a_second_agent():
    given_up = Connection.objects.filter(direction="INBOUND", disposition="NO ANSWER")
    second = Offer.objects.filter(
        outcome="answered", connection__agent=F("agent"), offered_at__gt=F("connection__created_at")
    )

    assert given_up.filter(offers=None).exists()
    assert given_up.exclude(offers=None).exists()
    assert second.filter(connection__offers__outcome="not_answered").exists()


def test_states_fill_sessions_without_a_gap():
    for session in AgentSession.objects.all():
        within = session.agent.states.filter(started_at__gte=session.started_at, ended_at__lte=session.ended_at)
        spans = sorted(within.values_list("started_at", "ended_at"))
        assert spans[0][0] == session.started_at
        assert spans[-1][1] == session.ended_at
        assert all(ends == begins for (_, ends), (begins, _) in pairwise(spans))


# Topics, shortcuts and transcriptions


ALL = "includeSummary=true&includeSentiment=true&includeEvaluatedCriteria=true&includeTalkListenSilenceRatio=true"


def test_the_hotline_has_two_active_groups_one_of_them_empty(api):
    queue = Queue.objects.get(name="Hotline")

    answer = api.get(f"/api/queues/{queue.pk}/topics").json()

    assert [(group["group_name"], len(group["topics"])) for group in answer["topic_groups"]] == [
        ("Orders", 3),
        ("Other", 0),
    ]
    assert {field["type"] for field in answer["custom_fields"]} == {"TEXT", "LONG_TEXT"}


def test_a_shortcut_leads_to_the_queue_and_another_to_a_number_each_with_its_icon(api):
    shortcuts = api.get("/api/system/transfer_shortcuts").json()

    assert [(bool(one["queue"]), bool(one["number"])) for one in shortcuts] == [(True, False), (False, True)]
    assert all(one["icon"].startswith("iVBORw0KGgo") for one in shortcuts)


def test_there_is_a_transcription_in_each_state_and_one_connection_with_a_topic(api):
    found = {transcription.status: transcription.connection for transcription in Transcription.objects.all()}

    answers = {status: api.get(f"/api/connections/{call.uid}/transcription?{ALL}") for status, call in found.items()}

    assert {status: answer.json()["status"] for status, answer in answers.items()} == {
        status: status for status in ("SUCCESS", "PENDING", "ERROR", "LIMIT_EXCEEDED")
    }
    ready = answers["SUCCESS"].json()
    assert ready.keys() == {"status", "parts", "summary", "sentiment", "evaluatedCriteria", "talkListenSilenceRatio"}
    assert len(ready["evaluatedCriteria"]) == 3
    assert min(ready["talkListenSilenceRatio"].values()) > 5
    topic = api.get(f"/api/connections/{found['SUCCESS'].uid}/topic").json()
    assert topic["custom_fields"][0]["value"] == "815/2026"


def test_the_states_stay_as_they_are_while_the_service_runs(settings):
    before = Counter(Transcription.objects.values_list("status", flat=True))

    recording_files.sweep(timezone.now() + timedelta(days=30))
    for pk in Transcription.objects.values_list("pk", flat=True):
        run(pk)

    assert Counter(Transcription.objects.values_list("status", flat=True)) == before
