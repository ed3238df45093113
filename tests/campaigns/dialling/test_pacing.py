"""The figures that the pacer gets, read from the rows, and failures that other campaigns must not feel."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.dialling import campaign_tick, choice, outcomes, pacer, pacing, sharing
from campaigns.dialling.agents import agents_of
from campaigns.dialling.campaign_tick import CampaignTick
from campaigns.dialling.dialler import Dialler
from campaigns.dialling.pacer import Estimates, Floor, Law, Pace
from campaigns.models import Attempt, Campaign, DiallingDay, Record
from telephony.models import AgentState, Connection, Leg
from tests.campaigns.dialling.calls import answered_call, dialling_campaign, hang_up, pick_up, predictive, tick
from tests.campaigns.factories import AttemptFactory, CampaignFactory, RecordFactory
from tests.telephony.factories import (
    AgentSkillFactory,
    ConnectionFactory,
    OfferFactory,
    QueueFactory,
    RequiredSkillFactory,
)


class Seen:
    """Keeps what the pacer was asked."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.floor: Floor | None = None
        self.estimates = Estimates()
        self._decide = pacer.decide
        patch.setattr(pacing, "decide", self.decide)

    def decide(self, floor: Floor, estimates: Estimates, law: Law) -> Pace:
        self.floor, self.estimates = floor, estimates
        return self._decide(floor, estimates, law)


@pytest.fixture
def seen(monkeypatch):
    return Seen(monkeypatch)


def six(records: int = 0, **values: Any) -> Campaign:
    return predictive(6, records, **values)


def ask(seen: Seen, campaign: Campaign, free: int = 0, callers: int = 0) -> Floor:
    agents = agents_of(campaign.pk)
    reader = pacing.Pacing(campaign.pk)
    reader.read_calls()
    reader.decide(campaign, agents, agents[:free], callers, timezone.now())
    assert seen.floor is not None
    return seen.floor


def set_states(campaign: Campaign, *kinds: str, **values: Any) -> None:
    """Set the states of the campaign's first agents."""
    for agent, kind in zip(campaign.agents.order_by("id"), kinds, strict=False):
        AgentState.objects.filter(agent=agent, ended_at=None).update(kind=kind, resumes_as="free", **values)


def test_agents_who_come_back_are_busy(switch, seen):
    campaign = six()
    set_states(campaign, "talking", "ringing", "wrap_up", ends_at=timezone.now() + timedelta(seconds=9))
    AgentState.objects.filter(kind="ringing").update(resumes_as="")

    busy = ask(seen, campaign).busy

    # One of the three has asked for a pause, or logs out after the call.
    assert len(busy) == 2


def test_a_call_that_is_joined_while_a_tick_reads_leaves_no_agent_too_many(switch, seen, monkeypatch):
    campaign = six(7)
    tick(campaign)

    def answered_before_the_agents_are_read(campaign_id):
        pick_up(Connection.objects.earliest("id"), Leg.Role.CUSTOMER)
        return agents_of(campaign_id)

    monkeypatch.setattr(campaign_tick, "agents_of", answered_before_the_agents_are_read)
    tick(campaign)

    assert seen.floor is not None
    assert (seen.floor.free, len(seen.floor.busy), len(seen.floor.ringing_since)) == (5, 1, 6)


def test_an_agent_in_a_call_of_another_campaign_is_not_expected(switch, seen):
    campaign = six()
    other = CampaignFactory()
    set_states(campaign, "talking", connection=ConnectionFactory(campaign_id=other.pk))

    assert ask(seen, campaign).busy == []


def open_calls(campaign: Campaign) -> dict[str, Any]:
    return {"campaign": campaign, "mode": "predictive", "ended_at": None, "outcome": ""}


def test_ringing_and_waiting_calls_are_told_apart(switch, seen):
    campaign, now = six(), timezone.now()
    calls = open_calls(campaign)
    AttemptFactory(**calls, dialled_at=now - timedelta(seconds=3))
    AttemptFactory(**calls, dialled_at=now - timedelta(seconds=9), answered_at=now)
    AttemptFactory(**calls, dialled_at=now - timedelta(seconds=9), answered_at=now, joined_at=now)
    AttemptFactory(**calls | {"mode": "one_to_one"}, dialled_at=now)

    floor = ask(seen, campaign, free=2, callers=1)

    assert list(floor.ringing_since) == pytest.approx([(now - timedelta(seconds=3)).timestamp()])
    assert (floor.free, floor.waiting) == (2, 2)


