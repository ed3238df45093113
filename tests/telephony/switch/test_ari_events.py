"""Events of the messages of Asterisk, and messages that are not parsed."""

import json
import logging
from typing import Any

import pytest

from telephony.switch import ari_events
from telephony.switch.ari_events import Interpreter
from telephony.switch.base import (
    Arrived,
    Ended,
    KeyPressed,
    Played,
    RecordingFinished,
    Replaced,
    Ringing,
    Unregistered,
    Up,
)

CHANNEL = {
    "id": "callcentre-1-1",
    "name": "PJSIP/100-00000004",
    "state": "Up",
    "protocol_id": "417d138c-0000",
    "caller": {"name": "Klant", "number": "+31205559400"},
    "connected": {"name": "", "number": ""},
    "dialplan": {
        "context": "outbound",
        "exten": "s",
        "priority": 1,
        "app_name": "Stasis",
        "app_data": "callcentre,agent",
    },
    "creationtime": "2026-11-20T09:47:44.500+0000",
    "language": "en",
}
ENVELOPE = {
    "timestamp": "2026-11-20T09:47:45.016+0000",
    "asterisk_id": "02:fc:00:00:00:01",
    "application": "callcentre",
}


def message(kind: str, **content: Any) -> bytes:
    return json.dumps({"type": kind, **ENVELOPE, **content}).encode()


def told(*messages: bytes) -> list[Any]:
    interpreter = Interpreter()
    return [event for one in messages if (event := interpreter.event(one))]


def test_a_channel_of_ours_that_enters_the_application_was_picked_up():
    (event,) = told(message("StasisStart", args=["agent"], channel=CHANNEL))

    assert isinstance(event, Up)
    assert event.channel_id == "callcentre-1-1"


def test_another_channel_that_enters_is_a_caller():
    (event,) = told(message("StasisStart", args=[], channel=CHANNEL | {"id": "1763631965.12"}))

    assert isinstance(event, Arrived)
    assert (event.channel_id, event.caller, event.dialled) == ("1763631965.12", "+31205559400", "s")


def test_ringing_is_reported_once_in_any_order():
    changed = message("ChannelStateChange", channel=CHANNEL | {"state": "Ringing"})
    dialled = message("Dial", dialstatus="RINGING", forward="", dialstring="100", peer=CHANNEL)

    for order in ([changed, dialled], [dialled, changed], [dialled, dialled, changed, changed]):
        (event,) = told(*order)
        assert isinstance(event, Ringing)


def test_early_media_is_ringing():
    early = message("Dial", dialstatus="PROGRESS", forward="", dialstring="100", peer=CHANNEL)

    (event,) = told(early, message("Dial", dialstatus="RINGING", forward="", dialstring="100", peer=CHANNEL))

    assert isinstance(event, Ringing)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("Dial", {"dialstatus": "", "peer": CHANNEL}),
        ("Dial", {"dialstatus": "ANSWER", "peer": CHANNEL}),
        ("Dial", {"dialstatus": "NOANSWER", "peer": CHANNEL}),
        ("ChannelStateChange", {"channel": CHANNEL}),
        ("ChannelHangupRequest", {"cause": 32, "soft": True, "channel": CHANNEL}),
        ("StasisEnd", {"channel": CHANNEL}),
        ("ChannelVarset", {"variable": "X", "value": "", "channel": CHANNEL}),
        ("SomethingNew", {}),
    ],
)
def test_irrelevant_messages_give_no_event(kind, content):
    assert told(message(kind, **content)) == []


@pytest.mark.parametrize(
    ("content", "cause", "tech_cause"),
    [
        ({"cause": 17, "cause_txt": "User busy", "tech_cause": 486}, 17, "486"),
        ({"cause": 16, "cause_txt": "Normal Clearing"}, 16, ""),
        ({"cause": 0, "cause_txt": "Unknown"}, 0, ""),
    ],
)
def test_the_end_has_a_cause_and_perhaps_a_technical_one(content, cause, tech_cause):
    (event,) = told(message("ChannelDestroyed", channel=CHANNEL, **content))

    assert isinstance(event, Ended)
    assert (event.cause, event.tech_cause) == (cause, tech_cause)


