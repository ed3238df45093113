"""Supervisors in calls, on every switch: who hears whom."""

import pytest

from telephony.switch.base import Channel, Ended, SwitchError
from tests.telephony.switch.harness import Line, asked

SUPERVISOR = "callcentre-monitor-1-7"


def supervisor(line: Line) -> str:
    line.switch.call_agent(SUPERVISOR, "102", presented="", ring_seconds=20, is_awaited=True)
    return line.up(SUPERVISOR)


def test_each_mode_is_heard_by_those_whom_it_is_for(line):
    agent, customer = line.talk()
    coach, heard = supervisor(line), {}

    for mode in ("listen", "whisper", "barge", "listen"):
        if mode == "barge":
            line.switch.barge(coach, "callcentre-1")
        else:
            line.switch.listen(coach, customer, is_heard=mode == "whisper")
        heard[mode] = (line.hears(coach), coach in line.hears(agent), coach in line.hears(customer))

    assert heard == {
        "listen": ({agent, customer}, False, False),
        "whisper": ({agent, customer}, True, False),
        "barge": ({agent, customer}, True, True),
    }


def test_a_supervisor_hears_the_customer_on_hold_and_with_the_next_agent(line):
    first, customer = line.talk()
    coach = supervisor(line)
    line.switch.barge(coach, "callcentre-1")

    line.switch.destroy_bridge("callcentre-1")
    line.switch.listen(coach, customer, is_heard=True)
    line.switch.hang_up(first)
    on_hold = line.hears(coach)
    line.up(second := line.agent())
    line.switch.join("callcentre-1", [customer, second])

    assert (on_hold, line.hears(coach)) == ({customer}, {customer, second})
    assert coach in line.hears(second)


def test_nothing_is_left_when_a_supervisor_leaves(line):
    agent, customer = line.talk()
    coach = supervisor(line)
    line.switch.listen(coach, customer, is_heard=False)

    for _ in range(2):
        line.switch.stop_listening(coach)
        line.switch.hang_up(coach)
    line.told(Ended, channel_id=coach)

    assert sorted(line.switch.channels(), key=str) == [Channel(agent, is_up=True), Channel(customer, is_up=True)]
    assert (line.switch.bridges(), line.hears(agent)) == (["callcentre-1"], {customer})


def test_a_supervisor_can_take_the_place_of_the_agent(line):
    agent, customer = line.talk()
    coach = supervisor(line)
    line.switch.listen(coach, customer, is_heard=False)

    line.switch.destroy_bridge("callcentre-1")
    line.switch.stop_listening(coach)
    line.switch.hang_up(agent)
    line.switch.join("callcentre-1", [coach, customer])

    assert line.hears(customer) == {coach}


def test_a_customer_who_is_gone_cannot_be_listened_to(line):
    coach = supervisor(line)
    with pytest.raises(SwitchError):
        line.switch.listen(coach, "callcentre-1-99", is_heard=False)
    with pytest.raises(SwitchError):
        line.switch.barge(coach, "callcentre-1")


def test_the_snooping_channel_is_no_caller_and_is_awaited(both):
    line, server = both
    _agent, customer = line.talk()
    line.switch.listen(supervisor(line), customer, is_heard=True)

    snoop = f"{SUPERVISOR}-snoop"
    assert next(one for one in line.switch.channels() if one.id == snoop).caller is None
    assert asked(server, f"channels/{customer}/snoop") == [f"POST channels/{customer}/snoop"]
