"""Consultations: an agent in a talk calls a colleague; then all three talk, or one of the two keeps the customer."""

from datetime import datetime
from typing import Any

import pytest

from callcentre.core.errors import Conflict, ErrorCode
from telephony.calls import commands, line_events, placement, reconciliation, switch_events
from telephony.models import Agent, AgentState, CallCommand, Connection, Consultation, Leg
from telephony.switch.base import Channel, Ended, Up
from telephony.verbs import connections
from tests.conftest import ACTOR
from tests.reports.asking import ask as ask_report
from tests.reports.asking import refresh
from tests.telephony.callers import (
    actions,
    call_in,
    carry_out_all,
    channel,
    distribute,
    free_agent,
    fresh,
    member,
    repair,
    state,
    talk_out,
)
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import AgentLineFactory, QueueFactory
from tests.telephony.test_talk_times import DAY, outbound, talks

pytestmark = pytest.mark.django_db(transaction=True)
Kind = CallCommand.Kind
A, CUSTOMER, B = 1, 2, 3


@pytest.fixture
def talking(agent, switch):
    return talk_out()


@pytest.fixture
def zoe(clock):
    return free_agent("zoe", "109")


def tell(call: Connection, kind: str) -> None:
    commands.ask(ACTOR, fresh(call), kind)
    carry_out_all()


def consult(call: Connection, *, note: str = "", **target: Any) -> None:
    commands.ask_transfer(ACTOR, fresh(call), [], kind=Kind.CONSULT, note=note, **(target or {"number": "109"}))
    carry_out_all()


def up(call: Connection, at: datetime | None = None) -> None:
    """The consulted phone is picked up."""
    leg = call.legs.filter(role="consulted").latest("id")
    switch_events.handle(Up(leg.channel_id, at or leg.asked_at))


def hang_up(call: Connection, number: int, at: datetime | None = None, cause: int = 16) -> None:
    leg = call.legs.order_by("id")[number - 1]
    switch_events.handle(Ended(leg.channel_id, at or leg.asked_at, cause))


def told(switch: RecordingSwitch) -> list[tuple[Any, ...]]:
    """The requests since the last look."""
    found, switch.told = switch.told, []
    return found


def situation(call: Connection) -> tuple[str, bool, str | None]:
    call = fresh(call)
    return call.state, call.is_on_hold, call.agent.login if call.agent else None


def test_the_customer_hears_music_while_both_talk_then_all_talk(talking, zoe, switch):
    a, customer, b = (channel(talking, number) for number in (A, CUSTOMER, B))
    bridge = f"callcentre-{talking.pk}"

    consult(talking)
    assert told(switch) == [
        ("destroy_bridge", bridge),
        ("play_music", customer, "default"),
        ("call_agent", b, "109", "101"),
        ("play_ringing", a),
    ]
    up(talking)
    assert told(switch) == [("join", bridge, a, b)]
    tell(talking, Kind.JOIN)
    assert told(switch) == [("destroy_bridge", bridge), ("stop_music", customer), ("join", bridge, a, customer, b)]
    assert situation(talking) == ("talking", False, "anna")
    assert state(zoe) == "talking"


def test_only_talks_with_the_customer_are_recorded(talking, zoe):
    consult(talking)
    up(talking)
    tell(talking, Kind.JOIN)

    assert set(talking.recordings.values_list("name", flat=True)) == {talking.uid, f"{talking.uid}-2"}


def test_the_agent_returns_to_the_customer(talking, zoe, switch):
    consult(talking)
    up(talking)
    told(switch)
    tell(talking, Kind.RETURN)

    a, customer, b = (channel(talking, number) for number in (A, CUSTOMER, B))
    bridge = f"callcentre-{talking.pk}"
    assert told(switch) == [
        ("destroy_bridge", bridge),
        ("hang_up", b),
        ("stop_music", customer),
        ("join", bridge, a, customer),
    ]
    assert (situation(talking), state(zoe)) == (("talking", False, "anna"), "free")


@pytest.mark.parametrize("is_joined", [False, True])
def test_the_colleague_keeps_the_customer(talking, agent, zoe, switch, is_joined):
    consult(talking)
    up(talking)
    if is_joined:
        tell(talking, Kind.JOIN)
    tell(talking, Kind.HAND_OVER)

    assert (situation(talking), state(agent), state(zoe)) == (("talking", False, "zoe"), "free", "talking")
    assert told(switch)[-1] == ("join", f"callcentre-{talking.pk}", channel(talking, CUSTOMER), channel(talking, B))
    hang_up(talking, B)
    assert fresh(talking).state == "ended"


def test_an_agent_who_hands_over_while_the_phone_rings_has_transferred(talking, agent, zoe):
    consult(talking)
    tell(talking, Kind.HAND_OVER)
    waiting = situation(talking)
    switch_events.handle(Up(channel(talking, B), talking.created_at))

    assert waiting == ("dialling", False, "anna")
    assert (situation(talking), state(agent), state(zoe)) == (("talking", False, "zoe"), "free", "talking")


