"""Calls that the switch refuses, and phones that cannot be reached: the dialler rests before it tries again."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from campaigns.models import Attempt, Campaign, DiallerState, DiallingDay, Record
from telephony.calls import line_events, switch_events
from telephony.models import AgentLine, Connection, Leg
from telephony.switch.base import SwitchError
from tests.campaigns.dialling.calls import (
    add_agent,
    dialling_campaign,
    hang_up,
    only_record,
    open_call,
    pick_up,
    tick,
    with_lines,
)
from tests.conftest import ApiClient
from tests.telephony.doubles import RecordingSwitch

REFUSED = SwitchError("Asterisk answered 500: Allocation failed.")


def refuse(switch: RecordingSwitch, command: str, error: SwitchError = REFUSED) -> None:
    switch.refusals[command] = error


def ticks(campaign: Campaign, count: int = 5) -> None:
    """Let the dialler tick, and the listener end what the switch has refused."""
    for _ in range(count):
        tick(campaign)
        for _, channel_id in switch_events.refused_legs():
            switch_events.end_refused(channel_id)
        now = timezone.now()
        for channel_id, what in line_events.due(now):
            line_events.do_due(channel_id, what, now)


def pass_time(seconds: int) -> None:
    before = timedelta(seconds=seconds)
    Attempt.objects.update(dialled_at=F("dialled_at") - before, ended_at=F("ended_at") - before)
    AgentLine.objects.update(ended_at=F("ended_at") - before)


def code(campaign: Campaign) -> str:
    return DiallerState.objects.get(campaign=campaign).code


@pytest.mark.parametrize(("has_line", "asked"), [(False, Attempt), (True, AgentLine)])
def test_an_agent_whose_phone_is_refused_rests(switch, has_line, asked):
    campaign = dialling_campaign()
    campaign.agents.update(has_line=has_line)
    refuse(switch, "call_agent")

    ticks(campaign)
    first, shown = asked.objects.count(), code(campaign)
    pass_time(31)
    ticks(campaign)

    assert (first, shown, asked.objects.count()) == (1, "phones_unreachable", 2)
    assert not DiallingDay.objects.exists()


@pytest.mark.parametrize("cause", [0, 3, 17, 20])
def test_an_agent_whose_phone_is_not_there_rests(switch, cause):
    campaign = dialling_campaign()
    tick(campaign)
    hang_up(open_call(), Leg.Role.AGENT, cause)

    ticks(campaign)

    assert (Attempt.objects.count(), code(campaign)) == (1, "phones_unreachable")


def test_the_other_agents_get_calls_while_one_rests(switch):
    campaign = dialling_campaign(records=3)
    tick(campaign)
    hang_up(open_call(), Leg.Role.AGENT, 20)
    add_agent(campaign, "other", "201")

    ticks(campaign)

    assert Connection.objects.open().get().agent == campaign.agents.get(login="other")


@pytest.mark.parametrize("dialer", ["progressive", "predictive", "preview"])
def test_a_line_that_is_refused_is_not_asked_for_again_at_once(switch, dialer):
    campaign = dialling_campaign(dialer=dialer)
    campaign.agents.update(has_line=True)
    agent = campaign.agents.get()
    at = timezone.now()
    AgentLine.objects.create(
        agent=agent, channel_id="line-1", asked_at=at, ended_at=at, state="ended", cause_text="Allocation failed"
    )
    refuse(switch, "call_agent")

    ticks(campaign)

    assert (AgentLine.objects.count(), code(campaign)) == (1, "phones_unreachable")


@pytest.mark.parametrize("dialer", ["progressive", "predictive"])
def test_a_campaign_whose_call_the_trunk_refuses_rests(switch, dialer):
    campaign = dialling_campaign(dialer=dialer, records=3)
    with_lines(campaign)
    refuse(switch, "call_number")

    ticks(campaign)
    first, shown = Attempt.objects.count(), code(campaign)
    pass_time(11)
    ticks(campaign)

    assert (first, shown, Attempt.objects.count()) == (1, "call_refused", 2)
    # Nothing was dialled, so that no attempt counts.
    assert set(Attempt.objects.values_list("outcome", flat=True)) == {"not_dialled"}
    assert set(Record.objects.values_list("system_status", "called_at")) == {("TO_CALL", None)}
    assert not DiallingDay.objects.exists()


def test_a_campaign_that_rests_leaves_shared_agents_to_others(switch):
    campaign = dialling_campaign(records=3, order=1)
    with_lines(campaign)
    other = dialling_campaign(agents=0, records=3, order=2)
    other.agents.set(campaign.agents.all())
    refuse(switch, "call_number")
    ticks(campaign)
    del switch.refusals["call_number"]

    ticks(other)

    assert open_call().campaign_code == other.code


def test_a_number_that_is_none_uses_its_record_up(switch):
    campaign = dialling_campaign()
    refuse(switch, "call_number", SwitchError("no number", cause=28))
    tick(campaign)
    pick_up(open_call(), Leg.Role.AGENT)

    ticks(campaign)

    assert (Attempt.objects.get().outcome, only_record().system_status) == ("failed", "CALL_NO_SOONER_THAN")


@pytest.mark.parametrize("language", ["en", "pl"])
def test_the_reason_of_a_rest_is_shown(switch, api_client, language):
    client: ApiClient = api_client("campaigns:read")
    campaign = dialling_campaign()
    refuse(switch, "call_agent")
    ticks(campaign)

    shown = client.get(f"/api/outbounds/{campaign.code}/dialer", HTTP_ACCEPT_LANGUAGE=language).json()

    assert (shown["state"], shown["code"]) == ("waiting", "phones_unreachable")
    assert "30" in shown["reason"]
