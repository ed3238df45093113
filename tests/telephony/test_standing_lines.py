"""Standing lines: the phone stays connected, and whatever would ring its agent is joined to the line."""

from datetime import timedelta

import pytest
from django.utils import timezone

from callcentre.core.errors import Conflict, Invalid
from telephony.calls import line_events, lines, placement, switch_events
from telephony.calls.reconciliation import Comparison, is_overdue
from telephony.models import Agent, AgentLine, Connection, Leg
from telephony.switch.base import Channel, Ended, Played, SwitchError, SwitchUnreachable, Unregistered, Up
from telephony.verbs import connections, presence
from telephony.verbs.agents import edit_agent
from tests.conftest import ACTOR
from tests.telephony.callers import ask, call_in, distribute, give_up, member, offers, repair, state

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("switch")]


@pytest.fixture
def lined(anna):
    """Anna, who should have a line."""
    edit_agent(anna, ACTOR, has_line=True)
    return anna


@pytest.fixture
def line(lined, switch):
    """Anna's line, which is up."""
    lines.ask_for_line(lined, ACTOR)
    line = AgentLine.objects.get()
    switch_events.handle(Up(line.channel_id, timezone.now()))
    assert [told[0] for told in switch.told] == ["call_agent", "play_silence"]
    switch.told.clear()
    line.refresh_from_db()
    return line


def tone_ends(line: AgentLine) -> None:
    switch_events.handle(Played(line.channel_id, timezone.now()))


def hang_up(line: AgentLine) -> None:
    switch_events.handle(Ended(line.channel_id, timezone.now(), 16))


def customer_picks_up(call: Connection) -> None:
    switch_events.handle(Up(call.legs.get(role=Leg.Role.CUSTOMER).channel_id, timezone.now()))


def do_due(seconds_from_now: int = 0) -> None:
    now = timezone.now() + timedelta(seconds=seconds_from_now)
    for channel_id, what in line_events.due(now):
        line_events.do_due(channel_id, what, now)


def requested(anna: Agent) -> Connection:
    """Return a call that was requested and placed."""
    call = connections.call(ACTOR, sip=anna.number, phone_number="+48600100200")
    placement.place(call.pk)
    call.refresh_from_db()
    return call


def talking(anna: Agent) -> Connection:
    call = requested(anna)
    customer_picks_up(call)
    call.refresh_from_db()
    return call


def test_only_agents_who_should_have_a_line_get_one(anna, switch):
    with pytest.raises(Conflict):
        lines.ask_for_line(anna, ACTOR)
    edit_agent(anna, ACTOR, has_line=True)
    presence.log_out(anna, ACTOR)
    with pytest.raises(Invalid):
        lines.ask_for_line(anna, ACTOR)
    presence.log_in(anna, ACTOR)
    for _ in range(2):
        lines.ask_for_line(anna, ACTOR)
    assert (AgentLine.objects.count(), len(switch.told), state(anna)) == (1, 1, "free")


def test_a_requested_call_rings_the_number_at_once(anna, line, switch):
    call = requested(anna)

    customer = call.legs.get()
    assert (call.state, customer.role) == ("dialling", "customer")
    assert switch.told == [("call_number", customer.channel_id, "+48600100200", call.caller_id)]
    assert state(anna) == "talking"

    customer_picks_up(call)

    assert switch.told[-1] == ("join", call.bridge_id, line.channel_id, customer.channel_id)


def test_a_call_without_a_line_rings_the_phone_for_it_first(lined, switch):
    call = requested(lined)
    line = AgentLine.objects.get()
    assert call.state == "queued"
    assert [told[1] for told in switch.told] == [line.channel_id]

    placement.place(call.pk)
    switch_events.handle(Up(line.channel_id, timezone.now()))
    placement.place(call.pk)

    call.refresh_from_db()
    assert call.state == "dialling"
    assert AgentLine.objects.count() == 1


@pytest.mark.parametrize("has_talked", [True, False])
def test_a_logged_out_agents_line_ends_with_the_call(has_talked, lined, switch):
    presence.log_out(lined, ACTOR)
    call = requested(lined)
    line = AgentLine.objects.get()
    switch_events.handle(Up(line.channel_id, timezone.now()))
    do_due()
    assert ("hang_up", line.channel_id) not in switch.told
    if has_talked:
        placement.place(call.pk)
        do_due()
        assert ("hang_up", line.channel_id) not in switch.told
    ask(call, "hang_up")

    do_due()

    assert ("hang_up", line.channel_id) in switch.told


