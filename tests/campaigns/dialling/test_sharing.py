"""Campaigns and queues that want the same agents."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.dialling.agents import CampaignAgent, agents_of
from campaigns.dialling.sharing import Contender, allot, first_turn, left_by_queues
from campaigns.models import Attempt, Campaign, DiallerState
from telephony.models import Agent, AgentState, Connection, Leg
from tests.campaigns.dialling.calls import add_agent, dialling_campaign, hang_up, pick_up, tick
from tests.campaigns.dialling.calls import predictive as predictive_campaign
from tests.campaigns.factories import RecordFactory
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import ConnectionFactory, QueueFactory

SINCE = datetime(2026, 11, 20, tzinfo=UTC)


def agents(count: int) -> list[CampaignAgent]:
    return [CampaignAgent(n, f"agent{n}", str(n), False, "free", SINCE, False) for n in range(1, count + 1)]


def contender(pk: int, parity: int, turn: float = 0.0, order: int = 50, of: int = 100) -> Contender:
    return Contender(pk, order, parity, turn, True, frozenset(range(1, of + 1)))


@pytest.mark.parametrize("parities", [(50, 50), (1, 100), (10, 20, 70), (33, 66, 99, 2)])
def test_calls_of_campaigns_of_one_order_are_in_proportion_to_parity(parities):
    """Each campaign is shared out by itself, from turns that all processes read, in any order."""
    chance = random.Random(7)
    turns = dict.fromkeys(range(len(parities)), 0.0)
    calls: Counter[int] = Counter()
    while calls.total() < 10_000:
        free = agents(chance.randint(1, 7))
        for own in chance.sample(sorted(turns), len(turns)):
            contenders = {pk: contender(pk, parities[pk], turn) for pk, turn in turns.items()}
            taken = allot(contenders[own], [one for pk, one in contenders.items() if pk != own], free)
            free = [agent for agent in free if agent not in taken]
            calls[own] += len(taken)
            turns[own] += len(taken) / parities[own]

    shares = {pk: 100 * count / calls.total() for pk, count in calls.items()}
    wanted = {pk: 100 * parity / sum(parities) for pk, parity in enumerate(parities)}
    assert all(abs(shares[pk] - wanted[pk]) < 2 for pk in wanted), shares


def test_the_campaign_of_the_lowest_order_gets_all_shared_agents():
    first, second = contender(1, 1, turn=900.0, order=10), contender(2, 100)

    assert len(allot(first, [second], agents(5))) == 5
    assert allot(second, [first], agents(5)) == []


def test_agents_of_one_campaign_only_are_not_shared():
    first, second = contender(1, 50, order=10, of=2), contender(2, 50, of=4)

    assert [agent.id for agent in allot(second, [first], agents(4))] == [3, 4]


@pytest.mark.parametrize(("turn", "expected"), [(0.0, 5.0), (5.01, 5.01), (900.0, 5.02)])
def test_a_campaign_that_returns_does_not_catch_up_and_waits_for_one_turn(turn, expected):
    own, rivals = contender(1, 50, turn), [contender(2, 50, 5.0), contender(3, 50, 7.0), contender(4, 50, 1.0, order=9)]

    assert first_turn(own, rivals) == pytest.approx(expected)


# In the database


def beside(campaign: Campaign, records: int = 1, **values: Any) -> Campaign:
    """Return another campaign with the same agents."""
    other = dialling_campaign(agents=0, records=records, **values)
    other.agents.set(campaign.agents.all())
    return other


def place(campaigns: list[Campaign], calls: int) -> Counter[str]:
    """Let the campaigns tick in turns until they have placed so many calls, which end at once. Return their counts."""
    for _ in range(3 * calls):
        for campaign in campaigns:
            if Attempt.objects.count() == calls:
                break
            tick(campaign)
            for call in Connection.objects.open():
                pick_up(call, Leg.Role.AGENT)
                hang_up(call, Leg.Role.CUSTOMER, 17)
    return Counter(Attempt.objects.values_list("campaign_code", flat=True))


@pytest.mark.slow("runs threads")
def test_campaigns_share_their_agent_by_parity(switch):
    first = dialling_campaign(records=50, parity=75)
    second = beside(first, records=50, parity=25)
    tick(first)  # both have told that they want agents
    tick(second)

    placed = place([first, second], 24)

    assert placed[first.code] == pytest.approx(18, abs=1)


def test_the_second_campaign_gets_the_agent_when_the_first_has_nothing_to_call(switch):
    first = dialling_campaign(records=3, order=1)
    second = beside(first, records=5, order=2)

    placed = place([first, second], 6)

    assert placed[first.code] == 3
    order = list(Attempt.objects.order_by("id").values_list("campaign_code", flat=True))
    assert order[:3] == [first.code] * 3


def test_a_campaign_whose_dialler_died_keeps_no_agent_from_others(switch):
    dead = dialling_campaign(records=3, order=1)
    DiallerState.objects.create(campaign=dead, state="dialling", wants_agents=True)
    DiallerState.objects.update(at=timezone.now() - timedelta(seconds=7))
    other = beside(dead, order=2)

    tick(other)

    assert Attempt.objects.get().campaign_code == other.code


@pytest.mark.parametrize(
    ("agents", "calls", "state"), [(3, 2, ("dialling", "")), (1, 0, ("waiting", "agents_elsewhere"))]
)
def test_an_agent_whom_a_waiting_caller_needs_is_not_used(switch, agents, calls, state):
    campaign = dialling_campaign(agents=agents, records=5)
    ConnectionFactory(waiting=True, queue=QueueFactory(members=list(campaign.agents.order_by("id")[:2])))

    tick(campaign)

    assert Attempt.objects.count() == calls
    assert DiallerState.objects.values_list("state", "code").get() == state


def test_agents_are_left_to_callers_in_the_order_in_which_these_are_served(switch):
    """The caller of the second queue has steps and gets the shared agent, so the first queue needs the other one."""
    campaign = dialling_campaign(agents=3, records=5)
    shared, other, left = campaign.agents.order_by("id")
    first = QueueFactory(priority=40, members=[shared, other])
    second = QueueFactory(priority=50, members=[shared])
    ConnectionFactory(waiting=True, queue=first)
    ConnectionFactory(waiting=True, queue=second, priority_steps=11)

    free, served = left_by_queues(agents_of(campaign.pk), campaign)

    assert ([agent.id for agent in free], served) == ([left.pk], 2)


def predictive_and_other(switch: RecordingSwitch, agents: int = 2, **values: Any) -> tuple[Campaign, Campaign]:
    """Return a predictive campaign and another one, which comes first and has the same agents."""
    predictive = predictive_campaign(agents, agents, order=2)
    return predictive, beside(predictive, records=agents, order=1, **values)


@pytest.mark.parametrize("dialer", ["progressive", "preview"])
def test_an_agent_whom_a_ringing_call_needs_is_not_held_for_another_call(switch, dialer):
    predictive, other = predictive_and_other(switch, dialer=dialer)
    tick(predictive)
    first, second = Connection.objects.order_by("id")
    tick(other)

    assert not AgentState.objects.filter(ended_at=None).exclude(kind="free").exists()
    assert DiallerState.objects.get(campaign=other).code == "agents_elsewhere"
    pick_up(first, Leg.Role.CUSTOMER)
    tick(other)
    assert states() == ["free", "talking"]
    hang_up(second, Leg.Role.CUSTOMER, 17)
    tick(other)
    assert states() == ["preview" if dialer == "preview" else "ringing", "talking"]


def test_an_agent_without_a_line_is_held_beside_ringing_calls(switch):
    predictive, other = predictive_and_other(switch)
    tick(predictive)
    add_agent(other, "plain", "190")

    tick(other)

    assert Attempt.objects.get(campaign=other).agent == other.agents.get(login="plain")


def test_calls_for_other_agents_keep_no_agent_back(switch):
    """The predictive campaign has left the shared agent to the other one, and rings more numbers than it has agents."""
    predictive, other = predictive_and_other(switch, agents=3)
    shared = predictive.agents.order_by("id")[0]
    other.agents.set([shared])
    DiallerState.objects.create(campaign=other, state="dialling", wants_agents=True)
    tick(predictive)
    calls = Attempt.objects.filter(campaign=predictive)
    assert {tuple(call.figures["placed_for"]) for call in calls} == {tuple(ids(predictive, shared))}
    AgentState.objects.filter(ended_at=None, agent__in=ids(predictive, shared)).update(kind="wrap_up")

    tick(other)

    assert Attempt.objects.get(campaign=other).agent == shared


def ids(campaign: Campaign, besides: Agent) -> list[int]:
    return sorted(campaign.agents.exclude(pk=besides.pk).values_list("pk", flat=True))


def states() -> list[str]:
    return sorted(AgentState.objects.filter(ended_at=None).values_list("kind", flat=True))


def test_an_agent_of_two_campaigns_is_called_once(switch):
    first = dialling_campaign(records=1)
    second = beside(first)
    add_agent(second, "other", "201")
    RecordFactory(campaign=second)

    for campaign in (first, second, first, second):
        tick(campaign)

    assert sorted(Attempt.objects.values_list("agent__login", flat=True)) == ["agent1", "other"]


def test_a_predictive_campaign_whose_records_must_wait_does_not_say_that_its_free_agents_are_busy(switch):
    predictive, _ = predictive_and_other(switch)
    predictive.records.update(held_until=timezone.now() + timedelta(hours=1))

    tick(predictive)

    assert states() == ["free", "free"]
    assert DiallerState.objects.get(campaign=predictive).code == "no_record"
