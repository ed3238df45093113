"""Twenty callers, five agents, many threads: no agent has two calls, no caller is lost, who came first is first."""

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from telephony.calls import distribution, switch_events
from telephony.models import Agent, AgentState, Connection, Leg, Offer, Pause
from telephony.switch.base import Arrived, Ended, Up
from telephony.verbs import presence
from tests.conftest import ACTOR
from tests.processes import wait_until
from tests.serving import at_once
from tests.telephony.factories import AgentFactory, QueueFactory, QueueMemberFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("agents", "queue", "switch")]

CALLERS, AGENTS, DISTRIBUTORS = 20, 5, 3


@pytest.fixture
def agents():
    agents: list[Agent] = [AgentFactory(number=str(101 + n)) for n in range(AGENTS)]
    for n, agent in enumerate(agents):
        presence.log_in(agent, ACTOR, timezone.now() - timedelta(minutes=10 - n))
    return agents


@pytest.fixture
def queue(agents):
    return QueueFactory(number="+48225550100", members=agents)


def arrive(n: int) -> None:
    switch_events.handle(Arrived(f"caller-{n}", timezone.now(), f"+4822555{n:04}", "+48225550100"))


def distribute_until(is_over: threading.Event) -> Callable[[], None]:
    def run() -> None:
        while not is_over.is_set():
            distribution.distribute(timezone.now())
            is_over.wait(0.01)

    return run


@pytest.mark.slow("runs threads")
def test_all_are_served_once_and_in_their_order(agents):
    is_over = threading.Event()

    def phones():
        """Every phone that rings is picked up, and what it picks up is hung up by the caller."""
        try:
            wait_until(lambda: not _serve_some() and not Connection.objects.open().exists(), 60)
        finally:
            is_over.set()

    at_once(partial(arrive, n) for n in range(CALLERS))
    came = list(Connection.objects.order_by("waiting_since", "id").values_list("pk", flat=True))
    at_once([phones, *[distribute_until(is_over)] * DISTRIBUTORS])

    assert len(came) == CALLERS
    assert list(Offer.objects.order_by("id").values_list("connection_id", flat=True)) == came
    assert set(Offer.objects.values_list("outcome", flat=True)) == {"answered"}
    assert set(Connection.objects.values_list("state", "disposition")) == {("ended", "ANSWERED")}
    assert set(Offer.objects.values_list("agent", flat=True)) == {agent.pk for agent in agents}
    assert set(AgentState.objects.filter(ended_at=None).values_list("kind", flat=True)) == {"free"}


def _serve_some() -> bool:
    """Whether a phone rang."""
    ringing = list(Leg.objects.filter(role="agent", state="asked", hangup_asked_at=None))
    for leg in ringing:
        switch_events.handle(Up(leg.channel_id, timezone.now()))
        talking = Connection.objects.filter(state="talking").values_list("agent", flat=True)
        assert len(talking) == len(set(talking))
        caller = leg.connection.legs.get(role="customer")
        switch_events.handle(Ended(caller.channel_id, timezone.now(), 16))
    return bool(ringing)


@pytest.mark.slow("runs threads")
def test_a_caller_who_gives_up_during_an_offer_leaves_no_phone_ringing():
    for n in range(CALLERS):
        arrive(n)
    channels = list(Leg.objects.values_list("channel_id", flat=True))
    is_over = threading.Event()

    def give_up():
        try:
            for channel in channels:
                switch_events.handle(Ended(channel, timezone.now(), 16))
        finally:
            is_over.set()

    at_once([give_up, *[distribute_until(is_over)] * DISTRIBUTORS])

    assert set(Connection.objects.values_list("state", "disposition")) == {("ended", "NO ANSWER")}
    assert not Offer.objects.filter(ended_at=None).exists()
    assert not Leg.objects.filter(role="agent", hangup_asked_at=None).exists()
    assert set(AgentState.objects.filter(ended_at=None).values_list("kind", flat=True)) == {"free"}


def test_an_agent_who_pauses_during_an_offer_is_paused(agents, switch):
    lunch = Pause.objects.create(name="Lunch")
    for n in range(AGENTS):
        arrive(n)
    is_over = threading.Event()

    def pause_all():
        try:
            for agent in agents:
                presence.pause(agent, ACTOR, lunch.pk)
        finally:
            is_over.set()

    at_once([pause_all, *[distribute_until(is_over)] * DISTRIBUTORS])
    distribution.distribute(timezone.now())

    assert set(AgentState.objects.filter(ended_at=None).values_list("kind", "pause")) == {("paused", lunch.pk)}
    assert not Offer.objects.filter(ended_at=None).exists()
    assert set(Connection.objects.values_list("state", flat=True)) == {"waiting"}
    asked = {leg.channel_id for leg in Leg.objects.filter(role="agent")}
    assert asked == {told[1] for told in switch.told if told[0] == "hang_up"}


def test_a_phone_picked_up_at_the_moment_its_caller_gives_up_is_one_or_the_other():
    for n in range(AGENTS):
        arrive(n)
    distribution.distribute(timezone.now())
    legs = list(Leg.objects.order_by("role").values_list("role", "channel_id"))
    happens = [
        Up(channel, timezone.now()) if role == "agent" else Ended(channel, timezone.now(), 16) for role, channel in legs
    ]

    at_once(partial(switch_events.handle, event) for event in happens)

    for call in Connection.objects.all():
        offer = call.offers.get()
        expected = ("ANSWERED", "answered") if call.answered_at else ("NO ANSWER", "abandoned")
        assert (call.state, (call.disposition, offer.outcome)) == ("ended", expected)
        assert offer.ended_at is not None
    assert set(AgentState.objects.filter(ended_at=None).values_list("kind", flat=True)) == {"free"}


@pytest.mark.slow("runs threads")
def test_an_agent_of_two_queues_is_rung_for_one_call_at_a_time(agents):
    other = QueueFactory(number="+48225550200")
    for agent in agents:
        QueueMemberFactory(queue=other, agent=agent)
    for n in range(CALLERS):
        dialled = "+48225550100" if n % 2 else "+48225550200"
        switch_events.handle(Arrived(f"caller-{n}", timezone.now(), f"+4822555{n:04}", dialled))

    at_once([partial(distribution.distribute, timezone.now())] * 8)

    rung = list(Offer.objects.values_list("agent", flat=True))
    assert sorted(rung) == sorted(agent.pk for agent in agents)
