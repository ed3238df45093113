"""Verbs of presence in the ledger: log in and out, pause, be ready; and intervals that end by themselves."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from callcentre.core.errors import Conflict, ErrorCode, Invalid
from telephony.models import Agent, AgentSession, AgentState
from telephony.tasks import sweep_agents
from telephony.verbs import presence
from tests.conftest import ACTOR
from tests.telephony.factories import (
    AgentFactory,
    AgentSessionFactory,
    AgentStateFactory,
    ConnectionFactory,
    LegFactory,
    PauseFactory,
)
from tests.telephony.ledgers import MORNING, assert_consistent, at, sessions, states, told
from webhooks.models import Event

pytestmark = pytest.mark.django_db
LIMIT = timedelta(hours=16)


@pytest.fixture
def agent():
    return AgentFactory(login="anna")


def codes(error: pytest.ExceptionInfo[Invalid]) -> list[ErrorCode]:
    return [fault.code for fault in error.value.faults]


# Logging in and out


def test_a_login_begins_ready_time(agent):
    presence.log_in(agent, ACTOR, at(0))

    assert sessions(agent) == [(0, None)]
    assert states(agent) == [("free", 0, None)]
    assert told(agent) == ["AGENT_LOGGED_IN", "AGENT_FREE"]


def test_logging_in_again_changes_nothing(agent):
    presence.log_in(agent, ACTOR, at(0))
    presence.pause(agent, ACTOR, PauseFactory(name="Lunch").pk, at=at(10))
    presence.log_in(agent, ACTOR, at(20))

    assert sessions(agent) == [(0, None)]
    assert states(agent) == [("free", 0, 10), ("Lunch", 10, None)]
    assert told(agent) == ["AGENT_LOGGED_IN", "AGENT_FREE", "AGENT_PAUSED"]


def test_logging_out_ends_the_session_and_the_state(agent):
    presence.log_in(agent, ACTOR, at(0))
    presence.log_out(agent, ACTOR, at(3600))

    assert sessions(agent) == [(0, 3600)]
    assert states(agent) == [("free", 0, 3600)]
    assert AgentSession.objects.get().ended_by == "logout"
    assert told(agent)[2:] == ["AGENT_LOGGED_OUT"]

    presence.log_in(agent, ACTOR, at(4000))

    assert sessions(agent) == [(0, 3600), (4000, None)]
    assert states(agent) == [("free", 0, 3600), ("free", 4000, None)]


def test_logging_out_a_logged_out_agent_changes_nothing(agent):
    presence.log_out(agent, ACTOR)

    assert (sessions(agent), states(agent), told(agent)) == ([], [], [])


def test_inactive_agents_cannot_log_in_or_be_paused():
    agent, pause = AgentFactory(left=True), PauseFactory()

    for verb in (lambda: presence.log_in(agent, ACTOR), lambda: presence.pause(agent, ACTOR, pause.pk)):
        with pytest.raises(Invalid) as error:
            verb()
        assert codes(error) == [ErrorCode.AGENT_INACTIVE]
    assert (sessions(agent), states(agent)) == ([], [])


def test_deactivation_logs_out(agent):
    presence.log_in(agent, ACTOR)

    presence.deactivate(agent, ACTOR)

    assert not Agent.objects.get().is_active
    assert not AgentSession.objects.filter(ended_at=None).exists()
    assert not AgentState.objects.filter(ended_at=None).exists()


def test_a_pause_ends_the_state_and_names_the_pause_before(agent):
    presence.log_in(agent, ACTOR, at(0))
    lunch, training = PauseFactory(name="Lunch"), PauseFactory(name="Training")
    presence.pause(agent, ACTOR, lunch.pk, at=at(10))
    presence.pause(agent, ACTOR, training.pk, at=at(30))
    presence.pause(agent, ACTOR, training.pk, at=at(40))  # the same again changes nothing

    assert states(agent) == [("free", 0, 10), ("Lunch", 10, 30), ("Training", 30, None)]
    assert [
        (event.payload["pause_id"], event.payload["previous_pause_id"])
        for event in Event.objects.filter(action="AGENT_PAUSED").order_by("id")
    ] == [(lunch.pk, None), (training.pk, lunch.pk)]


def test_a_pause_needs_no_session_and_ends_by_a_logout_or_login(agent):
    training = PauseFactory(name="Training").pk
    presence.pause(agent, ACTOR, training, at=at(0))
    presence.log_out(agent, ACTOR, at(20))
    presence.pause(agent, ACTOR, training, at=at(40))
    presence.log_in(agent, ACTOR, at(60))

    assert sessions(agent) == [(60, None)]
    assert states(agent) == [("Training", 0, 20), ("Training", 40, 60), ("free", 60, None)]
    assert told(agent)[:2] == ["AGENT_PAUSED", "AGENT_LOGGED_OUT"]


@pytest.mark.parametrize("kind", ["unknown", "inactive"])
def test_only_an_active_pause_can_be_taken(kind, agent):
    pause_id = PauseFactory(is_active=False).pk if kind == "inactive" else 999_999
    presence.log_in(agent, ACTOR, at(0))

    with pytest.raises(Invalid) as error:
        presence.pause(agent, ACTOR, pause_id)

    assert codes(error) == [ErrorCode.PAUSE_NOT_FOUND]
    assert states(agent) == [("free", 0, None)]


def test_setting_ready_ends_the_pause(agent):
    presence.log_in(agent, ACTOR, at(0))
    presence.pause(agent, ACTOR, PauseFactory(name="Lunch").pk, at=at(10))
    presence.free(agent, ACTOR, at(20))
    presence.free(agent, ACTOR, at(30))

    assert states(agent) == [("free", 0, 10), ("Lunch", 10, 20), ("free", 20, None)]
    assert told(agent) == ["AGENT_LOGGED_IN", "AGENT_FREE", "AGENT_PAUSED", "AGENT_FREE"]


def test_free_outside_a_session_is_refused(agent):
    presence.pause(agent, ACTOR, PauseFactory(name="Training").pk, at=at(0))

    with pytest.raises(Invalid) as error:
        presence.free(agent, ACTOR)

    assert codes(error) == [ErrorCode.AGENT_NOT_LOGGED_IN]
    assert states(agent) == [("Training", 0, None)]


def test_free_while_the_phone_is_in_a_call_is_refused(agent):
    presence.log_in(agent, ACTOR, at(0))
    connection = ConnectionFactory(talking=True, agent=agent)
    LegFactory(connection=connection, role="agent", agent=agent)
    presence.ring(agent, connection, at(5))

    with pytest.raises(Conflict):
        presence.free(agent, ACTOR, at(10))
    # The ledger has the pause only; the phone stays in the call.
    presence.pause(agent, ACTOR, PauseFactory(name="Lunch").pk, at=at(20))
    with pytest.raises(Conflict):
        presence.free(agent, ACTOR, at(30))

    assert states(agent) == [("free", 0, 5), ("ringing", 5, 20), ("Lunch", 20, None)]


def test_stored_instants_are_whole_seconds(agent):
    presence.log_in(agent, ACTOR, MORNING + timedelta(seconds=1, microseconds=999_999))
    presence.log_out(agent, ACTOR)

    assert_consistent(agent)
    assert sessions(agent)[0][0] == 1


def test_a_clock_that_goes_back_makes_intervals_short_not_negative(agent):
    lunch = PauseFactory(name="Lunch")
    presence.log_in(agent, ACTOR, at(100))
    presence.pause(agent, ACTOR, lunch.pk, at=at(90))
    presence.free(agent, ACTOR, at(95))
    presence.log_out(agent, ACTOR, at(50))
    # Not before the end of the last session.
    presence.log_in(agent, ACTOR, at(60))
    presence.pause(agent, ACTOR, lunch.pk, at=at(130))

    assert sessions(agent) == [(100, 100), (100, None)]
    assert states(agent) == [
        ("free", 100, 100),
        ("Lunch", 100, 100),
        ("free", 100, 100),
        ("free", 100, 130),
        ("Lunch", 130, None),
    ]
    assert_consistent(agent)


# Intervals that end by themselves


def test_a_forgotten_session_ends_at_the_limit(agent):
    presence.log_in(agent, ACTOR, at(0))
    presence.pause(agent, ACTOR, PauseFactory(name="Lunch").pk, at=at(3600))

    assert presence.close_long_sessions(at(0) + LIMIT - timedelta(seconds=1), LIMIT) == 0
    assert presence.close_long_sessions(at(0) + LIMIT + timedelta(hours=5), LIMIT) == 1

    assert sessions(agent) == [(0, 16 * 3600)]
    assert states(agent) == [("free", 0, 3600), ("Lunch", 3600, 16 * 3600)]
    assert AgentSession.objects.get().ended_by == "limit"
    assert told(agent)[-1] == "AGENT_LOGGED_OUT"


def test_a_session_over_the_limit_ends_with_the_last_action(agent):
    presence.log_in(agent, ACTOR, at(0))
    presence.pause(agent, ACTOR, PauseFactory(name="Lunch").pk, at=at(17 * 3600))

    presence.close_long_sessions(at(20 * 3600), LIMIT)

    assert sessions(agent) == [(0, 17 * 3600)]
    assert_consistent(agent)


def test_a_pause_outside_a_session_ends_at_the_limit_too(agent):
    presence.pause(agent, ACTOR, PauseFactory(name="Training").pk, at=at(0))

    presence.close_long_sessions(at(17 * 3600), LIMIT)

    assert states(agent) == [("Training", 0, 16 * 3600)]


def test_the_sweep_closes_only_long_sessions():
    now = timezone.now().replace(microsecond=0)
    forgotten, working = AgentFactory(), AgentFactory()
    presence.log_in(forgotten, ACTOR, now - timedelta(hours=17))
    presence.log_in(working, ACTOR, now - timedelta(hours=15))

    sweep_agents()

    assert list(AgentSession.objects.filter(ended_at=None)) == [AgentSession.objects.get(agent=working)]
    assert AgentSession.objects.get(agent=forgotten).ended_at == now - timedelta(hours=1)


@pytest.mark.parametrize("factory", [AgentStateFactory, AgentSessionFactory])
def test_the_database_refuses_two_intervals_of_an_agent_at_once(factory, agent):
    factory(agent=agent, started_at=at(0), ended_at=at(10))
    factory(agent=agent, started_at=at(10), ended_at=at(10))
    factory(agent=agent, started_at=at(10))
    factory(started_at=at(5))

    for started_at, ended_at in ((5, 15), (9, 10), (10, None), (500, None), (-5, None)):
        with pytest.raises(IntegrityError, match="no_two_at_once"), transaction.atomic():
            factory(agent=agent, started_at=at(started_at), ended_at=None if ended_at is None else at(ended_at))
