"""Asterisk's oddities, as they were observed on a real one: each on a stand-in with a real socket."""

import logging
import threading
from pathlib import Path

import pytest

from telephony.switch import ari, asterisk
from telephony.switch.asterisk import AsteriskSwitch
from telephony.switch.base import (
    Arrived,
    Channel,
    Ended,
    Offline,
    Online,
    Replaced,
    Ringing,
    SwitchError,
    SwitchUnreachable,
    Up,
)
from tests.telephony.switch.ari_causes import CAUSES
from tests.telephony.switch.ari_routes import ROUTES
from tests.telephony.switch.harness import Listener, asked, wait_for


@pytest.fixture
def line(both):
    return both[0]


# Outcomes


@pytest.mark.parametrize("status", sorted(CAUSES))
def test_the_cause_of_each_sip_status(line, status):
    line.switch.call_number("callcentre-1-1", f"+31205559{status}", presented="", ring_seconds=20)

    ended = line.told(Ended, channel_id="callcentre-1-1")
    assert (ended.cause, ended.tech_cause) == (CAUSES[status][0], str(status))
    assert line.listener.of(Up) == []


def test_a_dead_phone_is_given_up_after_the_ringing_time(line):
    channel_id = line.agent("109", ring_seconds=1)

    ended = line.told(Ended, channel_id=channel_id)
    assert (ended.cause, ended.tech_cause) == (19, "480")


def test_early_media_is_ringing(line):
    line.switch.call_number("callcentre-1-1", "+48600100183", presented="", ring_seconds=20)

    line.up("callcentre-1-1")
    assert len(line.listener.of(Ringing)) == 1


def test_the_cause_is_normal_in_a_bridge_and_unknown_outside(line, server):
    agent, customer, other = line.agent(), line.customer(), line.customer()
    line.up(agent, customer, other)
    line.switch.join("callcentre-1", [agent, customer])

    server.pbx.far_end_hangs_up(customer)
    server.pbx.far_end_hangs_up(other)

    assert line.told(Ended, channel_id=customer).cause == 16
    assert line.told(Ended, channel_id=other).cause == 0


def test_a_phone_picked_up_without_a_listener_is_gone_afterwards(line, server):
    channel_id = line.customer("rings")
    line.told(Ringing, channel_id=channel_id)
    server.cut()
    line.told(Offline)
    wait_for(lambda: not server.pbx.is_connected("callcentre"))

    server.pbx.picked_up(channel_id)
    server.mend()

    wait_for(lambda: len(line.listener.of(Online)) == 2)
    assert line.switch.channels() == []
    assert line.listener.of(Up) == []


# Requests


def test_a_call_is_originated_into_our_application_with_its_parameters(line, server):
    line.switch.call_number("callcentre-7-1", "+48600100200", presented="+48221002003", ring_seconds=45)
    line.switch.call_agent("callcentre-7-2", "101", presented='"O\'Neil" <1>,2', ring_seconds=30)

    assert [
        parameters for method, path, parameters in server.pbx.requests if (method, path) == ("POST", "channels")
    ] == [
        {
            "endpoint": "PJSIP/+48600100200@trunk",
            "app": "callcentre",
            "channelId": "callcentre-7-1",
            "timeout": "45",
            "callerId": "+48221002003",
        },
        {
            "endpoint": "PJSIP/101",
            "app": "callcentre",
            "channelId": "callcentre-7-2",
            "timeout": "30",
            "callerId": "ONeil12",
        },
    ]


@pytest.mark.parametrize(
    ("command", "number"),
    [
        *(("call_number", one) for one in ("", "1@elsewhere", "1&PJSIP/102", "abc", "1 2", "48/1", "+", "1\n")),
        *(("call_agent", one) for one in ("", "101@trunk", "101/102", "101&PJSIP/102")),
    ],
)
def test_no_number_leads_elsewhere(line, server, command, number):
    with pytest.raises(SwitchError) as refused:
        getattr(line.switch, command)("callcentre-1-1", number, presented="", ring_seconds=20)

    assert refused.value.cause == 28
    assert "POST channels" not in asked(server, "channels")


def test_an_unknown_trunk_is_refused(line, settings):
    settings.TRUNK = "elsewhere"

    with pytest.raises(SwitchError, match="500: Allocation failed"):
        line.customer()


