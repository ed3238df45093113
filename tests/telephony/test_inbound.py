"""Waiting calls, driven by events of the switch: offered, answered or abandoned."""

import pytest
from django.utils import timezone

from telephony.calls import switch_events
from telephony.models import Agent, Offer, Pause
from telephony.switch.base import Ended, SwitchError
from telephony.verbs import presence
from tests.conftest import ACTOR
from tests.telephony.callers import (
    CALLER,
    actions,
    call_in,
    distribute,
    give_up,
    member,
    offers,
    pick_up,
    ring_out,
    ringing_channel,
    state,
    talk_in,
)
from tests.telephony.factories import QueueFactory, QueueMemberFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queue")]


# Offering


def test_the_agent_who_is_free_the_longest_is_rung_and_talks(anna, bert, switch):
    call = call_in()
    distribute()

    assert offers(call) == [("anna", "ringing")]
    assert (state(anna), state(bert)) == ("ringing", "free")
    assert switch.told[-1] == ("call_agent", f"callcentre-{call.pk}-2", "101", CALLER)
    assert actions() == ["CONNECTION_STARTED", "AGENT_RINGING"]

    pick_up(call)
    call.refresh_from_db()

    assert (call.state, call.agent, call.answered_at is not None) == ("talking", anna, True)
    assert (offers(call), state(anna)) == ([("anna", "answered")], "talking")
    assert switch.told[-2:] == [
        ("stop_music", "caller-1"),
        ("join", f"callcentre-{call.pk}", "caller-1", f"callcentre-{call.pk}-2"),
    ]
    assert actions()[2:] == ["CONNECTION_ANSWERED"]


def test_a_lower_priority_number_comes_before_a_longer_rest(queue, anna, switch):
    member(queue, "zoe", "109", minutes_free=1, priority=10)
    call = call_in()
    distribute()

    assert offers(call) == [("zoe", "ringing")]


def test_callers_are_served_by_priority_of_the_queue_then_by_arrival(anna, switch):
    urgent = QueueFactory(number="+48225550200", priority=1)
    QueueMemberFactory(queue=urgent, agent=anna)
    first, second = call_in("one"), call_in("two")
    third = call_in("three", dialled="+48225550200")
    served = []

    for _ in range(3):
        distribute()
        call = Offer.objects.get(ended_at=None).connection
        served.append(call)
        pick_up(call)
        give_up(call)
        presence.free(anna, ACTOR)

    assert served == [third, first, second]


def test_an_agent_is_rung_for_one_call_at_a_time(anna, switch):
    first, second = call_in("one"), call_in("two")
    distribute()
    distribute()

    assert (offers(first), offers(second)) == ([("anna", "ringing")], [])


@pytest.mark.parametrize("how", ["paused", "logged out", "without a phone", "left", "of another queue", "in a call"])
def test_agents_who_take_no_calls_are_not_rung(how, queue, anna, switch):
    match how:
        case "paused":
            presence.pause(anna, ACTOR, Pause.objects.create(name="Lunch").pk)
        case "logged out":
            presence.log_out(anna, ACTOR)
        case "without a phone":
            Agent.objects.filter(pk=anna.pk).update(number="")
        case "left":
            presence.deactivate(anna, ACTOR)
        case "of another queue":
            queue.members.all().delete()
        case "in a call":
            first = call_in("first")
            distribute()
            pick_up(first)
    call = call_in()
    distribute()

    assert offers(call) == []


# Outcomes of offers


@pytest.mark.parametrize("party", ["agent", "customer"])
def test_a_hang_up_ends_the_call_and_begins_the_wrap_up(party, anna, switch):
    call = talk_in()
    if party == "agent":
        ring_out(call, cause=16)
    else:
        give_up(call)
    call.refresh_from_db()

    assert (call.state, call.disposition, call.hung_up_by) == ("ended", "ANSWERED", party)
    assert state(anna) == "wrap_up"
    assert not Offer.objects.filter(ended_at=None).exists()
    assert (("hang_up", "caller-1") in switch.told) == (party == "agent")


@pytest.mark.usefixtures("switch")
@pytest.mark.parametrize(
    ("cause", "outcome"), [(19, "not_answered"), (18, "not_answered"), (17, "refused"), (21, "refused"), (38, "failed")]
)
def test_an_agent_who_does_not_pick_up_makes_the_next_ring(cause, outcome, anna, bert):
    call = call_in()
    distribute()
    ring_out(call, cause)
    distribute()

    assert offers(call) == [("anna", outcome), ("bert", "ringing")]
    assert (state(anna), state(bert)) == ("free", "ringing")


@pytest.mark.parametrize("cause", [18, 19])
def test_a_dead_phone_that_never_rang_is_not_the_agents_fault(cause, anna, switch):
    call = call_in()
    distribute()
    switch_events.handle(Ended(ringing_channel(call), timezone.now(), cause))

    assert (offers(call), state(anna)) == ([("anna", "failed")], "free")


def test_an_agent_who_did_not_answer_is_rung_again_later_after_the_others(bert, switch):
    call = call_in()
    for _ in range(3):
        distribute()
        if call.offers.filter(ended_at=None).exists():
            ring_out(call)
    assert offers(call) == [("anna", "not_answered"), ("bert", "not_answered")]

    distribute(seconds_from_now=15)

    assert offers(call)[2:] == [("anna", "ringing")]


def test_an_agent_who_did_not_answer_one_call_is_rung_for_another(anna, switch):
    first = call_in("one")
    distribute()
    ring_out(first)
    second = call_in("two")
    distribute()

    assert offers(second) == [("anna", "ringing")]


def test_a_phone_that_cannot_be_reached_gets_no_call_for_a_while(anna, switch):
    switch.refusals["call_agent"] = SwitchError("Allocation failed")
    first, second = call_in("one"), call_in("two")
    for _ in range(3):
        distribute()

    assert (offers(first), offers(second)) == ([("anna", "failed")], [])
    assert state(anna) == "free"


def test_a_waiting_caller_who_gives_up_was_not_answered(switch):
    call = call_in()
    give_up(call)
    call.refresh_from_db()

    assert (call.state, call.disposition, call.hung_up_by) == ("ended", "NO ANSWER", "customer")


def test_a_caller_who_gives_up_while_a_phone_rings_stops_it(anna, switch):
    call = call_in()
    distribute()
    give_up(call)

    assert (offers(call), state(anna)) == ([("anna", "abandoned")], "free")
    assert ("hang_up", f"callcentre-{call.pk}-2") in switch.told


def test_an_agent_who_picks_up_too_late_is_hung_up(anna, switch):
    call = call_in()
    distribute()
    give_up(call)
    pick_up(call)
    call.refresh_from_db()

    assert (call.disposition, state(anna)) == ("NO ANSWER", "free")
    assert switch.told[-1] == ("hang_up", f"callcentre-{call.pk}-2")


@pytest.mark.parametrize("how", ["pauses", "logs out"])
def test_an_agent_who_pauses_while_ringing_makes_the_next_ring(how, anna, bert, switch):
    call = call_in()
    distribute()
    if how == "pauses":
        presence.pause(anna, ACTOR, Pause.objects.create(name="Lunch").pk)
    else:
        presence.log_out(anna, ACTOR)
    distribute()

    assert offers(call) == [("anna", "refused"), ("bert", "ringing")]
    assert state(anna) == ("paused" if how == "pauses" else "")
    assert ("hang_up", f"callcentre-{call.pk}-2") in switch.told
