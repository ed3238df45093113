"""Calls of predictive campaigns: answered calls are joined with agents who have standing lines, or dropped."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from campaigns.models import Attempt, DiallingDay, Record
from telephony.calls import dialler_calls, line_events, switch_events
from telephony.calls.reconciliation import Comparison
from telephony.models import Agent, AgentLine, AgentState, Connection, Leg
from telephony.switch.base import Channel, Detected, Ended, Played, Up
from tests.campaigns.dialling.calls import (
    counts_of_day,
    dialling_campaign,
    hang_up,
    line_of,
    only_attempt,
    only_record,
    open_call,
    person_waits,
    pick_up,
    predictive,
    refreshed,
    ring,
    set_states,
    tick,
    with_lines,
)
from webhooks.models import Event


def state_of(agent: Agent) -> str:
    return str(AgentState.objects.get(agent=agent, ended_at=None).kind)


def pass_time(seconds: float) -> None:
    """Let the answers of all open attempts be this much older."""
    for attempt in Attempt.objects.filter(answered_at__isnull=False):
        assert attempt.answered_at is not None
        attempt.answered_at -= timedelta(seconds=seconds)
        attempt.save(update_fields=["answered_at"])


def test_a_number_is_called_before_its_agent_is_known(switch):
    campaign = predictive(agents=2, records=2)
    switch.told.clear()

    tick(campaign)

    assert [command[0] for command in switch.told] == ["call_number", "call_number"]
    call = Connection.objects.first()
    assert call is not None
    assert (call.state, call.agent, call.src) == ("dialling", None, call.caller_id)
    assert {attempt.mode for attempt in Attempt.objects.all()} == {"predictive"}
    assert Attempt.objects.earliest("id").figures["state"] == "few_agents"
    assert {state_of(agent) for agent in campaign.agents.all()} == {"free"}


def test_an_answered_call_is_joined_with_the_agent_who_has_waited_the_longest(switch):
    campaign = predictive(agents=2)
    first = campaign.agents.get(login="agent1")
    tick(campaign)
    call = open_call()
    switch.told.clear()

    pick_up(call, Leg.Role.CUSTOMER)

    call.refresh_from_db()
    assert (call.state, call.agent) == ("talking", first)
    assert state_of(first) == "talking"
    line = line_of(first)
    assert (line.connection_id, line.role) == (call.pk, "agent")
    channel = call.legs.get().channel_id
    assert switch.told == [("join", call.bridge_id, line.channel_id, channel)]
    attempt = only_attempt()
    assert attempt.answered_at is not None
    assert attempt.joined_at is not None
    assert attempt.agent == first
    actions = list(Event.objects.order_by("id").values_list("action", flat=True))
    assert actions[-2:] == ["AGENT_RINGING", "CONNECTION_ANSWERED"]
    assert counts_of_day() == (0, 1, 0)


def test_the_line_stays_when_the_call_ends_and_hears_silence_again(switch):
    tick(predictive(agents=2))
    call = open_call()
    pick_up(call, Leg.Role.CUSTOMER)
    line = AgentLine.objects.get(connection_id=call.pk)
    switch.told.clear()

    hang_up(call, Leg.Role.CUSTOMER)

    assert switch.told == [("destroy_bridge", call.bridge_id), ("play_silence", line.channel_id)]
    line.refresh_from_db()
    assert (line.state, line.connection_id, line.ended_at) == ("up", None, None)
    assert state_of(line.agent) == "wrap_up"


def test_an_answered_call_without_a_free_agent_waits_and_is_joined_with_the_next(switch):
    campaign = predictive()
    call, agent = person_waits(campaign), campaign.agents.get()
    assert call.state == "waiting"

    assert dialler_calls.match_waiting()
    set_states("free")
    dialler_calls.match_waiting()

    call.refresh_from_db()
    assert (call.state, call.agent) == ("talking", agent)
    assert not dialler_calls.match_waiting()


def test_a_call_without_an_agent_for_two_seconds_is_dropped(switch):
    call = person_waits(predictive(drop_message="drop_messages/sorry.wav"))
    pass_time(2)
    switch.told.clear()

    dialler_calls.match_waiting()

    call.refresh_from_db()
    customer = call.legs.get()
    assert call.state == "playing"
    assert [told[:2] for told in switch.told] == [("play", customer.channel_id)]
    assert Event.objects.get(action="RECORD_DROPPED").payload["connection_id"] == call.uid
    assert counts_of_day() == (0, 1, 1)

    switch_events.handle(Played(customer.channel_id, timezone.now()))

    call.refresh_from_db()
    assert (call.state, call.disposition, call.agent) == ("ended", "ANSWERED", None)
    record = only_record()
    assert record.system_status == "CALL_PROGRESSIVE"
    assert record.one_to_one_until is not None
    assert counts_of_day() == (1, 1, 1)


def test_a_dropped_call_without_a_message_is_hung_up(switch):
    call = person_waits(predictive())
    pass_time(2)

    dialler_calls.match_waiting()

    assert (refreshed(call).state, only_attempt().outcome) == ("ended", "dropped")


def test_a_person_who_hangs_up_while_waiting_was_dropped(switch):
    hang_up(person_waits(predictive()), Leg.Role.CUSTOMER)

    assert (only_attempt().outcome, only_record().system_status) == ("dropped", "CALL_PROGRESSIVE")


def test_a_line_that_is_hung_up_in_the_join_gives_the_person_to_the_next_agent(switch):
    tick(predictive(agents=2))
    call = open_call()
    pick_up(call, Leg.Role.CUSTOMER)
    first = AgentLine.objects.get(connection_id=call.pk)

    switch_events.handle(Ended(first.channel_id, timezone.now(), 16))

    call.refresh_from_db()
    second = AgentLine.objects.get(connection_id=call.pk)
    assert second.agent != first.agent
    assert (call.state, call.agent) == ("talking", second.agent)
    assert state_of(first.agent) == "free"
    assert DiallingDay.objects.get().live_answers == 1
    assert Event.objects.filter(action="CONNECTION_ANSWERED").count() == 1


def test_an_agent_who_hangs_up_the_line_later_ends_the_call(switch):
    tick(predictive())
    call = open_call()
    pick_up(call, Leg.Role.CUSTOMER)
    pass_time(5)

    switch_events.handle(Ended(AgentLine.objects.get().channel_id, timezone.now(), 16))

    call.refresh_from_db()
    assert (call.state, call.hung_up_by) == ("ended", "agent")
    assert only_attempt().outcome == "answered"


@pytest.mark.parametrize(("dialer", "has_line"), [("predictive", True), ("progressive", True), ("progressive", False)])
@pytest.mark.parametrize(("seconds", "cause", "is_drop"), [(6, 44, True), (8, 44, False), (6, 16, False)])
@pytest.mark.parametrize("waited", [0, 2.5])
def test_a_person_who_was_joined_to_a_dead_phone_is_dropped(
    switch, *, dialer, has_line, seconds, cause, is_drop, waited
):
    campaign = dialling_campaign(dialer=dialer)
    if has_line:
        with_lines(campaign)
    tick(campaign)
    call = open_call()
    if not has_line:
        pick_up(call, Leg.Role.AGENT)
    pick_up(call, Leg.Role.CUSTOMER)
    attempt, agent = only_attempt(), campaign.agents.get()
    attempt.joined_at = timezone.now() - timedelta(seconds=seconds)
    attempt.answered_at = attempt.joined_at - timedelta(seconds=waited)
    attempt.save()
    # The join counts as a drop already if it came too late.
    DiallingDay.objects.update(drops=int(waited > 2))
    channel = line_of(agent).channel_id if has_line else call.legs.get(role=Leg.Role.AGENT).channel_id

    switch_events.handle(Ended(channel, timezone.now(), cause))

    attempt.refresh_from_db()
    assert (attempt.outcome == "dropped", Event.objects.filter(action="RECORD_DROPPED").exists()) == (is_drop, is_drop)
    assert counts_of_day()[1:] == (1, int(is_drop or waited > 2))
    if is_drop:
        assert (only_record().system_status, state_of(agent)) == ("CALL_PROGRESSIVE", "free")
    else:
        assert attempt.outcome == "answered"


@pytest.mark.parametrize("has_line", [True, False])
@pytest.mark.parametrize(
    ("rings", "is_kept", "outcome"),
    [(True, True, "dropped"), (False, True, "dropped"), (True, False, "no_answer"), (False, False, "failed")],
)
def test_a_number_that_may_have_been_answered_without_a_listener_is_dropped(
    switch, *, has_line, rings, is_kept, outcome
):
    campaign = dialling_campaign(dialer="predictive")
    if has_line:
        with_lines(campaign)
    tick(campaign)
    call = open_call()
    if not has_line:
        pick_up(call, Leg.Role.AGENT)
    if rings:
        ring(call, Leg.Role.CUSTOMER)
    legs, agent = call.legs.all(), campaign.agents.get()
    # The listener does not see that the person picks up, and the switch hangs up. The agent's phone stays up.
    if is_kept:
        kept = line_of(agent).channel_id if has_line else legs.get(role=Leg.Role.AGENT).channel_id
        switch.listed = [Channel(kept, is_up=True)]
    # Old enough to be missed.
    Leg.objects.update(asked_at=F("asked_at") - timedelta(seconds=30))

    comparison = Comparison()
    for _ in range(2):
        for repair in comparison.compare(switch, timezone.now()).repairs:
            repair.act()

    attempt = only_attempt()
    assert attempt.outcome == outcome
    assert (only_record().system_status == "CALL_PROGRESSIVE") == (outcome == "dropped")
    assert counts_of_day() == ((1, 1, 1) if outcome == "dropped" else (1, 0, 0))


def test_a_record_after_a_drop_is_called_with_an_agent_who_is_held(switch):
    campaign = predictive()
    Record.objects.update(system_status="CALL_PROGRESSIVE")
    switch.told.clear()

    tick(campaign)

    call = open_call()
    assert call.agent == campaign.agents.get()
    assert state_of(campaign.agents.get()) == "ringing"
    assert only_attempt().mode == "one_to_one"
    assert [told[0] for told in switch.told] == ["call_number"]

    pick_up(call, Leg.Role.CUSTOMER)

    assert state_of(campaign.agents.get()) == "talking"
    assert switch.told[-1][0] == "join"


def test_an_unanswered_predictive_call_belongs_to_no_agent(switch):
    campaign = predictive()
    tick(campaign)
    call = open_call()

    hang_up(call, Leg.Role.CUSTOMER, 17)

    call.refresh_from_db()
    assert (call.agent, call.disposition) == (None, "BUSY")
    assert state_of(campaign.agents.get()) == "free"


def test_a_machine_is_hung_up_on_and_called_again(switch):
    tick(predictive(detects_machines=True))
    call = open_call()
    pick_up(call, Leg.Role.CUSTOMER)
    channel = call.legs.get().channel_id
    assert switch.told[-1] == ("detect", channel)

    switch_events.handle(Detected(channel, timezone.now(), "machine"))

    attempt = only_attempt()
    assert (attempt.outcome, attempt.figures["answered_by"]) == ("machine", "machine")
    assert only_record().system_status == "CALL_NO_SOONER_THAN"
    day = DiallingDay.objects.get()
    assert (day.live_answers, day.drops, day.machines) == (0, 0, 1)


@pytest.mark.parametrize("who", ["human", "unsure"])
def test_a_person_is_joined_after_the_detection(switch, who):
    tick(predictive(detects_machines=True))
    call = open_call()
    pick_up(call, Leg.Role.CUSTOMER)

    switch_events.handle(Detected(call.legs.get().channel_id, timezone.now(), who))

    assert refreshed(call).state == "talking"


def test_without_lines_a_predictive_campaign_dials_one_to_one(switch):
    campaign = dialling_campaign(agents=2, records=2, dialer="predictive")

    tick(campaign)

    assert [told[0] for told in switch.told] == ["call_agent", "call_agent"]


def test_an_agent_who_should_have_a_line_is_rung_for_it_by_the_first_call(switch):
    campaign = dialling_campaign(agents=1, records=1, dialer="predictive")
    campaign.agents.update(has_line=True)

    tick(campaign)

    line = AgentLine.objects.get()
    assert [told[:2] for told in switch.told] == [("call_agent", line.channel_id)]
    assert not Connection.objects.exists()

    switch_events.handle(Up(line.channel_id, timezone.now()))
    tick(campaign)

    assert [told[0] for told in switch.told[1:]] == ["play_silence", "call_number"]


def test_a_message_that_does_not_end_is_ended(switch):
    call = person_waits(predictive(drop_message="drop_messages/sorry.wav"))
    pass_time(2)
    dialler_calls.match_waiting()

    late = timezone.now() + timedelta(seconds=80)
    for pk in dialler_calls.overdue(late):
        dialler_calls.go_on(pk, late)

    assert refreshed(call).state == "ended"
    assert not line_events.due(timezone.now())
