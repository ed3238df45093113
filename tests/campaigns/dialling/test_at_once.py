"""Answers, log-outs and ends of lines that happen in the same moment, each in a thread of its own."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.models import Attempt, Campaign
from telephony.calls import dialler_calls, switch_events
from telephony.models import AgentLine, AgentState, Connection, Leg
from telephony.switch.base import Ended, Up
from telephony.verbs import presence
from tests.campaigns.dialling.calls import line_of, open_call, predictive, tick
from tests.conftest import ACTOR
from tests.serving import at_once
from tests.telephony.doubles import RecordingSwitch


def ringing(agents: int, records: int) -> Campaign:
    """Return a campaign whose calls ring: more than there are agents."""
    campaign = predictive(records, records)
    tick(campaign)
    for agent in campaign.agents.order_by("id")[agents:]:
        presence.log_out(agent, ACTOR)
    return campaign


def answer(call: Connection) -> Callable[[], None]:
    channel = call.legs.get(role=Leg.Role.CUSTOMER).channel_id
    return lambda: switch_events.handle(Up(channel, timezone.now()))


def talking() -> list[Connection]:
    return list(Connection.objects.filter(state="talking"))


@pytest.mark.parametrize("turn", range(3))
def test_of_two_calls_that_are_answered_at_once_one_gets_the_free_agent(switch: RecordingSwitch, turn: int) -> None:
    ringing(agents=1, records=2)
    first, second = Connection.objects.order_by("id")

    at_once([answer(first), answer(second)])

    (joined,) = talking()
    (waiting,) = Connection.objects.filter(state="waiting")
    assert {joined.pk, waiting.pk} == {first.pk, second.pk}
    assert AgentLine.objects.get(connection_id__isnull=False).connection_id == joined.pk
    assert [told[0] for told in switch.told].count("join") == 1
    assert Attempt.objects.filter(joined_at__isnull=False).count() == 1


@pytest.mark.slow("runs threads")
def test_twenty_answers_at_once_use_each_agent_once(switch: RecordingSwitch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialler_calls, "DROP_AFTER", timedelta(minutes=1))  # a machine under load is slower than people
    ringing(agents=12, records=20)
    calls = list(Connection.objects.order_by("id"))

    at_once(map(answer, calls))
    # An agent who was locked by another answer is found at the next turn.
    dialler_calls.match_waiting()

    agents = [call.agent_id for call in talking()]
    assert len(agents) == len(set(agents)) == 12
    assert Connection.objects.filter(state="waiting").count() == 8


@pytest.mark.parametrize("turn", range(3))
def test_an_agent_who_logs_out_in_the_moment_of_the_join(switch: RecordingSwitch, turn: int) -> None:
    campaign = ringing(agents=1, records=1)
    call, agent = open_call(), campaign.agents.get()

    at_once([answer(call), lambda: presence.log_out(agent, ACTOR)])

    call.refresh_from_db()
    line = line_of(agent)
    # The line ends in both cases: now, or after the call.
    assert line.hangup_asked_at is not None
    assert (call.state, call.agent, line.connection_id) in (("talking", agent, call.pk), ("waiting", None, None))
    assert not AgentState.objects.filter(agent=agent, ended_at=None, kind="free").exists()


@pytest.mark.parametrize("turn", range(3))
def test_a_line_that_is_hung_up_in_the_moment_of_the_join(switch: RecordingSwitch, turn: int) -> None:
    campaign = ringing(agents=2, records=2)
    call = Connection.objects.earliest("id")
    first, second = campaign.agents.order_by("id")
    channel = line_of(first).channel_id

    at_once([answer(call), lambda: switch_events.handle(Ended(channel, timezone.now(), 16))])
    dialler_calls.match_waiting()

    call.refresh_from_db()
    assert (call.state, call.agent) == ("talking", second)
    assert line_of(second).connection_id == call.pk
    assert not AgentLine.objects.filter(agent=first, ended_at=None).exists()


def test_a_customer_who_hangs_up_while_agents_are_looked_for_is_not_joined(switch: RecordingSwitch) -> None:
    campaign = ringing(agents=1, records=2)
    first, second = Connection.objects.order_by("id")
    answer(first)()
    answer(second)()
    channel = second.legs.get().channel_id

    at_once([lambda: switch_events.handle(Ended(channel, timezone.now(), 16)), dialler_calls.match_waiting])

    second.refresh_from_db()
    assert second.state == "ended"
    assert line_of(campaign.agents.earliest("id")).connection_id == first.pk
