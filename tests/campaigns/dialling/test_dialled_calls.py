"""Calls of a dialler among other calls: their fields and events, the limits, and the order of persons who wait."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from campaigns.dialling import previews
from campaigns.models import Campaign
from telephony.calls import dialler_calls, distribution
from telephony.calls.campaign_calls import hold_agent
from telephony.models import Agent, AgentLine, Connection, Leg, Offer
from tests.campaigns.dialling.calls import (
    dialling_campaign,
    open_call,
    person_waits,
    pick_up,
    predictive,
    set_states,
    tick,
    with_lines,
)
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.conftest import ApiClient
from tests.telephony.callers import HOTLINE, call_in, member, offers
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import QueueFactory, QueueMemberFactory
from webhooks.models import Event


def test_a_dialled_call_names_campaign_and_record_and_no_agent_until_the_join(
    switch: RecordingSwitch, api: ApiClient
) -> None:
    campaign = predictive(caller_id="+48225550100")
    tick(campaign)
    call = open_call()

    rings = api.get(f"/api/connections/{call.uid}").json()
    pick_up(call, Leg.Role.CUSTOMER)
    talks = api.get(f"/api/connections/{call.uid}").json()

    names = ("src", "outbound_id", "record_id", "user_login")
    assert [rings[name] for name in names] == ["+48225550100", campaign.code, call.record_id, ""]
    assert [talks[name] for name in names] == ["+48225550100", campaign.code, call.record_id, "agent1"]
    for action in ("CONNECTION_STARTED", "CONNECTION_ANSWERED"):
        payload = Event.objects.get(action=action).payload
        assert (payload["outbound_id"], payload["record_id"]) == (campaign.code, call.record_id)


@pytest.mark.parametrize("with_line", [False, True])
@pytest.mark.parametrize(("own", "shown"), [("+48225550100", "+48225550100"), ("", "+48225550199")])
def test_the_source_of_a_call_with_a_known_agent_is_the_caller_id_too(
    switch: RecordingSwitch, settings: Any, own: str, shown: str, with_line: bool
) -> None:
    settings.CALLER_ID = "+48225550199"
    campaign = dialling_campaign(dialer="progressive", caller_id=own)
    if with_line:
        with_lines(campaign)

    tick(campaign)

    call = open_call()
    assert (call.src, call.agent) == (shown, campaign.agents.get())
    ringing = Event.objects.get(action="AGENT_RINGING").payload
    assert (ringing["source_number"], ringing["agent_login"]) == (shown, "agent1")
    assert not {"outbound_id", "record_id"} & set(ringing)


@pytest.mark.parametrize("dialer", ["progressive", "predictive"])
@pytest.mark.parametrize("limit", ["TRUNK_LIMIT", "CALLS_PER_SECOND"])
def test_the_limits_count_dialled_calls(switch: RecordingSwitch, settings: Any, limit: str, dialer: str) -> None:
    campaign = dialling_campaign(agents=3, records=3, dialer=dialer)
    if dialer == "predictive":
        with_lines(campaign)
    setattr(settings, limit, 2)

    tick(campaign)

    assert Connection.objects.count() == 2


def test_a_person_who_has_answered_comes_before_the_callers_of_queues(switch: RecordingSwitch) -> None:
    campaign = predictive()
    agent: Agent = campaign.agents.get()
    QueueMemberFactory(queue=QueueFactory(number=HOTLINE), agent=agent)
    tick(campaign)
    dialled = open_call()
    set_states("wrap_up")
    caller = call_in()
    pick_up(dialled, Leg.Role.CUSTOMER)
    set_states("free")

    # In the order of the listener's tick.
    dialler_calls.match_waiting()
    distribution.distribute(caller.created_at)

    dialled.refresh_from_db()
    caller.refresh_from_db()
    assert (dialled.state, dialled.agent, caller.state) == ("talking", agent, "waiting")
    assert not caller.offers.exists()


def person_waits_for_free_agents(campaign: Campaign) -> Connection:
    """Let a person answer while no agent is free, and then all agents be free."""
    dialled = person_waits(campaign)
    set_states("free")
    return dialled


def test_an_agent_who_becomes_free_after_the_match_is_left_to_the_person_who_has_answered(
    switch: RecordingSwitch,
) -> None:
    campaign = predictive()
    queue = QueueFactory(number=HOTLINE)
    QueueMemberFactory(queue=queue, agent=campaign.agents.get())
    dialled = person_waits_for_free_agents(campaign)
    caller = call_in()
    other = member(queue, "other", "190", minutes_free=0)

    # The listener has matched before the agent was free.
    distribution.distribute(timezone.now())
    dialler_calls.match_waiting()

    dialled.refresh_from_db()
    assert (dialled.state, dialled.agent) == ("talking", campaign.agents.get())
    assert offers(caller) == [(other.login, "ringing")]


def test_an_agent_whom_no_campaign_joins_is_not_kept_from_callers(switch: RecordingSwitch) -> None:
    campaign = predictive(agents=2)
    without_line, inbound_only = campaign.agents.order_by("id")
    queue = QueueFactory(number=HOTLINE)
    for agent in (without_line, inbound_only):
        QueueMemberFactory(queue=queue, agent=agent)
    person_waits_for_free_agents(campaign)
    AgentLine.objects.filter(agent=without_line).delete()
    Agent.objects.filter(pk=inbound_only.pk).update(outbound_mode=False)

    for number in ("1", "2"):
        call_in(number, number)
    distribution.distribute(timezone.now())

    assert set(Offer.objects.values_list("agent__login", flat=True)) == {"agent1", "agent2"}


def test_no_agent_is_held_for_a_new_call_while_a_person_waits(switch: RecordingSwitch) -> None:
    """Between the look at the agents and the lock of one, a person of another campaign has answered."""
    campaign = predictive()
    dialled = person_waits_for_free_agents(campaign)
    agent = campaign.agents.get()

    with transaction.atomic():
        assert not hold_agent(agent)
    other = RecordFactory(
        campaign=CampaignFactory(is_dialling=True), leased_by="test", leased_until=timezone.now() + timedelta(minutes=1)
    )
    assert not previews.offer_record(other.campaign, other.pk, "test", agent)
    dialler_calls.match_waiting()

    dialled.refresh_from_db()
    assert dialled.agent == agent


def test_nothing_is_dialled_for_an_agent_whom_a_person_waits_for(switch: RecordingSwitch) -> None:
    campaign = predictive(records=2)
    person_waits_for_free_agents(campaign)

    tick(campaign)

    assert Connection.objects.count() == 1
