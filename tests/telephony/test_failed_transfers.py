"""A call that is handed on in vain: its customer goes back, and is not dropped."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from telephony import causes
from telephony.calls import commands, placement, switch_events
from telephony.calls.legs import NO_MEDIA
from telephony.models import Connection, Queue, Talk
from telephony.switch.base import Ended, Ringing, SwitchError, Up
from telephony.verbs import connections, presence
from tests.backoffice import page_of, superuser
from tests.conftest import ACTOR
from tests.telephony.callers import (
    actions,
    ask,
    call_in,
    distribute,
    end_refused_legs,
    free_agent,
    fresh,
    give_up,
    member,
    offers,
    ringing_channel,
    state,
    talk_in,
    talk_out,
    wait_too_long,
)
from tests.telephony.factories import QueueFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("switch")]

OUTSIDE = "+48225550199"


@pytest.fixture
def inbound(queue, anna, switch):
    """A caller of the queue who talks with Anna."""
    call = talk_in()
    switch.told.clear()
    return call


@pytest.fixture
def outbound(switch):
    """A customer whom Anna has called, and talks with; the call is of no queue."""
    free_agent()
    return talk_out()


def target(call: Connection) -> str:
    return str(call.legs.filter(role="target").latest("id").channel_id)


def target_ends(call: Connection, cause: int) -> None:
    switch_events.handle(Ended(target(call), timezone.now(), cause))


def ways(call: Connection) -> list[tuple[str, str, str, str]]:
    """Where the call went, and why."""
    return [(move.action, str(move.queue or ""), move.number, move.note) for move in call.transfers.order_by("id")]


@pytest.mark.parametrize(
    ("cause", "why"), [(17, "User busy"), (19, "User alerting, no answer"), (1, "Unallocated (unassigned) number")]
)
def test_a_number_that_is_not_reached_gives_the_customer_back_to_the_agent(cause, why, inbound, anna, switch):
    ask(inbound, "transfer", number=OUTSIDE)
    switch_events.handle(Ringing(target(inbound), timezone.now()))
    target_ends(inbound, cause)
    ringing = state(anna)
    switch_events.handle(Up(target(inbound), timezone.now()))

    call = fresh(inbound)
    assert (ringing, call.state, call.agent, state(anna)) == ("ringing", "talking", anna, "talking")
    assert ways(call) == [("transfer", "", OUTSIDE, ""), ("return", "", "101", f"{OUTSIDE}: {why}")]
    assert [command for command in switch.told if command[0] == "hang_up"] == [
        ("hang_up", inbound.legs.get(role="agent").channel_id)
    ]
    assert switch.told[-1] == ("join", call.bridge_id, "caller-1", target(call))


def test_the_agent_gets_the_event_of_ringing(inbound):
    ask(inbound, "transfer", number=OUTSIDE)
    before = actions().count("AGENT_RINGING")
    target_ends(inbound, 17)

    assert actions().count("AGENT_RINGING") == before + 1
    assert offers(inbound) == [("anna", "answered"), ("anna", "ringing")]


def test_a_busy_target_returns_the_customer_to_the_transferring_agent(inbound):
    free_agent("zoe", "109")
    ask(inbound, "transfer", number="109")
    target_ends(inbound, 17)

    assert offers(inbound) == [("anna", "answered"), ("zoe", "refused"), ("anna", "ringing")]


def test_a_refused_number_gives_the_customer_back(inbound, anna, switch):
    switch.refusals["call_number"] = SwitchError("Asterisk answered 500: Allocation failed.")
    ask(inbound, "transfer", number=OUTSIDE)
    end_refused_legs()

    assert (fresh(inbound).state, state(anna)) == ("dialling", "ringing")
    assert ways(inbound)[-1][3] == f"{OUTSIDE}: Asterisk answered 500: Allocation failed."


def test_the_customer_of_a_call_out_goes_back_to_the_agent_as_well(outbound):
    ask(outbound, "transfer", number=OUTSIDE)
    target_ends(outbound, 17)
    switch_events.handle(Up(target(outbound), timezone.now()))

    call = fresh(outbound)
    assert (call.state, call.agent and call.agent.login, call.disposition) == ("talking", "anna", "")


def test_an_agent_who_does_not_answer_leaves_the_call_to_the_queue(inbound, queue, anna, bert):
    ask(inbound, "transfer", number=OUTSIDE)
    target_ends(inbound, 17)
    switch_events.handle(Ringing(target(inbound), timezone.now()))
    target_ends(inbound, 19)
    waiting = fresh(inbound)
    distribute()

    assert (waiting.state, waiting.queue) == ("waiting", queue)
    assert ways(inbound)[-1] == ("return", str(queue), "", "101: User alerting, no answer")
    assert offers(inbound)[-1] == ("bert", "ringing")
    assert state(anna) != "ringing"


@pytest.mark.parametrize("why", ["logged out", "inactive", "in another call"])
def test_an_agent_who_cannot_ring_leaves_it_to_the_queue(why, inbound, queue, anna):
    ask(inbound, "transfer", number=OUTSIDE)
    if why == "logged out":
        presence.log_out(anna, ACTOR)
    elif why == "inactive":
        presence.deactivate(anna, ACTOR)
    else:
        switch_events.handle(Ended(inbound.legs.get(role="agent").channel_id, timezone.now(), 16))
        placement.place(connections.call(ACTOR, sip="101", phone_number="+48225550155").pk)
    target_ends(inbound, 17)

    assert (fresh(inbound).state, fresh(inbound).queue) == ("waiting", queue)
    assert ways(inbound)[-1] == ("return", str(queue), "", f"{OUTSIDE}: User busy")


def test_without_a_queue_the_agent_is_rung_even_in_another_call(outbound, switch):
    ask(outbound, "transfer", number=OUTSIDE)
    switch_events.handle(Ended(f"callcentre-{outbound.pk}-1", timezone.now(), 16))
    placement.place(connections.call(ACTOR, sip="101", phone_number="+48225550155").pk)
    target_ends(outbound, 17)

    assert fresh(outbound).state == "dialling"
    assert switch.told[-1][:3] == ("call_agent", target(outbound), "101")


def test_without_a_queue_a_call_ends_that_the_agent_does_not_take(outbound, switch):
    ask(outbound, "transfer", number=OUTSIDE)
    target_ends(outbound, 17)
    target_ends(outbound, 19)

    over = fresh(outbound)
    assert (over.state, over.disposition, over.hung_up_by, over.cause) == ("ended", "ANSWERED", "system", 19)
    assert ("hang_up", f"callcentre-{outbound.pk}-2", 19) in switch.told


def test_a_customer_who_hangs_up_on_the_way_back_ends_the_call(inbound, anna):
    ask(inbound, "transfer", number=OUTSIDE)
    target_ends(inbound, 17)
    give_up(inbound)
    switch_events.handle(Ended(target(inbound), timezone.now(), 26))

    assert (fresh(inbound).state, fresh(inbound).hung_up_by) == ("ended", "customer")
    assert state(anna) != "ringing"
    assert not inbound.legs.filter(ended_at=None, role="target").exists()


def overflowing(queue: Queue, **values: Any) -> None:
    Queue.objects.filter(pk=queue.pk).update(overflow_number=OUTSIDE, **values)


def test_a_caller_whose_overflow_failed_waits_again_and_is_then_disconnected(queue):
    overflowing(queue, longest_wait_seconds=600)
    call = call_in()
    wait_too_long(call)
    target_ends(call, 17)
    again = fresh(call)
    wait_too_long(call)

    assert (again.state, again.queue) == ("waiting", queue)
    assert ways(call) == [("overflow", "", OUTSIDE, ""), ("return", str(queue), "", f"{OUTSIDE}: User busy")]
    assert (fresh(call).state, fresh(call).hung_up_by) == ("ended", "system")


def test_a_caller_of_a_closed_queue_whose_overflow_failed_is_disconnected(queue):
    overflowing(queue, is_active=False)
    call = call_in()
    target_ends(call, 17)

    over = fresh(call)
    assert (over.state, over.disposition, over.cause_text) == ("ended", "NO ANSWER", "User busy")


@pytest.mark.parametrize(("number", "party"), [(OUTSIDE, "target"), ("109", "agent")])
def test_a_target_that_hangs_up_is_named(number, party, inbound):
    free_agent("zoe", "109")
    ask(inbound, "transfer", number=number)
    switch_events.handle(Up(target(inbound), timezone.now()))
    target_ends(inbound, 16)

    assert (fresh(inbound).state, fresh(inbound).hung_up_by) == ("ended", party)


@pytest.mark.usefixtures("plain_static")
def test_the_page_of_the_call_says_where_it_went_and_why(inbound):
    ask(inbound, "transfer", number=OUTSIDE)
    target_ends(inbound, 17)

    assert f"{OUTSIDE}: User busy" in superuser().page(page_of(fresh(inbound)))


def test_a_returned_call_can_be_transferred_again(inbound):
    ask(inbound, "transfer", number=OUTSIDE)
    target_ends(inbound, 17)
    switch_events.handle(Up(target(inbound), timezone.now()))
    support = QueueFactory()
    zoe = member(support, "zoe", "109")
    ask(inbound, "transfer", queue_id=support.pk)
    distribute()

    assert not commands.outstanding()
    assert (fresh(inbound).queue, state(zoe)) == (support, "ringing")


def test_a_caller_joined_to_a_dead_phone_waits_again(inbound, anna, queue, switch):
    zoe = member(queue, "zoe", "109")
    inbound.legs.update(up_at=timezone.now() - settings.RTP_TIMEOUT)
    switch_events.handle(Ended(ringing_channel(inbound), timezone.now(), NO_MEDIA))
    call, states = fresh(inbound), (state(anna), state(zoe))
    distribute()

    assert (call.state, call.disposition, states, state(zoe)) == ("waiting", "", ("free", "free"), "ringing")
    assert ways(inbound) == [("return", str(queue), "", f"101: {causes.text_of(NO_MEDIA)}")]
    assert offers(inbound) == [("anna", "answered"), ("zoe", "ringing")]
    assert [command[0] for command in switch.told] == ["destroy_bridge", "play_music", "call_agent"]


@pytest.mark.parametrize(("seconds", "cause", "is_held"), [(30, NO_MEDIA, False), (5, 16, False), (5, NO_MEDIA, True)])
def test_a_call_with_a_heard_agent_ends_with_it(seconds, cause, is_held, inbound):
    if is_held:
        ask(inbound, "hold")
    inbound.legs.update(up_at=timezone.now() - timedelta(seconds=seconds))
    switch_events.handle(Ended(ringing_channel(inbound), timezone.now(), cause))

    assert (fresh(inbound).state, fresh(inbound).hung_up_by) == ("ended", "agent")


@pytest.mark.parametrize("way", ["inbound", "outbound"])
def test_a_customer_who_was_handed_on_to_a_dead_phone_goes_back(way, request):
    call: Connection = request.getfixturevalue(way)
    zoe = free_agent("zoe", "109")
    ask(call, "transfer", number="109")
    switch_events.handle(Up(target(call), timezone.now()))
    target_ends(call, NO_MEDIA)
    ringing, dead = fresh(call), state(zoe)
    switch_events.handle(Up(target(call), timezone.now()))

    assert (ringing.state, fresh(call).state, dead) == ("dialling", "talking", "free")
    assert ways(call)[-1] == ("return", "", "101", f"109: {causes.text_of(NO_MEDIA)}")
    assert not Talk.objects.filter(connection=call, agent=zoe, ended_at=None).exists()
