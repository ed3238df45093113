"""Calls in an agent's ledger: ringing, talking, wrap-up, and the state before the call again."""

import pytest
from django.db import transaction

from telephony.models import Agent, AgentState, Connection
from telephony.verbs import presence
from tests.conftest import ACTOR
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory, ConnectionFactory, LegFactory, PauseFactory
from tests.telephony.ledgers import assert_consistent, at, sessions, states, told
from webhooks.models import Event

pytestmark = pytest.mark.django_db


@pytest.fixture
def away():
    return AgentFactory(login="anna")


@pytest.fixture
def agent(away):
    """An agent who has logged in."""
    presence.log_in(away, ACTOR, at(0))
    return away


def call(agent: Agent, state: str = "up") -> Connection:
    """A connection with a leg of the agent's phone."""
    connection = ConnectionFactory(talking=True, agent=agent)
    LegFactory(connection=connection, role="agent", agent=agent, state=state)
    return connection


def end(connection: Connection) -> None:
    connection.legs.update(ended_at=at(0), state="ended")


def leave(agent: Agent, connection: Connection, second: int, wrap_up_seconds: int = 0) -> None:
    end(connection)
    presence.leave_call(agent, connection, at(second), wrap_up_seconds)


def talking(agent: Agent, rings: int, talks: int) -> Connection:
    connection = call(agent)
    presence.ring(agent, connection, at(rings))
    presence.talk(agent, connection, at(talks))
    return connection


def test_a_call_rings_is_talked_and_wrapped_up_and_the_agent_is_free_again(agent):
    connection = talking(agent, 10, 14)
    leave(agent, connection, 74, 10)

    for second in (83, 90, 91):
        presence.end_wrap_ups(at(second))

    # The wrap-up ended when it was due, even if the sweep came late.
    assert states(agent) == [
        ("free", 0, 10),
        ("ringing", 10, 14),
        ("talking", 14, 74),
        ("wrap_up", 74, 84),
        ("free", 84, None),
    ]
    assert told(agent) == ["AGENT_LOGGED_IN", "AGENT_FREE", "AGENT_FREE"]


def test_the_event_of_ringing_has_agent_and_numbers(away):
    connection = ConnectionFactory(waiting=True, src="+48225550107", dst="+48225550100")
    presence.ring(away, connection, at(0))

    event = Event.objects.get(action="AGENT_RINGING")
    assert event.subject == f"connection:{connection.uid}"
    assert event.payload == {
        "connection_id": connection.uid,
        "queue_id": connection.queue_id,
        "agent_login": "anna",
        "source_number": "+48225550107",
        "destination_number": "+48225550100",
    }


def test_a_call_that_was_not_answered_leaves_no_wrap_up(agent):
    connection = call(agent, "ringing")
    presence.ring(agent, connection, at(10))
    leave(agent, connection, 30)

    assert states(agent) == [("free", 0, 10), ("ringing", 10, 30), ("free", 30, None)]


def test_an_agent_can_end_the_wrap_up(agent):
    connection = call(agent)
    presence.ring(agent, connection, at(0))
    leave(agent, connection, 5, 100)
    presence.free(agent, ACTOR, at(8))

    presence.end_wrap_ups(at(200))

    assert states(agent)[-2:] == [("wrap_up", 5, 8), ("free", 8, None)]


def test_a_call_during_a_pause_returns_to_the_pause(agent):
    presence.pause(agent, ACTOR, PauseFactory(name="Training").pk, at=at(1))
    connection = talking(agent, 2, 3)
    leave(agent, connection, 4, 5)
    presence.end_wrap_ups(at(100))

    assert states(agent)[1:] == [
        ("Training", 1, 2),
        ("ringing", 2, 3),
        ("talking", 3, 4),
        ("wrap_up", 4, 9),
        ("Training", 9, None),
    ]
    assert told(agent) == ["AGENT_LOGGED_IN", "AGENT_FREE", "AGENT_PAUSED", "AGENT_PAUSED"]


def test_a_call_without_a_state_before_has_none_after(away):
    connection = talking(away, 2, 3)
    leave(away, connection, 4, 5)
    presence.end_wrap_ups(at(100))

    assert states(away) == [("ringing", 2, 3), ("talking", 3, 4), ("wrap_up", 4, 9)]
    assert told(away) == []


def test_a_call_during_a_wrap_up_ends_it_and_resumes_the_state_before_both(agent):
    first, second = call(agent), call(agent)
    presence.ring(agent, first, at(1))
    end(first)
    end(second)
    presence.leave_call(agent, first, at(5), wrap_up_seconds=100)
    presence.ring(agent, second, at(7))
    presence.leave_call(agent, second, at(9))

    assert states(agent)[-3:] == [("wrap_up", 5, 7), ("ringing", 7, 9), ("free", 9, None)]


