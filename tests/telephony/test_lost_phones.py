"""A phone in the browser that is lost in a talk: music, then the same agent again; otherwise the queue, or the end."""

from datetime import timedelta

import pytest
from django.utils import timezone

from telephony import causes
from telephony.calls import (
    browser_phones,
    commands,
    failed_transfers,
    line_events,
    lines,
    placement,
    reconciliation,
    switch_events,
)
from telephony.calls.legs import NO_MEDIA
from telephony.models import Agent, AgentLine, BrowserPhone, Connection
from telephony.switch.base import Channel, Ended, PhoneChanged, Unregistered, Up
from telephony.verbs import connections, presence
from tests.conftest import ACTOR
from tests.telephony.callers import CALLER, ask, end_refused_legs, fresh, give_up, offers, state, talk_in, talk_out
from tests.telephony.doubles import RecordingSwitch

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("switch")]


@pytest.fixture
def anna(anna):
    Agent.objects.update(uses_browser_phone=True)
    anna.refresh_from_db()
    browser_phones.open_phone(anna)
    registered(is_online=True)
    return anna


@pytest.fixture
def talk(anna, switch):
    """A caller of the queue, who has talked with Anna for a minute."""
    return heard_for_a_minute(talk_in(), switch)


def heard_for_a_minute(call: Connection, switch: RecordingSwitch) -> Connection:
    call.legs.update(up_at=timezone.now() - timedelta(minutes=1), asked_at=timezone.now() - timedelta(minutes=1))
    switch.told.clear()
    return call


def registered(*, is_online: bool) -> None:
    switch_events.handle(PhoneChanged("101", timezone.now(), is_online))


def window_goes() -> None:
    switch_events.handle(Unregistered("101", timezone.now()))
    registered(is_online=False)


def window_comes(anna: Agent) -> None:
    browser_phones.open_phone(anna)
    registered(is_online=True)


def go_on(seconds_from_now: float = 0) -> None:
    for pk in failed_transfers.awaiting_phones():
        failed_transfers.go_on(pk, timezone.now() + timedelta(seconds=seconds_from_now))
    end_refused_legs()


def agent_channel(call: Connection) -> str:
    return str(call.legs.exclude(role="customer").latest("id").channel_id)


def pick_up(call: Connection) -> None:
    switch_events.handle(Up(agent_channel(call), timezone.now()))


def told(switch: RecordingSwitch) -> list[str]:
    names = [command[0] for command in switch.told]
    switch.told.clear()
    return names


@pytest.mark.parametrize("direction", ["in", "out", "transferred"])
def test_the_agent_talks_on_after_a_reload(direction, anna, switch):
    call = heard_for_a_minute(talk_in() if direction != "out" else talk_out(), switch)
    if direction == "transferred":
        ask(call, "transfer", number="101")
        pick_up(call)
        heard_for_a_minute(call, switch)
    lost = agent_channel(call)
    window_goes()
    assert told(switch) == ["destroy_bridge", "play_music", "hang_up"]
    go_on()
    assert told(switch) == []
    window_comes(anna)
    go_on()
    go_on(1)
    assert told(switch) == ["add_phone", "call_agent"]
    pick_up(call)
    go_on(60)

    assert told(switch) == ["stop_music", "join"]
    after = fresh(call)
    assert (after.state, after.agent, after.agent_lost_at, state(anna)) == ("talking", anna, None, "talking")
    assert agent_channel(call) != lost
    # Then it ends as any call.
    switch_events.handle(Ended(agent_channel(call), timezone.now(), 16))
    assert (fresh(call).disposition, fresh(call).hung_up_by) == ("ANSWERED", "agent")


def test_a_caller_whose_agent_does_not_come_back_waits_in_the_queue_again(talk, anna, queue, switch):
    window_goes()
    go_on(8)
    assert (fresh(talk).state, state(anna)) == ("talking", "talking")
    told(switch)
    go_on(10)

    assert (fresh(talk).state, fresh(talk).agent_lost_at, state(anna)) == ("waiting", None, "free")
    assert talk.transfers.get().note == f"101: {causes.text_of(NO_MEDIA)}"
    assert offers(talk) == [("anna", "answered")]
    assert told(switch) == ["destroy_bridge", "play_music"]


def test_another_call_ends_without_its_agent(anna, switch):
    call = heard_for_a_minute(talk_out(), switch)
    switch_events.handle(Ended(agent_channel(call), timezone.now(), NO_MEDIA))
    go_on(10)

    assert (fresh(call).disposition, fresh(call).cause, fresh(call).hung_up_by) == ("ANSWERED", NO_MEDIA, "agent")
    assert state(anna) == "free"