def share_agents(campaign: Campaign, count: int, **values: Any) -> Campaign:
    """Return another predictive campaign that has the first agents of the given one."""
    other: Campaign = CampaignFactory(is_dialling=True, dialer="predictive", **values)
    other.agents.set(campaign.agents.order_by("id")[:count])
    return other


@pytest.mark.parametrize(
    ("shared", "free", "counted"),
    [
        (6, 6, 3),
        # No more than the free agents that both campaigns have.
        (2, 6, 2),
        (0, 6, 0),
        # The free agents that are left to the other campaign come first.
        (6, 4, 1),
        (6, 2, 0),
    ],
)
def test_calls_of_others_for_the_same_free_agents_count(switch, seen, shared, free, counted):
    campaign = six()
    other = share_agents(campaign, shared)
    calls = open_calls(other)
    AttemptFactory.create_batch(3, **calls)
    AttemptFactory(**calls | {"joined_at": timezone.now()})
    AttemptFactory(**calls | {"mode": "one_to_one"})
    AttemptFactory(**calls | {"outcome": "busy", "ended_at": timezone.now()})

    floor = ask(seen, campaign, free=free)

    assert (len(floor.ringing_since), floor.waiting) == (counted, 0)


def test_an_answered_call_of_another_campaign_waits_for_a_shared_agent(switch, seen):
    campaign = six()
    other, now = share_agents(campaign, 6), timezone.now()
    calls = open_calls(other)
    AttemptFactory(**calls)
    AttemptFactory(**calls, answered_at=now)

    floor = ask(seen, campaign, free=6)

    assert (len(floor.ringing_since), floor.waiting) == (1, 1)


def test_agents_for_whom_the_calls_of_another_campaign_ring_are_not_used_twice(switch):
    first = predictive(4, 4, order=1)
    second = share_agents(first, 4, order=2)
    RecordFactory.create_batch(9, campaign=second)
    for campaign in (first, first, second, second):
        tick(campaign)
    rung = [told[0] for told in switch.told].count("call_number")

    hang_up(Connection.objects.earliest("id"), Leg.Role.CUSTOMER, 17)
    tick(second)

    assert rung == 4
    assert [told[0] for told in switch.told].count("call_number") == 5


def test_the_windows_are_the_day_and_the_30_days_that_end_with_it(switch, seen):
    campaign = six()
    today = timezone.localdate()
    for days, drops in ((0, 1), (29, 2), (30, 500)):
        DiallingDay.objects.create(campaign=campaign, day=today - timedelta(days=days), live_answers=60, drops=drops)

    floor = ask(seen, campaign)

    assert (floor.day, floor.days_30) == ((60, 1), (120, 3))


def test_the_parameters_of_the_campaign_are_kept_and_unset_ones_are_one_and_three(switch, seen):
    campaign = six()
    unset = ask(seen, campaign)
    campaign.predictive_min_calls, campaign.predictive_max_calls = 0.5, 1.5

    floor = ask(seen, campaign)

    assert (unset.min_calls, unset.max_calls) == (1, 3)
    assert (floor.min_calls, floor.max_calls) == (0.5, 1.5)


def ended(campaign: Campaign, at: datetime, **values: Any) -> None:
    agent = campaign.agents.earliest("id")
    AttemptFactory(campaign=campaign, mode="predictive", dialled_at=at, agent=agent, **values)


def test_the_last_calls_and_handling_times_are_read(switch, seen):
    campaign, at = six(), timezone.now().replace(microsecond=0) - timedelta(minutes=10)
    seconds = timedelta(seconds=1)
    ended(campaign, at, outcome="busy", ended_at=at + 2 * seconds)
    answered = at + 8 * seconds
    talked = {"answered_at": answered, "joined_at": answered, "ended_at": at + 68 * seconds}
    ended(campaign, at + seconds, outcome="answered", **talked)
    figures = {"detection_seconds": 1.5}
    ended(campaign, at + 2 * seconds, outcome="machine", answered_at=answered, ended_at=answered, figures=figures)

    ask(seen, campaign)

    assert seen.estimates.calls == ((2.0, False), (7.0, True), (7.5, False))
    assert seen.estimates.handlings == (60.0,)


def test_callers_in_queues_of_the_agents_are_counted(switch):
    campaign = six()
    queue = QueueFactory(members=list(campaign.agents.all()))
    ConnectionFactory.create_batch(2, waiting=True, queue=queue)
    ConnectionFactory(waiting=True, queue=QueueFactory())

    assert sharing.callers_for(agents_of(campaign.pk)) == 2


