"""Invariants of the ledger, for any order of events, at once, and with any clock."""

import random
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from callcentre.core.errors import Conflict, Invalid
from telephony.models import Agent, AgentSession, AgentState, Connection
from telephony.verbs import ledger, presence
from tests.conftest import ACTOR
from tests.serving import at_once
from tests.telephony.factories import AgentFactory, ConnectionFactory, LegFactory, PauseFactory, TopicFactory
from tests.telephony.ledgers import assert_consistent, at, states, told
from tests.tiers import examples
from webhooks.models import Event

CALLS = 2
VERBS = [
    *("log_in", "log_out", "pause", "free", "ring", "talk", "leave_call", "tick", "limit", "move"),
    # At the desk: the state after the call, a longer wrap-up, and one that waits for the topic.
    *("pause_later", "free_later", "extend", "await_topic", "topic_given"),
    *("hear", "silence"),
]
# (verb, which call or pause, seconds since the last one: the clock may go back)
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*VERBS, "leave_call"]),
        st.integers(0, CALLS - 1),
        st.integers(-20, 40),
        st.sampled_from([0, 7]),
    ),
    max_size=30,
)


def act(agent: Agent, calls: list[Connection], pauses: list[int], step: tuple[str, int, int, int], now: int) -> None:
    """Take one step. A step of a call runs within the transaction that has locked the call."""
    verb, which, _, wrap_up_seconds = step
    try:
        match verb:
            case "log_in" | "log_out" | "free":
                getattr(presence, verb)(agent, ACTOR, at(now))
            case "pause":
                presence.pause(agent, ACTOR, pauses[which], at=at(now))
            case "pause_later" | "free_later" | "extend" | "await_topic" | "topic_given" | "hear" | "silence":
                act_at_desk(agent, calls[which], pauses[which], verb, now)
            case "tick":
                presence.end_wrap_ups(at(now))
            case "move":
                move_end(agent, calls[which], step[2])
            case "limit":
                presence.close_long_sessions(at(now), timedelta(seconds=100))
            case _:
                with transaction.atomic():
                    connection = Connection.objects.select_for_update(no_key=True).get(pk=calls[which].pk)
                    if verb == "leave_call":
                        connection.legs.filter(agent=agent).update(ended_at=at(now), state="ended")
                        connection.ended_at = at(now)  # of the call that is passed on alone
                        presence.leave_call(agent, connection, at(now), wrap_up_seconds)
                    else:
                        new = {"ended_at": None, "state": "up" if verb == "talk" else "ringing"}
                        connection.legs.filter(agent=agent).update(**new)
                        getattr(presence, verb)(agent, connection, at(now))
    except (Invalid, Conflict):
        pass


def act_at_desk(agent: Agent, call: Connection, pause: int, verb: str, now: int) -> None:
    match verb:
        case "pause_later":
            presence.pause(agent, ACTOR, pause, at=at(now), after_call=True)
        case "free_later":
            presence.free(agent, ACTOR, at(now), after_call=True)
        case "hear":
            presence.hear(agent.pk, at(now))
        case "silence":
            presence.end_silence(at(now) + timedelta(seconds=150))
        case "extend":
            presence.extend_wrap_up(agent, ACTOR)
        case "await_topic":
            presence.await_topic(agent, call)
        case "topic_given":
            with transaction.atomic():
                presence.topic_given(call)


def move_end(agent: Agent, call: Connection, seconds: int) -> None:
    """Let the last talk of a call have ended earlier or later, as its recording says."""
    talks = AgentState.objects.filter(agent=agent, connection=call, kind="talking", ended_at__isnull=False)
    if talk := talks.order_by("-started_at", "-id").first():
        assert talk.ended_at
        with transaction.atomic():
            to = talk.ended_at + timedelta(seconds=seconds)
            ledger.move_end_of_talk(agent.pk, call.pk, at(0), talk.ended_at, to)


def calls_of(agent: Agent) -> list[Connection]:
    queue = TopicFactory(group__queue__topic_minutes=1).group.queue
    connections: list[Connection] = ConnectionFactory.create_batch(CALLS, talking=True, agent=agent, queue=queue)
    for connection in connections:
        LegFactory(connection=connection, role="agent", agent=agent, state="ended", ended_at=at(0))
    return connections


def assert_told(agent: Agent) -> None:
    """Assert that each interval with an event has exactly one, and that no other event was recorded."""
    names = told(agent)
    kinds = [kind for kind, _, _ in states(agent)]
    assert names.count("AGENT_LOGGED_IN") == AgentSession.objects.filter(agent=agent).count()
    assert names.count("AGENT_FREE") == kinds.count("free")
    assert names.count("AGENT_PAUSED") == AgentState.objects.filter(agent=agent, kind="paused").count()


@pytest.mark.slow("runs many examples")
@pytest.mark.django_db
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_whatever_is_done_in_whatever_order_the_ledger_is_consistent(db, steps):
    with transaction.atomic():
        agent, pauses = AgentFactory(), [pause.pk for pause in PauseFactory.create_batch(2)]
        calls, now = calls_of(agent), 0
        for step in steps:
            now += step[2]
            act(agent, calls, pauses, step, now)
            assert_consistent(agent)
        assert_told(agent)
        transaction.set_rollback(True)


