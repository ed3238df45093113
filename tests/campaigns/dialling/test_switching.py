"""Switches of dialling, answers, log-outs and ends of lines that happen in the same moment."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.dialling.campaign_tick import CampaignTick
from campaigns.dialling.numbers import numbers_of
from campaigns.models import Attempt, Campaign, Record, RecordOffer
from campaigns.verbs.dialling import pause_dialling, start_dialling, stop_dialling
from campaigns.verbs.retries import DEFAULTS, next_call
from telephony.calls import commands, dialler_calls, switch_events
from telephony.models import AgentLine, AgentState, CallCommand, Connection, Leg
from telephony.switch.base import Ended, Up
from telephony.verbs import presence
from tests.campaigns.dialling.calls import (
    add_agent,
    answered_call,
    counts_of_day,
    dialling_campaign,
    line_of,
    open_call,
    pick_up,
    predictive,
    ring,
    talking,
    tick,
    with_lines,
)
from tests.campaigns.factories import RecordFactory
from tests.campaigns.waiting import while_it_waits
from tests.conftest import ACTOR
from tests.serving import at_once


def tick_of_before(campaign: Campaign) -> None:
    """Tick with the campaign as it was read before."""
    CampaignTick(campaign.pk, "test").run(campaign, timezone.now())


def stop(call: Connection) -> None:
    stop_dialling(Campaign.objects.get(), ACTOR)
    for pk, connection_id in commands.outstanding():
        commands.carry_out(pk, connection_id)


def lose_agent(call: Connection) -> None:
    line = AgentLine.objects.filter(connection_id=call.pk).first()
    leg = line or call.legs.get(role=Leg.Role.AGENT)
    switch_events.handle(Ended(leg.channel_id, timezone.now(), 44))


@pytest.mark.parametrize(("end", "has_line"), [(stop, False), (stop, True), (lose_agent, False), (lose_agent, True)])
@pytest.mark.parametrize("rings", [False, True])
def test_our_own_hang_up_uses_no_attempt(switch, *, end, has_line, rings):
    campaign, before = dialling_campaign(), timezone.now()
    if has_line:
        with_lines(campaign)
    tick(campaign)
    call = open_call()
    if not has_line:
        pick_up(call, Leg.Role.AGENT)
    if rings:
        ring(call, Leg.Role.CUSTOMER)

    end(call)

    attempt, record = Attempt.objects.get(), Record.objects.get()
    same_number = RecordFactory(phone_number=record.phone_number)
    paused = numbers_of(same_number.campaign, same_number, timezone.now())[0].paused_until
    # The switch was asked to call the number, which may ring though this was not reported yet.
    assert (attempt.outcome, record.system_status) == ("cancelled", "CALL_NO_SOONER_THAN")
    assert record.next_call_at is not None
    assert record.next_call_at >= before + DEFAULTS[Attempt.Outcome.NO_ANSWER].delay
    assert paused is not None
    # As many calls as before the one that our side ended.
    rule = replace(DEFAULTS[Attempt.Outcome.BUSY], most_attempts=1)
    assert next_call(rule, record.pk, timezone.now()) is not None


@pytest.mark.parametrize("edit", [False, True])
def test_a_person_who_picks_up_after_our_hang_up_was_dropped(switch, *, edit):
    campaign = dialling_campaign()
    with_lines(campaign)
    tick(campaign)
    call = open_call()
    ring(call, Leg.Role.CUSTOMER)
    stop(call)
    if edit:
        Record.objects.get().history.create(action="edit", actor_kind="user")
    before = Record.objects.get()

    pick_up(call, Leg.Role.CUSTOMER)

    record = Record.objects.get()
    assert (Attempt.objects.get().outcome, counts_of_day()) == ("dropped", (1, 1, 1))
    if edit:
        assert (record.system_status, record.next_call_at) == (before.system_status, before.next_call_at)
    else:
        assert (record.system_status, record.history.latest("id").action) == ("CALL_PROGRESSIVE", "dropped")
        assert None not in (record.next_call_at, record.one_to_one_until)


@pytest.mark.parametrize("dialer", ["progressive", "preview"])
def test_a_tick_that_read_the_campaign_before_its_pause_places_nothing(switch, dialer):
    campaign = dialling_campaign(dialer=dialer)
    Campaign.objects.update(is_dialling=False)

    tick_of_before(campaign)

    assert (Attempt.objects.count(), RecordOffer.objects.count(), Connection.objects.count()) == (0, 0, 0)
    assert Record.objects.get().leased_by == ""


def test_a_dial_in_the_moment_of_a_pause_waits_for_it_and_places_nothing(switch):
    campaign = dialling_campaign()

    while_it_waits(lambda: tick_of_before(campaign), first=lambda: pause_dialling(Campaign.objects.get(), ACTOR))

    assert (Attempt.objects.count(), Connection.objects.count()) == (0, 0)


def test_calls_go_on_after_a_pause_and_new_ones_begin_after_a_start(switch):
    campaign = dialling_campaign(agents=2, records=2)
    campaign.agents.filter(login="agent2").update(outbound_mode=False)
    tick(campaign)
    pause_dialling(campaign, ACTOR)
    campaign.agents.update(outbound_mode=True)
    tick_of_before(campaign)
    during = Connection.objects.open().count(), Attempt.objects.count()
    start_dialling(campaign, ACTOR)
    tick(campaign)

    assert (during, Attempt.objects.count()) == ((1, 1), 2)


def test_a_stop_hangs_up_the_calls_of_the_campaign_that_only_ring(switch):
    campaign = dialling_campaign(agents=3, records=3)
    other = dialling_campaign(agents=0, records=1)
    add_agent(other, "other", "301")
    tick(campaign)
    tick(other)
    rings_at_agent, rings_at_customer, talks = Connection.objects.filter(campaign_id=campaign.pk).order_by("id")
    pick_up(rings_at_customer, Leg.Role.AGENT)
    answered_call(talks)

    stop_dialling(campaign, ACTOR)

    asked = CallCommand.objects.filter(kind=CallCommand.Kind.HANG_UP).values_list("connection_id", flat=True)
    assert set(asked) == {rings_at_agent.pk, rings_at_customer.pk}
    campaign.refresh_from_db()
    other.refresh_from_db()
    assert (campaign.is_dialling, other.is_dialling) == (False, True)


def test_a_stop_leaves_a_call_in_which_a_machine_is_looked_for(switch):
    campaign = dialling_campaign(detects_machines=True)
    talking(campaign)

    stop_dialling(campaign, ACTOR)

    assert (open_call().state, CallCommand.objects.count()) == ("detecting", 0)


@pytest.mark.parametrize("detects_machines", [False, True])
def test_a_stop_leaves_a_call_that_is_answered_before_the_listener_hangs_up(switch, *, detects_machines):
    campaign = dialling_campaign(detects_machines=detects_machines)
    tick(campaign)
    call = open_call()
    stop_dialling(campaign, ACTOR)
    answered_call(call)

    command = CallCommand.objects.get()
    if not detects_machines:
        call.refresh_from_db()
        commands.ask(ACTOR, call, CallCommand.Kind.HOLD)
    commands.carry_out(command.pk, call.pk)

    command.refresh_from_db()
    assert open_call().state == ("detecting" if detects_machines else "talking")
    assert command.done_at


def test_a_stop_ends_a_call_that_rings(switch):
    campaign = dialling_campaign()
    tick(campaign)
    call = open_call()
    pick_up(call, Leg.Role.AGENT)
    stop_dialling(campaign, ACTOR)

    commands.carry_out(CallCommand.objects.get().pk, call.pk)

    call.refresh_from_db()
    assert call.state == "ended"


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


def all_talking() -> list[Connection]:
    return list(Connection.objects.filter(state="talking"))


@pytest.mark.parametrize("turn", range(3))
def test_of_two_calls_that_are_answered_at_once_one_gets_the_free_agent(switch, turn):
    ringing(agents=1, records=2)
    first, second = Connection.objects.order_by("id")

    at_once([answer(first), answer(second)])

    (joined,) = all_talking()
    (waiting,) = Connection.objects.filter(state="waiting")
    assert {joined.pk, waiting.pk} == {first.pk, second.pk}
    assert AgentLine.objects.get(connection_id__isnull=False).connection_id == joined.pk
    assert [told[0] for told in switch.told].count("join") == 1
    assert Attempt.objects.filter(joined_at__isnull=False).count() == 1


@pytest.mark.slow("runs threads")
def test_twenty_answers_at_once_use_each_agent_once(switch, monkeypatch):
    monkeypatch.setattr(dialler_calls, "DROP_AFTER", timedelta(minutes=1))  # a machine under load is slower than people
    ringing(agents=12, records=20)
    calls = list(Connection.objects.order_by("id"))

    at_once(map(answer, calls))
    # An agent who was locked by another answer is found at the next turn.
    dialler_calls.match_waiting()

    agents = [call.agent_id for call in all_talking()]
    assert len(agents) == len(set(agents)) == 12
    assert Connection.objects.filter(state="waiting").count() == 8


@pytest.mark.parametrize("turn", range(3))
def test_an_agent_who_logs_out_in_the_moment_of_the_join(switch, turn):
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
def test_a_line_that_is_hung_up_in_the_moment_of_the_join(switch, turn):
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


def test_a_customer_who_hangs_up_while_agents_are_looked_for_is_not_joined(switch):
    campaign = ringing(agents=1, records=2)
    first, second = Connection.objects.order_by("id")
    answer(first)()
    answer(second)()
    channel = second.legs.get().channel_id

    at_once([lambda: switch_events.handle(Ended(channel, timezone.now(), 16)), dialler_calls.match_waiting])

    second.refresh_from_db()
    assert second.state == "ended"
    assert line_of(campaign.agents.earliest("id")).connection_id == first.pk
