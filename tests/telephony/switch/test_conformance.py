"""Behaviour of every switch: the same tests against the simulated one and the stand-in for Asterisk."""

from typing import Any

import pytest
from django.utils import timezone

from telephony.switch import base
from telephony.switch.base import (
    Arrived,
    Channel,
    Ended,
    KeyPressed,
    Online,
    RecordingFinished,
    Ringing,
    SwitchError,
    Up,
)
from tests.serving import at_once
from tests.telephony.switch.harness import wait_for


def test_a_phone_rings_and_is_picked_up(line):
    channel_id = line.up(line.agent())
    assert len(line.listener.of(Ringing, channel_id=channel_id)) == 1
    assert line.listener.of(Ended) == []
    assert line.switch.channels() == [Channel(channel_id, is_up=True)]


def test_a_phone_that_rings_is_listed_so(line):
    channel_id = line.customer("rings")

    line.told(Ringing, channel_id=channel_id)
    assert line.switch.channels() == [Channel(channel_id, is_up=False, is_ringing=True)]


def test_a_number_outside_rings_and_is_picked_up(line):
    channel_id = line.up(line.customer())
    assert len(line.listener.of(Ringing, channel_id=channel_id)) == 1
    assert len(line.listener.of(Up, channel_id=channel_id)) == 1


def test_a_second_call_to_a_phone_is_offered_and_picked_up(line):
    first = line.up(line.agent())

    second = line.up(line.agent())
    assert {channel.id for channel in line.switch.channels()} == {first, second}


@pytest.mark.parametrize(
    ("what", "cause", "tech_cause"),
    [("busy", 17, "486"), ("refuses", 21, "603"), ("unknown", 1, "404"), ("fails", 38, "500")],
)
def test_the_cause_of_an_unanswered_call(line, what, cause, tech_cause):
    channel_id = line.customer(what)

    ended = line.told(Ended, channel_id=channel_id)
    assert (ended.cause, ended.tech_cause) == (cause, tech_cause)
    assert line.listener.of(Up) == []
    assert line.switch.channels() == []


@pytest.mark.parametrize("what", ["rings", "silent"])
def test_an_unanswered_phone_ends_after_the_ringing_time(line, what):
    channel_id = line.customer(what, ring_seconds=1)

    ended = line.told(Ended, channel_id=channel_id)
    # The switch itself adds the 480.
    assert (ended.cause, ended.tech_cause) == (19, "480")
    assert bool(line.listener.of(Ringing)) == (what == "rings")
    assert line.listener.of(Up) == []


def test_an_unknown_phone_is_refused(line):
    with pytest.raises(SwitchError):
        line.agent("no-such-phone")

    assert line.switch.channels() == []


def test_a_channel_that_is_there_already_is_not_asked_for_twice(line):
    channel_id = line.up(line.agent())

    line.switch.call_agent(channel_id, "101", presented="", ring_seconds=20)

    assert line.switch.channels() == [Channel(channel_id, is_up=True)]
    assert len(line.listener.of(Up)) == 1


def test_a_ringing_phone_is_hung_up_with_the_given_cause(line):
    channel_id = line.customer("rings")
    line.told(Ringing, channel_id=channel_id)

    line.switch.hang_up(channel_id, 26)

    assert line.told(Ended, channel_id=channel_id).cause == 26


def test_hanging_up_twice_is_requested_once(line):
    channel_id = line.up(line.agent())

    line.switch.hang_up(channel_id)
    line.switch.hang_up(channel_id)

    assert line.told(Ended, channel_id=channel_id).cause == 16
    line.up(line.agent("102"))
    assert len(line.listener.of(Ended)) == 1


def test_one_leg_that_ends_does_not_end_the_other(line):
    agent, customer = line.talk()

    line.switch.hang_up(customer)

    line.told(Ended, channel_id=customer)
    assert line.switch.channels() == [Channel(agent, is_up=True)]


def test_joining_again_changes_nothing(line):
    agent, customer = line.talk()

    line.switch.join("callcentre-1", [agent, customer])

    assert {channel.id for channel in line.switch.channels()} == {agent, customer}


def test_parted_channels_stay_up_and_can_be_joined_again(line):
    agent, customer = line.talk()

    line.switch.destroy_bridge("callcentre-1")
    line.switch.destroy_bridge("callcentre-1")
    line.switch.play_music(customer, "default")
    line.switch.stop_music(customer)
    line.switch.join("callcentre-1", [agent, customer])

    assert {channel.id for channel in line.switch.channels()} == {agent, customer}
    assert line.listener.of(Ended) == []