def test_a_line_that_is_not_picked_up_ends_the_call_that_waits_for_it(lined):
    call = requested(lined)

    switch_events.handle(Ended(AgentLine.objects.get().channel_id, timezone.now(), 19))

    call.refresh_from_db()
    assert (call.state, call.disposition, call.cause) == ("ended", "FAILED", 19)


def test_a_refused_line_ends(lined, switch):
    switch.refusals["call_agent"] = SwitchError("Allocation failed")
    call = requested(lined)

    do_due()

    call.refresh_from_db()
    line = AgentLine.objects.get()
    assert (line.state, line.cause_text) == ("ended", "Allocation failed")
    assert (call.state, call.cause_text) == ("ended", "Allocation failed")


@pytest.mark.parametrize("party", ["agent", "customer"])
def test_the_end_of_a_call_leaves_the_line(anna, line, switch, party):
    call = talking(anna)
    switch.told.clear()

    if party == "agent":
        ask(call, "hang_up")
    else:
        switch_events.handle(Ended(call.legs.get().channel_id, timezone.now(), 16))

    assert ("hang_up", line.channel_id) not in switch.told
    assert switch.told[-2:] == [("destroy_bridge", call.bridge_id), ("play_silence", line.channel_id)]
    line.refresh_from_db()
    assert (line.state, line.connection_id) == ("up", None)
    assert state(anna) == "free"


def test_an_agent_who_hangs_up_is_rung_for_the_next_call(anna, line, switch):
    call = talking(anna)

    hang_up(line)

    call.refresh_from_db()
    assert (call.state, call.hung_up_by) == ("ended", "agent")
    assert state(anna) == "free"
    switch.told.clear()
    requested(anna)
    assert AgentLine.objects.count() == 2
    assert [told[0] for told in switch.told] == ["call_agent"]


def test_a_caller_of_a_queue_is_joined_after_a_tone(anna, line, switch):
    call = call_in()
    distribute()
    assert state(anna) == "ringing"
    assert switch.told[-1][:2] == ("play_tone", line.channel_id)
    assert not call.legs.filter(role="agent").exists()

    tone_ends(line)

    assert state(anna) == "talking"
    assert offers(call) == [("anna", "answered")]
    assert switch.told[-1] == ("join", call.bridge_id, "caller-1", line.channel_id)
    give_up(call)
    assert state(anna) == "wrap_up"


def test_a_tone_whose_end_is_not_reported_is_over_after_a_moment(anna, line):
    call_in()
    distribute()

    do_due()
    assert state(anna) == "ringing"
    do_due(3)
    assert state(anna) == "talking"


@pytest.mark.parametrize("party", ["agent", "caller"])
def test_a_hang_up_during_the_tone_ends_the_offer(party, anna, line):
    call = call_in()
    distribute()

    if party == "agent":
        hang_up(line)
    else:
        give_up(call)
        tone_ends(line)

    line.refresh_from_db()
    call.refresh_from_db()
    assert offers(call) == [("anna", "refused" if party == "agent" else "abandoned")]
    assert (call.state, line.state) == (("waiting", "ended") if party == "agent" else ("ended", "up"))
    assert (line.connection_id, state(anna)) == (None, "free")


def test_a_queue_rings_an_agent_whose_line_was_hung_up(anna, line, switch):
    hang_up(line)
    call_in()
    distribute()
    second = AgentLine.objects.get(ended_at=None)
    assert switch.told[-1][:2] == ("call_agent", second.channel_id)

    switch_events.handle(Up(second.channel_id, timezone.now()))

    assert state(anna) == "talking"
    assert switch.told[-1][0] == "join"


def test_a_hold_keeps_the_line(anna, line, switch):
    call = talking(anna)
    customer = call.legs.get().channel_id
    switch.told.clear()

    ask(call, "hold")
    ask(call, "resume")

    assert switch.told == [
        ("destroy_bridge", call.bridge_id),
        ("play_music", customer, "default"),
        ("play_silence", line.channel_id),
        ("stop_music", customer),
        ("join", call.bridge_id, customer, line.channel_id),
    ]


def test_a_transfer_frees_the_line_and_may_return_to_it(anna, line, switch):
    call = talking(anna)
    ask(call, "transfer", number="+48600100201")
    line.refresh_from_db()
    assert (line.state, line.connection_id) == ("up", None)
    assert state(anna) == "free"
    target = call.legs.get(role="target")
    switch.told.clear()

    switch_events.handle(Ended(target.channel_id, timezone.now(), 17))

    assert ("play_tone", line.channel_id) in switch.told
    tone_ends(line)
    call.refresh_from_db()
    line.refresh_from_db()
    assert (call.state, line.connection_id) == ("talking", call.pk)
    assert state(anna) == "talking"
    assert switch.told[-1][0] == "join"