@pytest.mark.parametrize("cause", [17, 19, 21, 44])
def test_a_colleague_who_does_not_pick_up_returns_the_customer_to_the_agent(talking, zoe, cause):
    consult(talking)
    hang_up(talking, B, cause=cause)

    assert (situation(talking), state(zoe)) == (("talking", False, "anna"), "free")
    row = Consultation.objects.get()
    assert (bool(row.cause_text), row.ended_at is None, row.up_at) == (True, False, None)


def test_who_leaves_first(talking, zoe):
    consult(talking)
    up(talking)
    hang_up(talking, B)
    alone = situation(talking)
    consult(talking)
    up(talking)
    hang_up(talking, A)

    assert alone == ("talking", False, "anna")
    assert situation(talking) == ("talking", False, "zoe")
    given = talking.transfers.get()
    assert (given.from_agent_id, given.number, given.actor_name) == (
        fresh(talking).transfers.get().from_agent_id,
        "109",
        "anna",
    )


@pytest.mark.parametrize("stage", ["rings", "apart", "joined"])
def test_the_end_of_the_customer_ends_it_for_all(talking, agent, zoe, stage):
    consult(talking)
    if stage != "rings":
        up(talking)
    if stage == "joined":
        tell(talking, Kind.JOIN)
    hang_up(talking, CUSTOMER)

    assert (fresh(talking).state, state(agent), state(zoe)) == ("ended", "free", "free")
    assert Leg.objects.filter(ended_at=None, hangup_asked_at=None).count() == 0
    assert Consultation.objects.filter(ended_at=None).count() == 0


@pytest.mark.parametrize("is_agent_first", [True, False])
def test_the_talk_of_each_in_an_outbound_call(clock, zoe, switch, api, is_agent_first):
    free_agent()
    call = connections.call(ACTOR, sip="101", phone_number="+48225550107")
    placement.place(call.pk)
    for number in (A, CUSTOMER):
        switch_events.handle(Up(channel(call, number), clock.later(5)))
    clock.later(10)
    consult(call)
    up(call, clock.later(2))
    clock.later(20)
    tell(call, Kind.JOIN)
    clock.later(5)
    if is_agent_first:
        hang_up(call, A, clock.now)
    hang_up(call, CUSTOMER, clock.later(7))

    of_anna = 37 if is_agent_first else 44
    assert talks(api, call) == [("anna", of_anna), ("zoe", 12)]
    assert outbound(clock) == {"anna": (1, f"00:00:{of_anna}", 0, "00:00:00"), "zoe": (1, "00:00:12", 0, "00:00:00")}
    spans = AgentState.objects.filter(agent=zoe, kind="talking").values_list("started_at", "ended_at")
    assert [(to - since).seconds for since, to in spans if to] == [32]


def test_the_talk_of_each_in_an_inbound_call(clock, anna, zoe, switch, api):
    call = call_in()
    distribute()
    switch_events.handle(Up(call.legs.get(role="agent").channel_id, clock.later(3)))
    clock.later(10)
    consult(call)
    up(call, clock.later(2))
    clock.later(20)
    tell(call, Kind.JOIN)
    hang_up(call, B, clock.later(5))
    hang_up(call, 1, clock.later(7))

    assert talks(api, call) == [("anna", 44), ("zoe", 5)]
    refresh()
    rows = {
        row["agent"]["login"]: row["inbound"] for row in ask_report(list(Agent.objects.all()), DAY, "day", clock.now)
    }
    assert {login: (row["count"], row["sum"], row["wait_sum"]) for login, row in rows.items()} == {
        "anna": (1, "00:00:44", 3),
        "zoe": (1, "00:00:05", 0),
    }
    assert state(zoe) == "wrap_up"


def test_a_queue_is_consulted_agent_by_agent(talking, switch):
    support = QueueFactory()
    first, second = member(support, "bert", "102", minutes_free=9), member(support, "cora", "103")
    consult(talking, queue_id=support.pk)
    rung = state(first), state(second)
    hang_up(talking, B, cause=19)
    then = state(first), state(second)
    hang_up(talking, B + 1, cause=19)

    assert (rung, then) == (("ringing", "free"), ("free", "ringing"))
    assert (situation(talking), state(second)) == (("talking", False, "anna"), "free")
    with pytest.raises(Conflict) as refused:
        consult(talking, queue_id=QueueFactory().pk)
    assert refused.value.code == ErrorCode.NO_AGENT_READY


def test_a_number_outside_is_consulted_and_keeps_the_customer(talking, agent, switch):
    consult(talking, number="+48225550199")
    up(talking)
    tell(talking, Kind.HAND_OVER)
    kept = situation(talking)
    hang_up(talking, B)

    over = fresh(talking)
    assert (kept[:2], over.state, over.hung_up_by, state(agent)) == (("talking", False), "ended", "target", "free")


