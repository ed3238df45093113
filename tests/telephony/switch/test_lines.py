"""Standing lines, sounds and detection: on every switch, then the requests to Asterisk and its traps."""

from functools import partial

import pytest

from telephony.switch.base import (
    Arrived,
    Channel,
    Detected,
    Ended,
    Played,
    RecordingFinished,
    SwitchError,
    Unregistered,
    Up,
)
from tests.telephony.switch import ari_media
from tests.telephony.switch.harness import asked, wait_for


def test_a_line_is_joined_parted_and_joined_again(line):
    agent = line.standing_line()
    for number in (1, 2):
        customer = line.customer()
        line.up(customer)
        line.switch.join(f"callcentre-{number}", [agent, customer])
        line.switch.hang_up(customer)
        line.told(Ended, channel_id=customer)
        line.switch.destroy_bridge(f"callcentre-{number}")
        line.switch.play_silence(agent)
        line.switch.play_silence(agent)

    assert line.switch.channels() == [Channel(agent, is_up=True)]
    assert line.listener.of(Arrived) == []


def test_a_line_moves_from_one_bridge_to_another(line):
    agent, first, second = line.standing_line(), line.customer(), line.customer()
    line.up(first, second)
    line.switch.join("callcentre-1", [agent, first])

    line.switch.join("callcentre-2", [agent, second])
    line.switch.destroy_bridge("callcentre-1")

    assert line.switch.bridges() == ["callcentre-2"]
    assert {channel.id for channel in line.switch.channels()} == {agent, first, second}


def test_the_end_of_a_tone_is_reported_for_its_line(line):
    agent = line.standing_line()

    def heard(count):
        return len(line.listener.of(Played, channel_id=agent)) >= count

    for count in (1, 2):
        line.switch.play_tone(agent)
        wait_for(partial(heard, count), "the tone")
        line.switch.stop_tone(agent)

    assert line.switch.channels() == [Channel(agent, is_up=True)]
    assert line.listener.of(Arrived) == []


def test_the_end_of_a_message_is_reported(line):
    customer = line.up(line.customer())

    line.switch.play(customer, ["callcentre/sorry"], "callcentre-1-play-1")

    assert not line.told(Played, channel_id=customer, sound_id="callcentre-1-play-1").is_failed


def test_a_sound_is_ended_before_a_join(line):
    caller, agent = line.caller(), line.up(line.agent())
    line.switch.answer(caller)
    line.switch.play(caller, ["callcentre/welcome", "callcentre/place"], "callcentre-1-play-1")

    line.switch.stop_play("callcentre-1-play-1")

    line.told(Played, channel_id=caller, sound_id="callcentre-1-play-1")
    line.switch.join("callcentre-1", [caller, agent])
    line.switch.stop_play("callcentre-1-play-1")


def test_a_message_is_recorded_until_the_caller_hangs_up(line):
    caller = line.caller()
    line.switch.answer(caller)

    line.switch.record(caller, "1416225570.1", 60)
    line.switch.record(caller, "1416225570.1", 60)
    line.switch.hang_up(caller)

    assert not line.told(RecordingFinished, name="1416225570.1").is_failed
    assert b"".join(line.switch.recording("1416225570.1"))[:4] == b"RIFF"


def test_a_message_ends_at_the_longest_time(line):
    caller = line.caller()
    line.switch.answer(caller)

    line.switch.record(caller, "1416225570.1", 1)

    line.told(RecordingFinished, name="1416225570.1")


@pytest.mark.parametrize(("what", "who"), [("answers", "human"), ("machine", "machine")])
def test_a_detection_says_who_has_picked_up(line, what, who):
    customer = line.up(line.customer(what))

    line.switch.detect(customer)

    detected = line.told(Detected, channel_id=customer)
    assert detected.who == who
    assert len(line.listener.of(Up, channel_id=customer)) == 1
    line.switch.join("callcentre-1", [customer])