def test_a_call_without_an_answer_is_not_requested_again(line, server, monkeypatch):
    monkeypatch.setattr(ari, "TIMEOUTS_SECONDS", (2.0, 0.2))
    server.is_mute = True

    with pytest.raises(SwitchUnreachable):
        line.agent()

    server.is_mute = False
    # The call was placed nevertheless, and the comparison finds it.
    line.up("callcentre-1-1")
    assert asked(server, "channels").count("POST channels") == 1
    assert line.switch.channels() == [Channel("callcentre-1-1", is_up=True)]


def test_a_connection_that_was_idle_is_not_used_for_a_call(line, server, monkeypatch):
    line.agent("101")
    monkeypatch.setattr(ari, "IDLE_SECONDS", 0.0)
    # Asterisk closes idle connections like this.
    server.close_idle()

    line.agent("102")

    assert asked(server, "channels").count("POST channels") == 2


def test_a_wrong_password_is_refused(server, settings):
    settings.ARI_PASSWORD = "wrong"
    switch = AsteriskSwitch()

    with pytest.raises(SwitchError, match="401: Authentication required"):
        switch.channels()
    listener = Listener(switch)
    assert "401" in listener.told(Offline).reason
    listener.stop()


def test_a_stream_without_an_application_is_refused(server, settings):
    settings.ARI_APP = ""
    listener = Listener(AsteriskSwitch())

    assert "400" in listener.told(Offline).reason
    listener.stop()


# Callers


def test_the_number_may_be_said_by_the_dialplan(line, server):
    server.pbx.call_in("+48600100300", "s", "callcentre", "48221002003")
    server.pbx.call_in("", "48221002004", "callcentre", "inbound")

    wait_for(lambda: len(line.listener.of(Arrived)) == 2)
    assert [(event.caller, event.dialled) for event in line.listener.of(Arrived)] == [
        ("+48600100300", "48221002003"),
        ("", "48221002004"),
    ]


def test_the_end_of_a_caller_who_has_hung_up_already_cannot_be_followed(line, server):
    with server.pbx.lock:
        caller = server.pbx.call_in("+48600100300", "48221002003")
        assert caller
        server.pbx.far_end_hangs_up(caller.id)

    with pytest.raises(SwitchError):
        line.switch.follow(caller.id)
    line.told(Arrived)
    assert [type(event) for event in line.listener.events] == [Online, Arrived]


def test_a_caller_who_never_entered_is_missed_until_forgotten(line, server):
    server.cut()
    line.told(Offline)
    wait_for(lambda: not server.pbx.is_connected("callcentre"))
    with server.pbx.lock:
        caller = server.pbx.call_in_loop("+48600100300", "48221002003")
        server.pbx.far_end_hangs_up(caller.id)
        patient = server.pbx.call_in_loop("+48600100400", "48221002003")
    server.mend()

    assert line.told(Arrived).channel_id == patient.id
    (missed,) = line.switch.missed()
    assert (missed.channel_id, missed.caller, missed.dialled) == (caller.id, "+48600100300", "48221002003")
    assert int(missed.began_at.timestamp()) == int(caller.id.partition(".")[0])
    line.switch.forget_missed(missed.key)
    line.switch.forget_missed(missed.key)
    assert not server.pbx.database
    # The dialplan's variable goes on to list the key.
    assert server.pbx.globals["missed_callcentre"] == missed.key
    assert line.switch.missed() == []


def test_a_missed_caller_who_could_not_be_forgotten_and_the_next_one_are_listed(line, server):
    keys = [f"1416225570.{number}:1416225580:+48600100300:48221002003" for number in range(3)]
    server.pbx.globals["missed_callcentre"] = ",".join(keys[:2])
    line.switch.forget_missed(keys[0])
    server.failing["POST asterisk/variable"] = 1
    with pytest.raises(SwitchError):
        line.switch.forget_missed(keys[1])

    assert [missed.key for missed in line.switch.missed()] == [keys[1]]
    server.pbx.globals["missed_callcentre"] = ",".join(keys)
    assert [missed.key for missed in line.switch.missed()] == keys[1:]