def test_no_agent_is_left_to_callers_who_need_another_skill(switch):
    campaign = six()
    queue = QueueFactory(members=list(campaign.agents.all()))
    ConnectionFactory.create_batch(2, waiting=True, queue=queue)
    required = RequiredSkillFactory(queue=queue, level=5)
    AgentSkillFactory(agent=campaign.agents.earliest("id"), skill=required.skill, level=5)
    free = agents_of(campaign.pk)

    assert (len(sharing.left_by_queues(free, campaign)[0]), sharing.callers_for(free)) == (5, 2)
    assert sharing.callers_for([one for one in free if one.id != campaign.agents.earliest("id").pk]) == 0


@pytest.mark.parametrize("served", [0, 1, 2])
def test_a_caller_is_not_forgotten_because_an_agent_is_left_to_another_person(switch, seen, served):
    """Of three callers, those for whom a free agent was set aside are not subtracted again."""
    campaign = six(9)
    first, second, *others = campaign.agents.order_by("id")
    queue = QueueFactory(members=[first, second][:served] + others[:1])
    ConnectionFactory.create_batch(3, waiting=True, queue=queue)
    # A person of another campaign has answered, and gets one of the other agents.
    other = share_agents(campaign, 0)
    other.agents.set(others[1:2])
    ConnectionFactory(talking=True, state="waiting", campaign_id=other.pk)
    set_states(campaign, *["talking"] * 6)
    AgentState.objects.filter(ended_at=None, agent__in=[first, second][:served] + others[1:]).update(kind="free")

    tick(campaign)

    assert seen.floor is not None
    assert seen.floor.free == len(others[2:])
    assert seen.floor.waiting == 3 - served


def test_a_caller_whose_phone_rings_is_not_subtracted(switch):
    campaign = six()
    call = ConnectionFactory(waiting=True, queue=QueueFactory(members=list(campaign.agents.all())))
    OfferFactory(connection=call, queue=call.queue, agent=campaign.agents.earliest("id"), ended_at=None)

    assert sharing.callers_for(agents_of(campaign.pk)) == 0


def test_a_day_with_few_answers_dials_one_to_one(switch):
    campaign = six(20)

    tick(campaign)
    tick(campaign)

    assert [told[0] for told in switch.told].count("call_number") == 6


def test_after_enough_answers_more_numbers_are_called_than_agents_are_free(switch):
    campaign = six(30)
    DiallingDay.objects.create(campaign=campaign, day=timezone.localdate(), live_answers=400, drops=0)

    tick(campaign)

    assert 6 < [told[0] for told in switch.told].count("call_number") <= 18


def test_an_attempt_that_cannot_be_settled_delays_no_other(switch, monkeypatch):
    tick(dialling_campaign(agents=2, records=2))
    for call in Connection.objects.open():
        answered_call(call)
        hang_up(call, Leg.Role.CUSTOMER)
    broken = Attempt.objects.earliest("settle_at")
    lock_record = outcomes.lock_record

    def fail_for_one(attempt):
        if attempt.pk == broken.pk:
            raise RuntimeError("an unexpected status")
        return lock_record(attempt)

    monkeypatch.setattr(outcomes, "lock_record", fail_for_one)
    over = timezone.now() + timedelta(minutes=5)

    outcomes.settle_due(over)

    assert Attempt.objects.exclude(pk=broken.pk).get().settled_at
    broken.refresh_from_db()
    assert (broken.settled_at, broken.settle_at) == (None, over + outcomes.SETTLED_AGAIN)
    monkeypatch.undo()
    assert outcomes.settle_due(over + outcomes.SETTLED_AGAIN) == 1
    assert not Record.objects.filter(system_status="IN_PROGRESS").exists()


@pytest.mark.parametrize("name", ["release_held", "run"])
def test_a_failure_stops_no_other_campaign(switch, monkeypatch, name):
    broken, sound = dialling_campaign(agents=0), dialling_campaign()
    run = CampaignTick.run

    def fail(*args):
        raise ValueError

    def fail_for_one(self, campaign, *args):
        if campaign.pk == broken.pk:
            raise ValueError
        run(self, campaign, *args)

    if name == "run":
        monkeypatch.setattr(CampaignTick, "run", fail_for_one)
    else:
        fail.__qualname__ = name
        monkeypatch.setattr(choice, name, fail)
    dialler = Dialler()
    try:
        dialler.tick()
    finally:
        dialler.disown()

    assert Attempt.objects.get().campaign == sound