# An agent talks in a call and leaves it, with or without a wrap-up. A tick ends the wrap-up.
CALL = [("log_in", 0, 0, 0), ("ring", 0, 10, 0), ("talk", 0, 5, 0)]


@pytest.mark.slow("runs many examples")
@pytest.mark.django_db
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    wrap_up_seconds=st.sampled_from([0, 7]),
    steps=STEPS.filter(lambda steps: len(steps) < 6),
    moves=st.lists(st.integers(-40, 60), min_size=1, max_size=4),
)
# The agent logs out while talking; or logs in as a wrap-up ends.
@example(wrap_up_seconds=0, steps=[("ring", 0, 1, 0), ("talk", 0, 1, 0), ("log_out", 0, 5, 0)], moves=[10, -10])
@example(
    wrap_up_seconds=0,
    steps=[("log_out", 0, 1, 0), ("ring", 0, 1, 0), ("talk", 0, 1, 0), ("leave_call", 0, 5, 7), ("log_in", 0, 7, 0)],
    moves=[10, -10],
)
def test_moving_an_end_keeps_the_ledger_consistent(db, wrap_up_seconds, steps, moves):
    with transaction.atomic():
        agent, pauses = AgentFactory(), [pause.pk for pause in PauseFactory.create_batch(2)]
        calls, now = calls_of(agent), 0
        for step in [*CALL, ("leave_call", 0, 20, wrap_up_seconds), *steps]:
            now += step[2]
            act(agent, calls, pauses, step, now)
        kinds = [kind for kind, _, _ in states(agent)]
        for seconds in moves:
            move_end(agent, calls[0], seconds)
            assert_consistent(agent)
        assert [kind for kind, _, _ in states(agent)] == kinds
        transaction.set_rollback(True)


def worker(
    number: int, agents: list[Agent], calls: dict[int, list[Connection]], pauses: list[int]
) -> Callable[[], int]:
    """Many verbs of one thread, on any of the agents; each number does others."""

    def run() -> int:
        chance = random.Random(number)
        for _ in range(25):
            agent = chance.choice(agents)
            verb = chance.choice(VERBS)
            step = (
                verb,
                chance.randrange(CALLS),
                chance.randrange(-20, 40) if verb == "move" else 0,
                chance.choice([0, 7]),
            )
            act(Agent.objects.get(pk=agent.pk), calls[agent.pk], pauses, step, chance.randrange(500))
        return number

    return run


@pytest.mark.walk("1")
@pytest.mark.slow("runs many examples")
@pytest.mark.parametrize("agent_count", [1, 3])
def test_ten_threads_neither_break_the_ledger_nor_deadlock(agent_count, committed_db):
    agents, pauses = AgentFactory.create_batch(agent_count), [pause.pk for pause in PauseFactory.create_batch(2)]
    calls = {agent.pk: calls_of(agent) for agent in agents}

    # A deadlock, or an overlap that the database refuses, is raised here.
    assert at_once([worker(number, agents, calls, pauses) for number in range(10)]) == list(range(10))

    for agent in agents:
        assert_consistent(agent)
        assert_told(agent)


def test_ten_logins_at_once_begin_one_session(committed_db):
    agent = AgentFactory()

    at_once([partial(presence.log_in, Agent(pk=agent.pk), ACTOR)] * 10)

    assert AgentSession.objects.count() == AgentState.objects.count() == 1
    assert told(agent) == ["AGENT_LOGGED_IN", "AGENT_FREE"]


def test_ten_equal_pauses_at_once_write_one_row(committed_db):
    agent, pause = AgentFactory(), PauseFactory()
    presence.log_in(agent, ACTOR)

    at_once([partial(presence.pause, Agent(pk=agent.pk), ACTOR, pause.pk)] * 10)

    assert [kind for kind, _, _ in states(agent)] == ["free", str(pause)]
    assert Event.objects.filter(action="AGENT_PAUSED").count() == 1


def test_wrap_ups_that_several_end_at_once_end_once(committed_db):
    agents = AgentFactory.create_batch(20)
    for agent in agents:
        presence.log_in(agent, ACTOR, at(0))
        [connection, _] = calls_of(agent)
        with transaction.atomic():
            presence.ring(agent, connection, at(1))
            presence.leave_call(agent, connection, at(2), wrap_up_seconds=10)

    at_once([partial(presence.end_wrap_ups, at(60))] * 5)

    for agent in agents:
        assert states(agent)[-2:] == [("wrap_up", 2, 12), ("free", 12, None)]
        assert_told(agent)


def test_a_wrap_up_of_a_locked_agent_ends_at_the_next_sweep(committed_db):
    agent, other = AgentFactory.create_batch(2)
    for one in (agent, other):
        presence.log_in(one, ACTOR, at(0))
        [connection, _] = calls_of(one)
        with transaction.atomic():
            presence.ring(one, connection, at(1))
            presence.leave_call(one, connection, at(2), wrap_up_seconds=10)

    with transaction.atomic():
        Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)
        at_once([partial(presence.end_wrap_ups, at(60))])
        assert [states(one)[-1][0] for one in (agent, other)] == ["wrap_up", "free"]
    presence.end_wrap_ups(at(60))

    assert states(agent)[-2:] == [("wrap_up", 2, 12), ("free", 12, None)]