@pytest.mark.parametrize("command", ["play_silence", "play_tone", "detect"])
def test_a_line_that_is_gone_is_refused(line, command):
    with pytest.raises(SwitchError):
        getattr(line.switch, command)("callcentre-line-99")


# Asterisk


def test_a_line_gets_packets_and_hears_its_customer(both):
    line, server = both
    agent, customer = line.standing_line(), line.customer()
    line.up(customer)
    assert agent not in ari_media.without_packets(server.pbx)

    line.switch.join("callcentre-1", [agent, customer])
    assert ari_media.unheard(server.pbx) == []
    line.switch.destroy_bridge("callcentre-1")
    line.switch.play_silence(agent)

    assert agent not in ari_media.without_packets(server.pbx)


def test_one_request_moves_the_line_and_the_customer(both):
    line, server = both
    agent, customer = line.standing_line(), line.customer()
    line.up(customer)

    line.switch.join("callcentre-1", [agent, customer])

    silence = f"DELETE channels/{agent}/silence"
    assert asked(server, "bridges", f"channels/{agent}/silence")[1:] == [
        "POST bridges",
        silence,
        "POST bridges/callcentre-1/addChannel",
    ]


def test_a_tone_ends_neither_the_silence_nor_a_talk(both):
    line, server = both
    agent = line.standing_line()

    line.switch.play_tone(agent)

    snoop = next(values for method, path, values in server.pbx.requests if path.endswith("snoop"))
    assert (snoop["spy"], snoop["whisper"], snoop["snoopId"]) == ("none", "out", f"{agent}-tone")
    assert server.pbx.lines[agent].is_silent


def test_keys_are_heard_in_a_bridge(both):
    line, server = both
    agent, customer = line.standing_line(), line.customer()
    line.up(customer)

    line.switch.join("callcentre-1", [agent, customer])

    assert server.pbx.bridge_types == {"callcentre-1": "mixing,dtmf_events"}


@pytest.mark.parametrize("rtp_timeout", [0, 0.1])
def test_the_line_of_a_vanished_phone_ends_by_the_time_limit_for_packets(both, rtp_timeout):
    line, server = both
    server.pbx.rtp_timeout = rtp_timeout
    agent, other = line.standing_line(), line.customer()

    server.pbx.vanishes(agent)
    server.pbx.timers.after(0.2, lambda: server.pbx.far_end_hangs_up(other))

    line.told(Ended, channel_id=other)
    assert [event.cause for event in line.listener.of(Ended, channel_id=agent)] == ([44] if rtp_timeout else [])


def test_the_end_of_the_registration_of_a_phone_with_a_line_is_reported(both):
    line, server = both
    agent = line.standing_line()
    number = server.pbx.lines[agent].dialstring

    server.pbx.registers_anew(number)
    line.told(Unregistered, number=number)
    line.switch.hang_up(agent, 44)

    assert line.told(Ended, channel_id=agent).cause == 44


def test_a_message_that_is_not_there_has_failed(both):
    line, _ = both
    customer = line.up(line.customer())

    line.switch.play(customer, ["missing"], "callcentre-1-play-1")

    assert line.told(Played, channel_id=customer).is_failed


def test_a_message_that_cannot_be_fetched_has_failed(both):
    line, server = both
    customer = line.up(line.customer())

    line.switch.play(customer, [f"{server.url}/nothing.wav"], "callcentre-1-play-1")

    assert line.told(Played, channel_id=customer).is_failed


def test_a_channel_in_detection_cannot_be_joined(both):
    line, server = both
    server.pbx.detection = 30
    customer = line.up(line.customer())
    line.switch.detect(customer)

    with pytest.raises(SwitchError):
        line.switch.join("callcentre-1", [customer])


def test_a_doubt_is_reported(both):
    line, _ = both
    line.numbers["unsure"] = "+48600100208"
    customer = line.up(line.customer("unsure"))

    line.switch.detect(customer)

    assert line.told(Detected, channel_id=customer).who == "unsure"