def test_keys_of_missed_callers_are_kept_in_mind_only_while_they_are_listed(line, server):
    keys = [f"1416225570.{number}:1416225580:+48600100300:48221002003" for number in range(2)]
    server.pbx.globals["missed_callcentre"] = keys[0]
    line.switch.forget_missed(keys[0])
    assert line.switch.missed() == []

    server.pbx.globals["missed_callcentre"] = keys[1]
    assert [missed.key for missed in line.switch.missed()] == [keys[1]]
    server.pbx.globals["missed_callcentre"] = keys[0]
    assert [missed.key for missed in line.switch.missed()] == [keys[0]]


@pytest.mark.parametrize(
    "keys",
    [
        "",
        "nonsense",
        "1416225570.3:1416225580:+48600100300",
        "1.2:3::",
        ",,",
        "141622557000.3:1416225580::48221002003",
        "pbx:1416225570.3:1416225580::48221002003",
    ],
)
def test_malformed_entries_of_missed_callers_are_ignored(keys, line, server):
    server.pbx.globals["missed_callcentre"] = f"{keys},pbx1-1416225570.341:1416225580::48221002003"

    assert [missed.channel_id for missed in line.switch.missed()] == ["pbx1-1416225570.341"]


def test_callers_of_other_applications_are_not_ours(line, server, settings):
    server.pbx.connect(["another"], lambda message: None)
    server.pbx.call_in("+48600100300", "48221002003", "another")

    listener = Listener(line.switch)
    listener.told(Online)

    line.agent()
    listener.told(Up)
    assert listener.of(Arrived) == []
    assert {channel.caller for channel in line.switch.channels()} == {None}
    listener.stop()


# The stream of events


def test_a_stream_that_was_cut_is_opened_again_and_misses_what_happened(line, server):
    agent = line.up(line.agent())

    server.cut()
    line.told(Offline)
    line.switch.hang_up(agent)
    server.mend()

    wait_for(lambda: len(line.listener.of(Online)) == 2)
    assert line.switch.channels() == []
    line.up(line.agent("102"))
    assert line.listener.of(Ended) == []


def test_a_killed_switch_is_empty_when_it_is_back(line, server):
    line.up(line.agent())

    server.kill()
    line.told(Offline)
    with pytest.raises(SwitchUnreachable):
        line.switch.channels()
    with pytest.raises(SwitchUnreachable):
        line.customer()
    server.start()

    wait_for(lambda: len(line.listener.of(Online)) == 2)
    assert line.switch.channels() == []
    line.up(line.agent())


def test_the_longer_a_switch_is_away_the_longer_we_wait(line, server, monkeypatch):
    waits: list[float | None] = []
    closing = vars(line.switch)["_closing"]
    really = threading.Event.wait

    def wait(event, timeout=None):
        if event is closing:
            waits.append(timeout)
            return really(event, 0)
        return really(event, timeout)

    monkeypatch.setattr(threading.Event, "wait", wait)
    server.cut()

    wait_for(lambda: len(waits) > 6)
    assert waits[:6] == [0.2, 0.5, 1.0, 2.0, 5.0, 5.0]


def test_a_second_listener_replaces_the_first(line):
    second = Listener(AsteriskSwitch())
    second.told(Online)

    line.told(Replaced)
    wait_for(lambda: line.listener.is_over)
    channel_id = line.agent()
    second.told(Up, channel_id=channel_id)
    assert line.listener.events[-1] == Replaced()
    second.stop()


def test_a_peer_that_has_gone_silent_is_noticed_without_a_traceback(line, server, monkeypatch, caplog):
    monkeypatch.setattr(asterisk, "PING_SECONDS", 0.2)
    monkeypatch.setattr(asterisk, "PONG_SECONDS", 0.2)
    server.is_deaf = True
    server.cut(for_good=False)

    wait_for(lambda: len(line.listener.of(Offline)) > 2)
    # The listener logs the reason as a warning.
    assert all("\n" not in event.reason for event in line.listener.of(Offline))
    assert "ping timeout" in line.listener.of(Offline)[-1].reason
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
    server.is_deaf = False


def test_the_document_names_the_module_of_each_request():
    document = (Path(__file__).parents[3] / "docs/telephony-switch.md").read_text()

    missing = {module for _, path, _ in ROUTES if f"`{(module := f'res_ari_{path[0]}')}`" not in document}

    assert missing == set()