def test_a_phone_that_still_rings_cannot_be_joined(line):
    agent = line.up(line.agent())
    customer = line.customer("rings")

    with pytest.raises(SwitchError):
        line.switch.join("callcentre-1", [agent, customer])


@pytest.mark.parametrize("command", ["answer", "play_music", "stop_music", "play_ringing", "join"])
def test_a_request_for_a_gone_channel_is_refused(line, command):
    commands: dict[str, list[Any]] = {
        "play_music": ["callcentre-9-9", "default"],
        "join": ["callcentre-9", ["callcentre-9-9"]],
    }

    with pytest.raises(SwitchError):
        getattr(line.switch, command)(*commands.get(command, ["callcentre-9-9"]))


def test_a_caller_arrives_is_answered_and_joined(line):
    caller, agent = line.caller(), line.agent()
    line.up(agent)

    line.switch.answer(caller)
    line.switch.answer(caller)
    line.switch.play_music(caller, "default")
    line.switch.stop_music(caller)
    line.switch.join("callcentre-1", [caller, agent])

    arrived = line.listener.told(Arrived)
    assert (arrived.caller, arrived.dialled) == ("+48600100300", "48221002003")
    assert set(line.switch.channels()) == {
        Channel(caller, is_up=True, caller="+48600100300", dialled="48221002003"),
        Channel(agent, is_up=True),
    }
    assert [event.channel_id for event in line.listener.of(Up)] == [agent]


def test_the_end_of_a_caller_is_reported_after_the_subscription(line):
    caller = line.caller()
    line.switch.follow(caller)
    line.switch.follow(caller)

    line.switch.hang_up(caller, 1)

    assert line.told(Ended, channel_id=caller).cause == 1


def test_keys_of_a_waiting_caller_are_reported_in_their_order(line):
    caller = line.caller()
    line.switch.answer(caller)
    line.switch.play_music(caller, "default")

    for key in "1#2":
        line.press(caller, key)

    wait_for(lambda: len(line.listener.of(KeyPressed)) >= 3, "three keys")
    assert [(event.channel_id, event.key) for event in line.listener.of(KeyPressed)] == [(caller, key) for key in "1#2"]


def test_a_recorded_conversation_can_be_read_when_its_bridge_is_gone(line):
    agent, customer = line.talk(record_as="1416225570.341")
    line.switch.hang_up(customer)
    line.switch.hang_up(agent)
    for channel_id in (agent, customer):
        line.told(Ended, channel_id=channel_id)

    line.switch.destroy_bridge("callcentre-1")

    finished = line.told(RecordingFinished)
    assert (finished.name, finished.is_failed) == ("1416225570.341", False)
    sound = b"".join(line.switch.recording("1416225570.341"))
    assert (sound[:4], sound[8:12]) == (b"RIFF", b"WAVE")
    assert len(sound) > 44


def test_a_recording_that_is_removed_cannot_be_read(line):
    line.talk(record_as="1.2")
    line.switch.destroy_bridge("callcentre-1")
    line.told(RecordingFinished)

    line.switch.remove_recording("1.2")
    line.switch.remove_recording("1.2")

    with pytest.raises(SwitchError):
        b"".join(line.switch.recording("1.2"))


def test_a_switch_that_is_there_answers(line):
    line.switch.ping()


def test_the_bridges_that_are_there_are_listed(line):
    agent, customer = line.agent(), line.customer()
    line.up(agent, customer)
    before = line.switch.bridges()
    line.switch.join("callcentre-1", [agent, customer])
    joined = line.switch.bridges()
    line.switch.destroy_bridge("callcentre-1")

    assert (before, joined, line.switch.bridges()) == ([], ["callcentre-1"], [])


def test_a_caller_is_listed_before_being_answered(line):
    caller = line.caller()

    assert line.switch.channels() == [Channel(caller, is_up=False, caller="+48600100300", dialled="48221002003")]


def test_thirty_calls_at_once(line):
    at_once([line.customer] * 30)

    wait_for(lambda: len(line.listener.of(Up)) == 30)
    assert len(line.switch.channels()) == 30


def test_a_switch_without_events_is_alive(line, monkeypatch):
    monkeypatch.setattr(base, "PULSE_SECONDS", 0.05)
    begun = timezone.now()

    wait_for(lambda: len(line.listener.heard) > 3, "pulses")
    instants = [heard.at for heard in line.listener.heard]
    assert instants == sorted(instants)
    assert instants[-1] > begun
    assert instants[-1] <= timezone.now()
    assert line.listener.events == [Online()]


def test_closing_ends_the_stream_of_events(line):
    line.listener.stop()

    wait_for(lambda: line.listener.is_over)
    assert line.listener.events == [Online()]