def test_a_call_is_transferred_to_the_line_of_another_agent(queue, line):
    zoe = member(queue, "zoe", "109")
    call = call_in()
    distribute()
    tone_ends(line)
    edit_agent(zoe, ACTOR, has_line=True)
    lines.ask_for_line(zoe, ACTOR)
    hers = AgentLine.objects.get(agent=zoe)
    switch_events.handle(Up(hers.channel_id, timezone.now()))

    ask(call, "transfer", number="109")
    assert state(zoe) == "ringing"
    tone_ends(hers)

    call.refresh_from_db()
    assert (call.state, call.agent) == ("talking", zoe)
    assert state(zoe) == "talking"


def test_the_line_of_a_phone_that_registers_anew_ends(anna, line, switch):
    switch_events.handle(Unregistered("999", timezone.now()))
    switch_events.handle(Unregistered(anna.number, line.asked_at))
    do_due()
    assert switch.told == []

    switch_events.handle(Unregistered(anna.number, timezone.now()))
    do_due()
    assert switch.told == [("hang_up", line.channel_id, 44)]
    switch_events.handle(Ended(line.channel_id, timezone.now(), 44))
    lines.ask_for_line(anna, ACTOR)

    assert AgentLine.objects.get(ended_at=None).pk != line.pk


def test_the_hang_up_of_a_line_without_a_phone_is_repeated(anna, line, switch):
    call = talking(anna)
    switch.listed = [Channel(call.legs.get().channel_id, is_up=True)]
    switch.refusals["hang_up"] = SwitchUnreachable("silent")
    switch.told.clear()

    switch_events.handle(Unregistered(anna.number, timezone.now()))
    do_due()
    do_due()
    assert switch.told == [("hang_up", line.channel_id, 44)] * 2
    assert is_overdue(timezone.now() + timedelta(minutes=1))

    # The event of the end is lost.
    del switch.refusals["hang_up"]
    repair()
    call.refresh_from_db()
    line.refresh_from_db()
    assert (line.state, line.cause) == ("ended", 44)
    assert call.state == "ended"


def test_the_log_out_ends_the_line(anna, line, switch):
    presence.log_out(anna, ACTOR)

    do_due()

    assert switch.told == [("hang_up", line.channel_id)]
    hang_up(line)
    line.refresh_from_db()
    assert line.state == "ended"


@pytest.mark.parametrize("way", ["log-out", "request", "setting"])
def test_a_line_in_a_call_ends_after_the_call(anna, line, switch, way):
    call = talking(anna)
    if way == "log-out":
        presence.log_out(anna, ACTOR)
    elif way == "request":
        lines.end_line(anna, ACTOR)
    else:
        edit_agent(anna, ACTOR, has_line=False)
    do_due()
    assert ("hang_up", line.channel_id) not in switch.told

    ask(call, "hang_up")
    do_due()

    assert switch.told[-1] == ("hang_up", line.channel_id)
    assert ("play_silence", line.channel_id) not in switch.told


def test_a_line_that_the_switch_has_no_more_ends(anna, line, switch):
    call = talking(anna)
    switch.listed = [Channel(call.legs.get().channel_id, is_up=True)]

    repair()

    call.refresh_from_db()
    line.refresh_from_db()
    assert line.state == "ended"
    assert (call.state, call.hung_up_by) == ("ended", "agent")


def test_a_comparison_finds_a_line_that_was_picked_up_unheard(lined, switch):
    lines.ask_for_line(lined, ACTOR)
    line = AgentLine.objects.get()
    switch.listed = [Channel(line.channel_id, is_up=True)]

    repair(looks=1)

    line.refresh_from_db()
    assert line.state == "up"


def test_a_tone_that_outlives_its_process_is_hung_up_once_it_is_over(line, switch):
    switch.listed = [Channel(line.channel_id, is_up=True), Channel(f"{line.channel_id}-tone", is_up=True)]
    for is_over in (False, True):
        AgentLine.objects.update(
            connection_id=7, called_at=timezone.now(), joined_at=timezone.now() if is_over else None
        )
        for difference in Comparison().compare(switch).repairs:
            difference.act()

        assert switch.told == [("hang_up", f"{line.channel_id}-tone")] * is_over
