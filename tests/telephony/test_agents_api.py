"""Agents over the API: pause, log in, log out, free, and what they do now."""

from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine

from callcentre.core.errors import ErrorCode
from telephony.models import AgentState
from telephony.verbs import presence
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory, ConnectionFactory, PauseFactory
from tests.telephony.ledgers import at, states

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent():
    return AgentFactory(login="anna")


def faults(response: Any) -> list[tuple[int, str | None]]:
    return [(error["code"], error.get("field")) for error in response.json()["errors"]]


@pytest.mark.parametrize("spell", [int, str, lambda pk: f" {pk} ", float])
def test_an_agent_is_paused_by_an_id_spelled_as_number_or_text(spell, agent, api):
    pause = PauseFactory(name="Lunch")

    response = api.post("/api/agents/anna/pause", {"pause_id": spell(pause.pk)})

    assert (response.status_code, response.content) == (204, b"")
    assert [kind for kind, _, _ in states(agent)] == ["Lunch"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, ErrorCode.EMPTY),
        ({"pause_id": None}, ErrorCode.EMPTY),
        ({"pause_id": ""}, ErrorCode.EMPTY),
        ({"pause_id": "lunch"}, ErrorCode.NOT_INTEGER),
        ({"pause_id": [1]}, ErrorCode.NOT_INTEGER),
        ({"pause_id": True}, ErrorCode.NOT_INTEGER),
        ({"pause_id": 0}, ErrorCode.PAUSE_NOT_FOUND),
        ({"pause_id": -1}, ErrorCode.PAUSE_NOT_FOUND),
        ({"pause_id": 999_999}, ErrorCode.PAUSE_NOT_FOUND),
        ({"pause_id": 10**30}, ErrorCode.PAUSE_NOT_FOUND),
    ],
)
def test_a_pause_that_there_is_not_is_refused(body, code, agent, api):
    response = api.post("/api/agents/anna/pause", body)

    assert response.status_code == 400
    assert faults(response) == [(code.number, "pause_id")]
    assert not AgentState.objects.exists()


def test_all_that_is_wrong_with_a_pause_is_said_at_once(api):
    AgentFactory(login="anna", left=True)

    response = api.post("/api/agents/anna/pause", {"pause_id": 999_999})

    assert response.status_code == 400
    assert set(faults(response)) == {
        (ErrorCode.AGENT_INACTIVE.number, None),
        (ErrorCode.PAUSE_NOT_FOUND.number, "pause_id"),
    }


def test_an_agent_logs_in_is_paused_free_and_logged_out(agent, api):
    pause = PauseFactory(name="Lunch")

    for verb, body in (("login", {}), ("pause", {"pause_id": pause.pk}), ("free", {}), ("logout", {})):
        response = api.post(f"/api/agents/anna/{verb}", body)
        assert (response.status_code, response.content) == (204, b""), verb

    assert [kind for kind, _, _ in states(agent)] == ["free", "Lunch", "free"]


def test_a_verb_without_a_body_is_understood(agent, api):
    assert api.generic("POST", "/api/agents/anna/login").status_code == 204


def test_free_is_refused_without_a_session_and_in_a_call(agent, api):
    refused = api.post("/api/agents/anna/free")
    presence.log_in(agent, ACTOR)
    presence.ring(agent, ConnectionFactory(talking=True, agent=agent), at(0))
    busy = api.post("/api/agents/anna/free")

    assert (refused.status_code, faults(refused)) == (400, [(ErrorCode.AGENT_NOT_LOGGED_IN.number, None)])
    assert (busy.status_code, faults(busy)) == (409, [(ErrorCode.AGENT_IN_CALL.number, None)])


@time_machine.travel(datetime(2026, 11, 20, 9, tzinfo=UTC), tick=False)
def test_the_statuses_have_state_and_start_in_local_time(api):
    names = ["away", "free", "gone", "paused", "ringing", "talking", "wrapping"]
    agents = {name: AgentFactory(login=name) for name in names}
    AgentFactory(login="left", left=True)
    pause = PauseFactory()
    for name in ("free", "gone", "ringing", "talking", "wrapping"):
        presence.log_in(agents[name], ACTOR, at(0))
    presence.log_out(agents["gone"], ACTOR, at(5))
    presence.pause(agents["paused"], ACTOR, pause.pk, at=at(1))
    for name in ("ringing", "talking", "wrapping"):
        call = ConnectionFactory(talking=True, agent=agents[name])
        presence.ring(agents[name], call, at(2))
        if name != "ringing":
            presence.talk(agents[name], call, at(3))
        if name == "wrapping":
            presence.leave_call(agents[name], call, at(4), wrap_up_seconds=10)

    statuses = api.get("/api/agents_statuses").json()

    assert [tuple(one.values()) for one in statuses] == [
        ("away", "logged_out", "", None),
        ("free", "free", "2026-11-20 09:00:00", None),
        ("gone", "logged_out", "2026-11-20 09:00:05", None),
        ("paused", "paused", "2026-11-20 09:00:01", pause.pk),
        ("ringing", "ringing", "2026-11-20 09:00:02", None),
        ("talking", "talking", "2026-11-20 09:00:03", None),
        ("wrapping", "wrap_up", "2026-11-20 09:00:04", None),
    ]


def test_pauses_come_in_their_order_and_those_out_of_use_are_among_them(api):
    lunch, short = PauseFactory(name="Lunch", order=20), PauseFactory(name="Break", order=10, is_active=False)

    assert api.get("/api/system/pauses").json() == [
        {"id": short.pk, "name": "Break", "active": False},
        {"id": lunch.pk, "name": "Lunch", "active": True},
    ]