def test_hold_in_a_conference_is_a_talk_apart(talking, zoe, switch):
    consult(talking)
    up(talking)
    tell(talking, Kind.JOIN)
    told(switch)
    tell(talking, Kind.HOLD)

    a, customer, b = (channel(talking, number) for number in (A, CUSTOMER, B))
    bridge = f"callcentre-{talking.pk}"
    assert told(switch) == [("destroy_bridge", bridge), ("play_music", customer, "default"), ("join", bridge, a, b)]


def test_what_is_refused(talking, zoe, switch):
    def refusal(kind: str, **target: Any) -> ErrorCode | None:
        try:
            consult(talking, **target) if kind == Kind.CONSULT else tell(talking, kind)
        except Conflict as error:
            return error.code
        return None

    found = [refusal(kind) for kind in (Kind.JOIN, Kind.HAND_OVER, Kind.RETURN)]
    assert found == 3 * [ErrorCode.NOT_CONSULTING]
    assert refusal(Kind.CONSULT, number="101") == ErrorCode.PHONE_OCCUPIED
    consult(talking)
    found = [refusal(kind) for kind in (Kind.JOIN, Kind.CONSULT, Kind.RESUME, Kind.HOLD)]
    assert found == [ErrorCode.CONSULTED_RINGS, ErrorCode.CONSULTING, ErrorCode.CONSULTING, ErrorCode.CALL_ON_HOLD]
    assert [command.error for command in CallCommand.objects.all()] == [""]


def test_a_transfer_ends_a_consultation(talking, zoe, switch):
    support = QueueFactory()
    consult(talking)
    up(talking)
    commands.ask_transfer(ACTOR, fresh(talking), [], queue_id=support.pk)
    carry_out_all()

    assert (fresh(talking).state, state(zoe)) == ("waiting", "free")
    assert Consultation.objects.get().ended_at is not None


def test_a_lost_phone_in_the_browser_waits_for_its_window_and_the_colleague_leaves(talking, agent, zoe, switch):
    Agent.objects.filter(pk=agent.pk).update(uses_browser_phone=True)
    consult(talking)
    up(talking)
    hang_up(talking, A, cause=44)

    call = fresh(talking)
    assert (call.state, call.agent_lost_at is None, state(zoe)) == ("talking", False, "free")


def test_the_note_is_seen_before_and_during_the_call(talking, zoe, api):
    consult(talking, note="Wants a refund")
    before = api.get(f"/api/connections/{talking.uid}").json()
    up(talking)
    tell(talking, Kind.HAND_OVER)
    during = api.get(f"/api/connections/{talking.uid}").json()

    assert (before["note"], during["note"]) == ("Wants a refund", "Wants a refund")
    assert [(one["agent_login"], one["from_agent_login"]) for one in during["consultations"]] == [("zoe", "anna")]
    assert CallCommand.objects.filter(arguments__has_key="note").count() == 0
    assert actions().count("AGENT_RINGING") == 2


def test_standing_lines_take_part(agent, zoe, switch):
    Agent.objects.filter(pk=zoe.pk).update(has_line=True)
    line = AgentLineFactory(agent=zoe, state="up")
    call = talk_out()
    consult(call)
    switch_events.handle(Up(line.channel_id, call.created_at))
    line_events.tone_over(line.channel_id, call.created_at)
    tell(call, Kind.JOIN)
    told(switch)
    tell(call, Kind.RETURN)

    bridge = f"callcentre-{call.pk}"
    requests = [request for request in told(switch) if request[0] != "stop_music"]
    assert requests == [
        ("destroy_bridge", bridge),
        ("play_silence", line.channel_id),
        ("join", bridge, channel(call, A), channel(call, CUSTOMER)),
    ]
    assert (situation(call), state(zoe)) == (("talking", False, "anna"), "free")


@pytest.mark.parametrize("is_up", [False, True])
def test_a_listener_that_was_killed_is_followed_by_one_that_goes_on(talking, zoe, switch, is_up):
    consult(talking)
    if is_up:
        up(talking)
    told(switch)
    reconciliation.restore(talking.pk)

    a, customer, b = (channel(talking, number) for number in (A, CUSTOMER, B))
    bridge = f"callcentre-{talking.pk}"
    assert told(switch) == [
        ("destroy_bridge", bridge),
        ("play_music", customer, "default"),
        ("join", bridge, a, b) if is_up else ("play_ringing", a),
    ]


def test_a_switch_that_was_restarted_has_ended_it(talking, agent, zoe):
    consult(talking)
    up(talking)
    repair()

    assert (fresh(talking).state, state(agent), state(zoe)) == ("ended", "free", "free")
    assert Consultation.objects.filter(ended_at=None).count() == 0


def test_an_agent_who_is_lost_leaves_the_customer_to_the_colleague(talking, zoe, switch):
    consult(talking)
    up(talking)
    tell(talking, Kind.JOIN)
    switch.listed = [Channel(channel(talking, number), is_up=True) for number in (CUSTOMER, B)]
    repair()

    assert situation(talking) == ("talking", False, "zoe")