def test_a_phone_that_stays_registered_is_rung_at_once_and_again(talk, anna, switch):
    # Only the packets stopped.
    switch_events.handle(Ended(agent_channel(talk), timezone.now(), NO_MEDIA))
    go_on()
    assert told(switch) == ["destroy_bridge", "play_music", "call_agent"]
    switch_events.handle(Ended(agent_channel(talk), timezone.now(), 17))
    go_on()
    assert told(switch) == []
    go_on(3)
    assert told(switch) == ["call_agent"]
    # The window that rings is gone: another one is rung.
    switch_events.handle(Unregistered("101", timezone.now() + timedelta(seconds=3)))
    assert told(switch) == ["hang_up"]
    go_on(6)
    assert told(switch) == ["call_agent"]
    go_on(10)
    assert told(switch)[:1] == ["hang_up"]
    pick_up(talk)
    assert (fresh(talk).state, told(switch)) == ("waiting", ["hang_up"])


def test_the_phone_of_a_standing_line_comes_back_too(anna, switch):
    Agent.objects.update(has_line=True)
    anna.refresh_from_db()
    lines.ask_for_line(anna, ACTOR)
    line = AgentLine.objects.get()
    switch_events.handle(Up(line.channel_id, timezone.now()))
    call = connections.call(ACTOR, sip="101", phone_number=CALLER)
    placement.place(call.pk)
    switch_events.handle(Up(call.legs.get().channel_id, timezone.now()))
    AgentLine.objects.update(
        joined_at=timezone.now() - timedelta(minutes=1), asked_at=timezone.now() - timedelta(hours=1)
    )
    told(switch)
    window_goes()
    for channel_id, what in line_events.due(timezone.now()):
        line_events.do_due(channel_id, what, timezone.now())
    switch_events.handle(Ended(line.channel_id, timezone.now(), NO_MEDIA))
    assert told(switch) == ["hang_up", "destroy_bridge", "play_music"]
    window_comes(anna)
    go_on()
    assert told(switch) == ["add_phone", "call_agent"]
    switch_events.handle(Up(AgentLine.objects.get(ended_at=None).channel_id, timezone.now()))

    assert told(switch) == ["stop_music", "join"]
    assert (fresh(call).state, fresh(call).agent_lost_at) == ("talking", None)


def test_a_customer_on_hold_stays_on_hold(talk, anna, switch):
    ask(talk, "hold")
    told(switch)
    window_goes()
    assert told(switch) == ["hang_up"]
    ask(talk, "resume")
    ask(talk, "hold")
    told(switch)
    window_comes(anna)
    go_on()
    pick_up(talk)
    assert told(switch) == ["add_phone", "call_agent"]
    ask(talk, "resume")
    assert told(switch) == ["stop_music", "join"]


@pytest.mark.parametrize("way", ["customer", "hang_up", "transfer"])
def test_the_call_can_end_and_move_while_it_waits(way, talk, anna, queue):
    window_goes()
    if way == "customer":
        give_up(talk)
    else:
        ask(talk, way, **({"queue_id": queue.pk} if way == "transfer" else {}))
    window_comes(anna)
    go_on(20)

    assert fresh(talk).state == ("waiting" if way == "transfer" else "ended")
    assert talk.legs.filter(role="agent").count() == 1
    assert state(anna) in ("wrap_up", "free")


def test_no_other_call_of_the_agent_is_placed_meanwhile(talk, anna):
    window_goes()
    second = connections.call(ACTOR, sip="101", phone_number="+48225550199")
    placement.place(second.pk)
    assert fresh(second).state == "queued"


def test_another_phone_and_another_cause_end_the_call(talk, anna):
    Agent.objects.update(uses_browser_phone=False)
    switch_events.handle(Unregistered("101", timezone.now()))
    assert fresh(talk).agent_lost_at is None
    switch_events.handle(Ended(agent_channel(talk), timezone.now(), NO_MEDIA))
    assert fresh(talk).state == "ended"


def test_the_next_listener_repeats_the_music(talk, switch):
    window_goes()
    told(switch)
    switch.listed = [Channel("caller-1", is_up=True)]
    for pk in reconciliation.established():
        reconciliation.restore(pk)
    assert told(switch) == ["destroy_bridge", "answer", "play_music"]


def test_an_agent_who_logs_out_does_not_come_back(talk, anna):
    window_goes()
    presence.log_out(anna, ACTOR)
    browser_phones.close_unused(timezone.now())
    go_on(10)
    assert fresh(talk).state == "waiting"
    assert BrowserPhone.objects.get().closed_at
    assert not commands.outstanding()
