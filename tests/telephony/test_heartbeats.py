"""Heartbeats of desks and programs: agents who fall silent are paused, then logged out."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine

from callcentre.core.errors import ErrorCode, Invalid
from telephony import listener
from telephony.admin.state_labels import label_of
from telephony.current_states import current_states
from telephony.models import Agent, AgentSession, AgentState, Pause
from telephony.verbs import presence
from tests.backoffice import superuser
from tests.conftest import ACTOR
from tests.desk.agents import Desk, desk_of
from tests.telephony.factories import AgentFactory, ConnectionFactory, LegFactory, PauseFactory
from tests.telephony.ledgers import assert_consistent, at, sessions, states, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


@pytest.fixture(autouse=True)
def limits(settings):
    settings.AGENT_SILENT, settings.AGENT_GONE = timedelta(seconds=100), timedelta(seconds=1000)


@pytest.fixture
def agent():
    """An agent who logged in at 0, and whose only heartbeat was at 10."""
    agent: Agent = AgentFactory(login="anna")
    presence.log_in(agent, ACTOR, at(0))
    presence.hear(agent.pk, at(10))
    return agent


def test_a_silent_agent_is_paused_then_logged_out_with_the_reason(agent):
    presence.end_silence(at(109))
    assert states(agent) == [("free", 0, None)]

    presence.end_silence(at(112))
    presence.end_silence(at(113))
    assert states(agent) == [("free", 0, 110), ("No contact", 110, None)]
    assert label_of(current_states([agent.pk])[agent.pk]) == "paused: No contact"

    presence.end_silence(at(1009))
    assert sessions(agent) == [(0, None)]
    presence.end_silence(at(1010))
    assert states(agent) == [("free", 0, 110), ("No contact", 110, 1010)]
    assert list(AgentSession.objects.values_list("ended_by", "reason")) == [("silent", "No heartbeat for 1000 s.")]
    assert list(AgentState.objects.order_by("id").values_list("reason", flat=True)) == ["", "No heartbeat for 100 s."]
    assert told(agent)[2:] == ["AGENT_PAUSED", "AGENT_LOGGED_OUT"]
    assert_consistent(agent)


def test_an_agent_without_heartbeats_stays_whatever_happens():
    agent = AgentFactory()
    presence.log_in(agent, ACTOR, at(0))
    presence.hear(agent.pk, at(10), begins=False)

    presence.end_silence(at(90_000))

    assert states(agent) == [("free", 0, None)]


def test_heartbeats_of_the_session_before_do_not_count(agent):
    presence.log_out(agent, ACTOR, at(20))
    presence.log_in(agent, ACTOR, at(30))

    presence.end_silence(at(5000))

    assert sessions(agent) == [(0, 20), (30, None)]
    assert states(agent)[-1] == ("free", 30, None)


def test_a_heartbeat_ends_the_pause_of_a_silence_and_no_other(agent):
    presence.end_silence(at(120))
    presence.hear(agent.pk, at(130), begins=False)
    presence.pause(agent, ACTOR, PauseFactory(name="Lunch").pk, at=at(140))
    presence.end_silence(at(500))
    presence.hear(agent.pk, at(600))

    assert states(agent) == [("free", 0, 110), ("No contact", 110, 130), ("free", 130, 140), ("Lunch", 140, None)]


def test_a_silent_agent_is_logged_out_from_a_pause_of_the_own_too(agent):
    presence.pause(agent, ACTOR, PauseFactory(name="Lunch").pk, at=at(20))

    presence.end_silence(at(2000))

    assert states(agent) == [("free", 0, 20), ("Lunch", 20, 1010)]
    assert sessions(agent) == [(0, 1010)]


def test_a_call_and_its_wrap_up_are_left_alone_and_the_rule_holds_after_them(agent):
    call = ConnectionFactory(talking=True, agent=agent)
    presence.ring(agent, call, at(50))
    presence.end_silence(at(150))
    presence.talk(agent, call, at(160))
    presence.end_silence(at(200))
    presence.leave_call(agent, call, at(300), wrap_up_seconds=20)
    presence.end_silence(at(310))
    presence.end_wrap_ups(at(320))
    presence.end_silence(at(321))

    kinds = [("free", 0, 50), ("ringing", 50, 160), ("talking", 160, 300), ("wrap_up", 300, 320), ("free", 320, 320)]
    assert states(agent) == [*kinds, ("No contact", 320, None)]


def test_an_agent_who_paused_in_a_call_is_not_logged_out_before_its_end(agent):
    leg = LegFactory(agent=agent, role="agent", state="up", connection=ConnectionFactory(talking=True, agent=agent))
    presence.pause(agent, ACTOR, PauseFactory().pk, at=at(20))
    presence.end_silence(at(3000))
    assert sessions(agent) == [(0, None)]

    type(leg).objects.update(state="ended", ended_at=at(3000))
    presence.end_silence(at(3001))

    assert sessions(agent) == [(0, 1010)]


@pytest.mark.parametrize(
    ("name", "last"), [("AGENT_SILENT", ("free", 0, 1010)), ("AGENT_GONE", ("No contact", 110, None))]
)
def test_a_limit_of_zero_is_off(name, last, agent, settings):
    setattr(settings, name, timedelta())

    for second in (500, 9000):
        presence.end_silence(at(second))

    assert states(agent)[-1] == last


def test_heartbeats_are_stored_every_five_seconds_at_most_also_if_the_clock_is_set_back(agent):
    stored = []
    for second in (11, 15, 16, 17, 3):
        presence.hear(agent.pk, at(second))
        stored.append(AgentSession.objects.get().heard_at)

    assert stored == [at(10), at(10), at(16), at(16), at(3)]


def test_nobody_chooses_the_pause_of_a_silence(agent):
    mine = PauseFactory(name="No contact")
    presence.end_silence(at(120))
    pause = Pause.objects.get()

    assert (pause.pk, pause.is_automatic, pause.is_active) == (mine.pk, True, False)
    with pytest.raises(Invalid):
        presence.pause(agent, ACTOR, pause.pk, after_call=True)
    url = f"/admin/telephony/pause/{pause.pk}/change/"
    client = superuser()
    assert client.post(url, {"name": "Away", "is_active": "on", "order": "5"}).status_code == 302
    pause.refresh_from_db()
    assert (pause.name, pause.is_active) == ("Away", False)


def test_a_program_sends_heartbeats_as_long_as_its_agent_is_logged_in(api):
    agent = AgentFactory(login="anna")
    assert api.post("/api/agents/anna/heartbeat").json()["errors"][0]["code"] == ErrorCode.AGENT_NOT_LOGGED_IN.number

    presence.log_in(agent, ACTOR)

    assert api.post("/api/agents/anna/heartbeat").status_code == 204
    assert AgentSession.objects.get().heard_at is not None


def test_the_desk_begins_heartbeats_other_pages_go_on_and_an_agent_who_is_back_is_ready():
    with time_machine.travel(at(0), tick=False) as clock:
        desk: Desk = desk_of()
        desk.get("/admin/desk/incoming")
        assert AgentSession.objects.get().heard_at is None
        desk.now()
        assert AgentSession.objects.get().heard_at == at(0)
        presence.end_silence(at(200))
        clock.move_to(at(210))

        desk.get("/admin/desk/incoming")
    assert states(desk.agent) == [("free", 0, 100), ("No contact", 100, 210), ("free", 210, None)]


def test_after_its_start_the_listener_lets_the_desks_come_back_first(monkeypatch):
    swept: list[Any] = []
    monkeypatch.setattr(presence, "end_silence", swept.append)
    leading = listener.Listener()

    leading._end_silence()
    assert swept == []
    leading._began_at -= listener.RETURN_SECONDS
    leading._end_silence()
    assert len(swept) == 1
