"""Calls of a dialler: their fields and events, the limits, the order of persons who wait, transfers that fail."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from campaigns.dialling import outcomes, previews
from campaigns.models import Attempt, Campaign
from campaigns.verbs.results import give_result
from telephony.calls import commands, dialler_calls, distribution, switch_events
from telephony.calls.campaign_calls import hold_agent
from telephony.models import Agent, AgentLine, AgentState, Connection, Leg, Offer
from telephony.switch.base import Ended, Played
from tests.campaigns.dialling.calls import (
    dialling_campaign,
    hang_up,
    line_of,
    only_attempt,
    only_record,
    open_call,
    person_waits,
    pick_up,
    predictive,
    set_states,
    tick,
    with_lines,
)
from tests.campaigns.factories import CampaignFactory, RecordFactory, RetryRuleFactory
from tests.conftest import ACTOR
from tests.telephony.callers import HOTLINE, call_in, member, offers
from tests.telephony.factories import QueueFactory, QueueMemberFactory
from webhooks.models import Event


def test_a_dialled_call_names_campaign_and_record_and_no_agent_until_the_join(switch, api):
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
def test_the_source_of_a_call_with_a_known_agent_is_the_caller_id_too(switch, settings, own, shown, with_line):
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
def test_the_limits_count_dialled_calls(switch, settings, limit, dialer):
    campaign = dialling_campaign(agents=3, records=3, dialer=dialer)
    if dialer == "predictive":
        with_lines(campaign)
    setattr(settings, limit, 2)

    tick(campaign)

    assert Connection.objects.count() == 2


def test_a_person_who_has_answered_comes_before_the_callers_of_queues(switch):
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


def test_an_agent_who_becomes_free_after_the_match_is_left_to_the_person_who_has_answered(switch):
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


def test_an_agent_whom_no_campaign_joins_is_not_kept_from_callers(switch):
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


def test_no_agent_is_held_for_a_new_call_while_a_person_waits(switch):
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


def test_nothing_is_dialled_for_an_agent_whom_a_person_waits_for(switch):
    campaign = predictive(records=2)
    person_waits_for_free_agents(campaign)

    tick(campaign)

    assert Connection.objects.count() == 1


BUSY = 17


def transferred(campaign: Campaign) -> Connection:
    """Let the campaign's agent talk with the customer, and transfer the call to a number."""
    tick(campaign)
    call = open_call()
    if not call.uses_line:
        pick_up(call, Leg.Role.AGENT)
    pick_up(call, Leg.Role.CUSTOMER)
    call.refresh_from_db()
    command = commands.ask_transfer(ACTOR, call, [], number="+48225550199")
    commands.carry_out(command.pk, call.pk)
    return call


def lost(campaign: Campaign, **result: Any) -> None:
    """Let a transfer of the campaign's call fail, so that the call ends. The agent gives the result, if any, before."""
    call = transferred(campaign)
    if result:
        give_result(call, ACTOR, **result)
    hang_up(call, Leg.Role.TARGET, BUSY)


def test_the_agents_result_is_written_if_the_transfer_fails(switch):
    campaign = dialling_campaign()
    status = campaign.statuses.get(name="Do not call")

    lost(campaign, status_id=status.pk, last_note="Never again.", is_number_wrong=True)

    record, attempt = only_record(), only_attempt()
    assert (record.status, record.system_status, record.last_note) == (status, "NO_CALL", "Never again.")
    assert record.is_number_wrong
    assert (record.history.latest("id").action, attempt.settled_at) == ("result", attempt.ended_at)


def test_a_person_who_was_lost_is_not_called_before_the_delay_of_dropped_calls(switch):
    campaign = dialling_campaign(wrap_up_seconds=0)
    lost(campaign)

    tick(campaign)

    assert AgentState.objects.get(ended_at=None).kind == "free"
    assert Attempt.objects.count() == 1


def test_a_person_who_was_lost_in_the_last_attempt_is_not_called_again(switch):
    campaign = dialling_campaign()
    RetryRuleFactory(campaign=campaign, outcome="dropped", most_attempts=1)

    lost(campaign)

    record = only_record()
    assert (record.system_status, record.is_leased) == ("ABANDONED_AFTER_N_TRIES", False)


def test_without_a_line_the_call_ends_and_the_record_is_called_with_an_agent(switch):
    campaign = dialling_campaign(wrap_up_seconds=30)

    call = transferred(campaign)
    hang_up(call, Leg.Role.TARGET, BUSY)

    call.refresh_from_db()
    record, attempt = only_record(), only_attempt()
    assert (call.state, call.disposition) == ("ended", "ANSWERED")
    assert [told[0] for told in switch.told].count("call_agent") == 1
    assert (record.system_status, record.leased_by) == ("CALL_PROGRESSIVE", "")
    assert record.history.latest("id").action == "transfer_failed"
    assert (attempt.outcome, attempt.settled_at) == (Attempt.Outcome.ANSWERED, attempt.ended_at)
    assert outcomes.settle_due(timezone.now() + timedelta(hours=1)) == 0
    assert AgentState.objects.get(ended_at=None).kind == "wrap_up"


def test_a_line_that_is_over_cannot_take_the_customer_back(switch):
    campaign = dialling_campaign()
    with_lines(campaign)
    call, agent = transferred(campaign), campaign.agents.get()
    switch_events.handle(Ended(line_of(agent).channel_id, timezone.now(), 16))

    hang_up(call, Leg.Role.TARGET, BUSY)

    assert Connection.objects.get().state == "ended"
    assert only_record().system_status == "CALL_PROGRESSIVE"


def test_the_customer_returns_to_the_line_of_the_agent(switch):
    campaign = dialling_campaign(wrap_up_seconds=30)
    with_lines(campaign)
    agent = campaign.agents.get()

    call = transferred(campaign)
    hang_up(call, Leg.Role.TARGET, BUSY)

    channel = line_of(agent).channel_id
    assert ("play_tone", channel) in switch.told
    switch_events.handle(Played(channel, timezone.now()))
    call.refresh_from_db()
    assert (call.state, call.agent) == ("talking", agent)
    assert line_of(agent).connection_id == call.pk
    assert only_record().system_status == "IN_PROGRESS"
    hang_up(call, Leg.Role.CUSTOMER)
    outcomes.settle_due(timezone.now() + timedelta(hours=1))
    assert only_record().system_status == "NO_CALL"
