"""Recordings by Asterisk, which drops the subscription with the bridge."""

import pytest

from telephony.switch.base import RecordingFinished, SwitchError, SwitchUnreachable
from tests.telephony.switch.harness import asked


@pytest.fixture
def line(both):
    return both[0]


def test_a_recording_ends_before_its_bridge_goes(line, server):
    line.talk(record_as="17.4")
    line.switch.destroy_bridge("callcentre-1")

    line.told(RecordingFinished, name="17.4")
    steps = [request for request in asked(server, "recordings", "bridges") if not request.startswith("GET")]
    assert steps == [
        "POST bridges",
        "POST bridges/callcentre-1/addChannel",
        "POST bridges/callcentre-1/record",
        "POST recordings/live/17.4/stop",
        "DELETE bridges/callcentre-1",
    ]


def test_a_bridge_can_be_made_anew_although_its_id_is_not_free_at_once(line, server):
    agent, customer = line.talk(record_as="17.4")

    line.switch.destroy_bridge("callcentre-1")
    line.switch.join("callcentre-1", [agent, customer], record_as="17.4-2")

    assert {one.bridge for one in server.pbx.lines.values()} == {"callcentre-1"}
    assert asked(server, "bridges").count("POST bridges") == 3


def test_a_failure_to_record_does_not_end_the_conversation(line, server):
    server.pbx.stored["17.4"] = 1
    line.talk(record_as="17.4")

    assert {one.bridge for one in server.pbx.lines.values()} == {"callcentre-1"}


def test_a_recording_that_breaks_off_is_no_short_recording(line, server):
    server.pbx.stored["17.4"] = 60
    server.breaks_off = True

    with pytest.raises(SwitchUnreachable):
        b"".join(line.switch.recording("17.4"))


def test_unknown_ids_are_404(line):
    with pytest.raises(SwitchError, match="404: Recording not found"):
        b"".join(line.switch.recording("../etc/passwd"))