@pytest.mark.parametrize(("status", "is_gone"), [("Removed", True), ("NonQualified", False), ("Reachable", False)])
def test_a_contact_that_is_removed_is_a_registration_that_ended(status, is_gone):
    contact = {"uri": "sip:104@127.0.0.1:58538", "contact_status": status, "aor": "104", "roundtrip_usec": "0"}
    endpoint = {"technology": "PJSIP", "resource": "104", "state": "offline", "channel_ids": ["callcentre-line-1"]}

    found = told(message("ContactStatusChange", endpoint=endpoint, contact_info=contact))

    assert [event.number for event in found if isinstance(event, Unregistered)] == (["104"] if is_gone else [])


def test_a_message_is_cut_off_by_a_hang_up_or_has_failed():
    """A hang-up during the message is reported as the end of the channel alone."""
    leaving = message("ChannelHangupRequest", channel=CHANNEL)
    playback = {"id": "1", "target_uri": f"channel:{CHANNEL['id']}", "state": "failed"}
    finished = message("PlaybackFinished", playback=playback)
    destroyed = message("ChannelDestroyed", cause=0, channel=CHANNEL)

    assert [type(event) for event in told(leaving, finished, destroyed)] == [Ended]
    assert [type(event) for event in told(finished, leaving, destroyed)] == [Played, Ended]


def test_a_key_that_is_reported_twice_was_pressed_once():
    def pressed(second):
        timestamp = f"2026-11-20T09:47:{second}.016+0000"
        return message("ChannelDtmfReceived", digit="5", duration_ms=100, channel=CHANNEL, timestamp=timestamp)

    events = told(pressed(45), pressed(45), pressed(46))

    assert [(type(event), event.key) for event in events] == [(KeyPressed, "5")] * 2


def test_recordings_end_or_fail():
    recording = {"name": "17.4", "format": "wav", "state": "done", "target_uri": "bridge:callcentre-1", "duration": 7}
    failed = {
        "name": "17.5",
        "format": "wav",
        "state": "failed",
        "target_uri": "bridge:callcentre-1",
        "cause": "disk full",
    }

    finished, broken = told(
        message("RecordingFinished", recording=recording), message("RecordingFailed", recording=failed)
    )

    assert isinstance(finished, RecordingFinished)
    assert (finished.name, finished.seconds, finished.is_failed) == ("17.4", 7, False)
    assert (broken.name, broken.seconds, broken.is_failed) == ("17.5", 0, True)


def test_a_replaced_listener_gets_an_event():
    assert told(message("ApplicationReplaced")) == [Replaced()]


def test_irrelevant_messages_are_not_parsed(monkeypatch):
    def refuse(content):
        raise AssertionError(content)

    monkeypatch.setattr("telephony.switch.ari_events.orjson.loads", refuse)

    assert told(message("ChannelVarset", variable="X"), b'{\n  "type": "ChannelVarset",\n  "cha') == []


def test_a_message_is_understood_however_it_is_laid_out():
    content = {"channel": CHANNEL, "cause": 17, **ENVELOPE, "type": "ChannelDestroyed"}
    last = json.dumps(content, indent=2).encode()
    nested = json.dumps({"channel": CHANNEL | {"type": "ChannelVarset"}, **content}).encode()

    for one in (last, nested):
        (event,) = told(one)
        assert isinstance(event, Ended)


@pytest.mark.parametrize(
    "broken",
    [b"", b"{", b"[]", b'"x"', b'{"type":"ChannelDestroyed"}', b'{"type":"StasisStart","channel":null}', b"\xff"],
)
def test_a_malformed_message_is_ignored_and_logged(broken, caplog):
    with caplog.at_level(logging.WARNING):
        assert told(broken, message("ApplicationReplaced")) == [Replaced()]

    assert "was not understood" in caplog.text


def test_the_memory_of_events_is_limited(monkeypatch):
    monkeypatch.setattr(ari_events, "REMEMBERED", 3)
    ends = [message("ChannelDestroyed", cause=16, channel=CHANNEL | {"id": f"callcentre-{n}-1"}) for n in range(5)]

    assert len(told(*ends, *ends[2:], ends[0])) == 6
