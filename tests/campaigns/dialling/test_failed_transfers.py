"""Transfers of dialled calls that fail: the customer returns to the agent's line, or is called again."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from campaigns.dialling import outcomes
from campaigns.models import Attempt, Campaign
from campaigns.verbs.results import give_result
from telephony.calls import commands, switch_events
from telephony.models import AgentState, Connection, Leg
from telephony.switch.base import Ended, Played
from tests.campaigns.dialling.calls import (
    dialling_campaign,
    hang_up,
    line_of,
    only_attempt,
    only_record,
    open_call,
    pick_up,
    tick,
    with_lines,
)
from tests.campaigns.factories import RetryRuleFactory
from tests.conftest import ACTOR
from tests.telephony.doubles import RecordingSwitch

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


def test_the_agents_result_is_written_if_the_transfer_fails(switch: RecordingSwitch) -> None:
    campaign = dialling_campaign()
    status = campaign.statuses.get(name="Do not call")

    lost(campaign, status_id=status.pk, last_note="Never again.", is_number_wrong=True)

    record, attempt = only_record(), only_attempt()
    assert (record.status, record.system_status, record.last_note) == (status, "NO_CALL", "Never again.")
    assert record.is_number_wrong
    assert (record.history.latest("id").action, attempt.settled_at) == ("result", attempt.ended_at)


def test_a_person_who_was_lost_is_not_called_before_the_delay_of_dropped_calls(switch: RecordingSwitch) -> None:
    campaign = dialling_campaign(wrap_up_seconds=0)
    lost(campaign)

    tick(campaign)

    assert AgentState.objects.get(ended_at=None).kind == "free"
    assert Attempt.objects.count() == 1


def test_a_person_who_was_lost_in_the_last_attempt_is_not_called_again(switch: RecordingSwitch) -> None:
    campaign = dialling_campaign()
    RetryRuleFactory(campaign=campaign, outcome="dropped", most_attempts=1)

    lost(campaign)

    record = only_record()
    assert (record.system_status, record.is_leased) == ("ABANDONED_AFTER_N_TRIES", False)


def test_without_a_line_the_call_ends_and_the_record_is_called_with_an_agent(switch: RecordingSwitch) -> None:
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


def test_a_line_that_is_over_cannot_take_the_customer_back(switch: RecordingSwitch) -> None:
    campaign = dialling_campaign()
    with_lines(campaign)
    call, agent = transferred(campaign), campaign.agents.get()
    switch_events.handle(Ended(line_of(agent).channel_id, timezone.now(), 16))

    hang_up(call, Leg.Role.TARGET, BUSY)

    assert Connection.objects.get().state == "ended"
    assert only_record().system_status == "CALL_PROGRESSIVE"


def test_the_customer_returns_to_the_line_of_the_agent(switch: RecordingSwitch) -> None:
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