@pytest.mark.parametrize("before", ["ring", "talk"])
def test_a_pause_in_a_call_is_kept_after_it(before, agent):
    connection = call(agent)
    presence.ring(agent, connection, at(1))
    if before == "talk":
        presence.talk(agent, connection, at(1))
    presence.pause(agent, ACTOR, PauseFactory(name="Lunch").pk, at=at(5))
    presence.talk(agent, connection, at(6))
    leave(agent, connection, 20, 10)

    assert states(agent)[-1] == ("Lunch", 5, None)


def test_a_logout_in_a_call_is_kept(agent):
    connection = call(agent)
    presence.ring(agent, connection, at(1))
    presence.log_out(agent, ACTOR, at(5))
    presence.talk(agent, connection, at(6))
    leave(agent, connection, 20, 10)

    assert states(agent) == [("free", 0, 1), ("ringing", 1, 5)]
    assert sessions(agent) == [(0, 5)]


@pytest.mark.parametrize("has_left_it", [False, True])
def test_a_login_while_the_phone_is_in_a_call_begins_with_that_call(has_left_it, away):
    connection = talking(away, 1, 2)
    if has_left_it:
        presence.log_out(away, ACTOR, at(3))
    presence.log_in(away, ACTOR, at(5))
    leave(away, connection, 20)

    assert states(away)[-2:] == [("talking", 5, 20), ("free", 20, None)]
    assert sessions(away) == [(5, None)]
    assert_consistent(away)


# Repeated and late events, and two calls


@pytest.mark.parametrize("verb", ["talk", "leave_call"])
def test_news_of_another_call_change_nothing(verb, agent):
    talking(agent, 1, 2)
    getattr(presence, verb)(agent, call(agent), at(3))

    assert states(agent)[-1] == ("talking", 2, None)


def test_news_that_come_twice_change_nothing(agent):
    connection = call(agent)
    presence.ring(agent, connection, at(1))
    for second in (2, 3):
        presence.talk(agent, connection, at(second))
    end(connection)
    for second in (4, 5):
        presence.leave_call(agent, connection, at(second), wrap_up_seconds=10)

    assert states(agent)[-2:] == [("talking", 2, 4), ("wrap_up", 4, None)]


def test_a_second_call_of_a_phone_begins_at_the_end_of_the_first(agent):
    first, second = call(agent), call(agent, "ringing")
    presence.ring(agent, first, at(1))
    presence.talk(agent, first, at(2))
    presence.ring(agent, second, at(3))
    leave(agent, first, 10, 30)
    presence.talk(agent, second, at(12))
    leave(agent, second, 20)

    assert states(agent)[2:] == [("talking", 2, 10), ("ringing", 10, 12), ("talking", 12, 20), ("free", 20, None)]


def test_the_picked_up_one_of_two_ringing_calls_counts(agent):
    first, second = call(agent), call(agent)
    presence.ring(agent, first, at(1))
    presence.ring(agent, second, at(1))
    presence.talk(agent, second, at(3))
    presence.talk(agent, first, at(4))
    leave(agent, second, 10)

    assert states(agent)[1:] == [("ringing", 1, 3), ("talking", 3, 10), ("talking", 10, None)]


def test_a_call_costs_few_statements(agent):
    connection = call(agent)
    # As in a call: only the agent's primary key is known, and the transaction of the call is open.
    same = Agent(pk=agent.pk)
    with transaction.atomic():
        with few_statements(4):
            presence.ring(same, connection, at(1))
        with few_statements(3):
            presence.talk(same, connection, at(2))
        end(connection)
        with few_statements(4):
            presence.leave_call(same, connection, at(3), wrap_up_seconds=10)
        with few_statements(2):
            presence.leave_call(same, connection, at(4), wrap_up_seconds=10)


def test_wrap_ups_end_in_few_statements_however_many_there_are():
    for agent in AgentFactory.create_batch(20):
        presence.log_in(agent, ACTOR, at(0))
        connection = call(agent)
        presence.ring(agent, connection, at(0))
        end(connection)
        presence.leave_call(agent, connection, at(1), wrap_up_seconds=10)

    with few_statements(5):  # two of them for a savepoint
        presence.end_wrap_ups(at(20))
    with few_statements(3):
        presence.end_wrap_ups(at(20))

    assert AgentState.objects.filter(kind="free", started_at=at(11), ended_at=None).count() == 20
