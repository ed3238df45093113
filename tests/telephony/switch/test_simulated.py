"""The simulated switch: its people, and the commands that come from other processes as rows."""

import io
import wave
from datetime import timedelta
from functools import partial

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from telephony.models import SwitchCommand
from telephony.switch import current_switch, simulated, simulation
from telephony.switch.base import (
    Arrived,
    Channel,
    Ended,
    Online,
    RecordingFinished,
    Replaced,
    SwitchError,
    SwitchUnreachable,
    Up,
)
from telephony.switch.simulated import SimulatedSwitch, tones
from tests.serving import at_once
from tests.telephony.factories import AgentFactory, MenuFactory, QueueFactory, SwitchCommandFactory
from tests.telephony.switch.harness import Line, Listener, simulated_line, wait_for

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def line(settings, monkeypatch):
    with simulated_line(settings, monkeypatch) as line:
        yield line


@pytest.fixture
def elsewhere():
    """The switch as another process has it: without the network."""
    return SimulatedSwitch()


@pytest.fixture(autouse=True)
def _usual_talk(monkeypatch):
    """Restore the changes of a test."""
    monkeypatch.setattr(simulation, "TALK", simulation.TALK)


def joined(
    line: Line, number: str = "+48600100200", *, record_as: str = "", talk: float | None = None
) -> tuple[str, str]:
    if talk is not None:
        simulation.TALK = (talk, talk)
    agent = line.agent()
    customer = "callcentre-2-1"
    line.switch.call_number(customer, number, presented="", ring_seconds=20)
    line.up(agent, customer)
    line.switch.join("callcentre-1", [agent, customer], record_as=record_as)
    return agent, customer


# People


@pytest.mark.parametrize(("number", "who"), [("+48600100210", "customer"), ("+48600100211", "agent")])
def test_one_side_hangs_up_by_itself(line, number, who):
    agent, customer = joined(line, number)

    ended = line.told(Ended)

    assert (ended.channel_id, ended.cause) == ({"agent": agent, "customer": customer}[who], 16)
    assert [channel.id for channel in line.switch.channels()] == [customer if who == "agent" else agent]


@pytest.mark.parametrize("is_left", [False, True])
def test_a_customer_without_an_agent_gives_up(is_left, line, monkeypatch):
    agent, customer = joined(line, talk=20_000.0)
    monkeypatch.setattr(simulation, "PATIENCE", 2.0)

    if is_left:
        line.switch.hang_up(agent)
    else:
        line.switch.destroy_bridge("callcentre-1")

    assert line.told(Ended, channel_id=customer).cause == 0
    assert line.switch.channels() == ([] if is_left else [Channel(agent, is_up=True)])


def test_a_party_on_hold_does_not_hang_up_like_in_a_talk(line, monkeypatch):
    # In a talk with this number the agent would hang up.
    agent, customer = joined(line, "+48600100211", talk=20.0)
    monkeypatch.setattr(simulation, "PATIENCE", 25.0)

    line.switch.destroy_bridge("callcentre-1")

    assert line.told(Ended).channel_id == customer
    assert line.switch.channels() == [Channel(agent, is_up=True)]


def test_a_simulated_caller_gives_up_after_the_given_time(line):
    assert isinstance(line.switch, SimulatedSwitch)
    patient = line.switch.arrive("600100200", "1")
    impatient = line.switch.arrive("600100201", "1", patience=2)

    assert line.told(Ended, channel_id=impatient).cause == 0
    assert [event.channel_id for event in line.listener.of(Ended)] == [impatient]
    assert [event.channel_id for event in line.listener.of(Arrived)] == [patient, impatient]


def test_a_simulated_caller_talks_for_the_given_time(line):
    assert isinstance(line.switch, SimulatedSwitch)
    caller = line.switch.arrive("600100200", "1", talk=0)
    agent = line.up(line.agent())
    line.switch.answer(caller)

    line.switch.join("callcentre-1", [caller, agent])

    assert line.told(Ended, channel_id=caller).cause == 16


def test_the_phone_of_an_inactive_agent_is_unknown(line):
    AgentFactory(number="103", is_active=False)

    with pytest.raises(SwitchError, match="No phone"):
        line.agent("103")


def test_a_recording_is_as_long_as_the_conversation_and_can_be_played(line):
    joined(line, record_as="1.2")
    line.told(Ended)
    line.switch.destroy_bridge("callcentre-1")

    seconds = line.told(RecordingFinished, name="1.2").seconds

    with wave.open(io.BytesIO(b"".join(line.switch.recording("1.2")))) as file:
        assert file.getnframes() == seconds * file.getframerate()
    assert seconds >= 2


def test_a_long_recording_is_made_piece_by_piece():
    pieces = tones(10_000)

    assert len(next(pieces)) == 44
    assert len(next(pieces)) == 16_000


def test_a_switch_that_starts_is_empty(line):
    line.up(line.agent())
    line.listener.stop()

    again = Listener(line.switch)
    again.told(Online)

    assert line.switch.channels() == []
    again.stop()


def test_a_second_reader_replaces_the_first(line):
    second = Listener(line.switch)
    second.told(Online)

    line.told(Replaced)
    wait_for(lambda: line.listener.is_over)
    second.told(Up, channel_id=line.agent())
    assert line.listener.of(Up) == []


# Commands of other processes


def test_a_command_of_another_process_is_carried_out_and_leaves_nothing(line, elsewhere):
    elsewhere.call_agent("callcentre-5-1", "101", presented="", ring_seconds=20)

    line.up("callcentre-5-1")
    assert elsewhere.channels() == [Channel("callcentre-5-1", is_up=True)]
    assert not SwitchCommand.objects.exists()


def test_a_refusal_reaches_the_requesting_process(line, elsewhere):
    with pytest.raises(SwitchError, match="no such channel") as refused:
        elsewhere.answer("callcentre-5-1")

    assert not isinstance(refused.value, SwitchUnreachable)
    assert not SwitchCommand.objects.exists()


def test_a_recording_can_be_read_by_another_process(line, elsewhere):
    joined(line, record_as="1.2")
    line.switch.destroy_bridge("callcentre-1")

    assert b"".join(elsewhere.recording("1.2"))[:4] == b"RIFF"


def test_commands_without_redis(line, elsewhere, monkeypatch):
    monkeypatch.setattr(simulated, "publish", lambda topic: None)

    elsewhere.call_agent("callcentre-5-1", "101", presented="", ring_seconds=20)

    line.up("callcentre-5-1")


def test_commands_are_found_after_the_database_was_away(line, elsewhere):
    elsewhere.channels()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    elsewhere.call_agent("callcentre-5-1", "101", presented="", ring_seconds=20)

    line.up("callcentre-5-1")


def test_an_untaken_command_is_withdrawn(elsewhere, monkeypatch):
    AgentFactory(number="101")
    monkeypatch.setattr(simulated, "ANSWER_SECONDS", 0.1)

    with pytest.raises(SwitchUnreachable, match="listen_to_switch"):
        elsewhere.call_agent("callcentre-5-1", "101", presented="", ring_seconds=20)

    assert not SwitchCommand.objects.exists()


def test_commands_from_before_an_outage_are_not_carried_out(settings, monkeypatch):
    arguments = {"channel_id": "callcentre-5-1", "number": "101", "ring_seconds": 20}
    of_the_dead = SwitchCommandFactory(name="call_agent", arguments=arguments)
    taken = SwitchCommandFactory(name="call_agent", arguments=arguments, taken_at=timezone.now())
    SwitchCommand.objects.filter(pk=of_the_dead.pk).update(created_at=timezone.now() - timedelta(minutes=5))

    with simulated_line(settings, monkeypatch) as line:
        line.up(line.agent())

        assert [event.channel_id for event in line.listener.of(Up)] == ["callcentre-1-1"]
    assert set(SwitchCommand.objects.values_list("pk", flat=True)) == {of_the_dead.pk, taken.pk}


def test_a_command_of_another_version_stops_nothing(line, elsewhere):
    stranger = SwitchCommandFactory(name="teleport", arguments={})

    assert elsewhere.channels() == []
    stranger.refresh_from_db()
    assert stranger.error == "The simulated switch failed."


def test_commands_that_were_left_behind_are_cleared_away(line, elsewhere):
    command = SwitchCommandFactory(taken_at=timezone.now())
    SwitchCommand.objects.filter(pk=command.pk).update(created_at=timezone.now() - timedelta(minutes=20))

    elsewhere.channels()

    assert not SwitchCommand.objects.exists()


def test_a_command_is_carried_out_once_by_two_listeners(line, elsewhere):
    other = Listener(SimulatedSwitch())
    other.told(Online)

    at_once(partial(SimulatedSwitch().arrive, f"6001002{position:02}", "1") for position in range(20))

    other.stop()
    arrived = [event.caller for event in (*line.listener.of(Arrived), *other.of(Arrived))]
    assert sorted(arrived) == [f"6001002{position:02}" for position in range(20)]


# The setting and the command


def test_the_switch_of_a_process_is_one(settings):
    settings.SWITCH_BACKEND = "simulated"

    assert isinstance(current_switch(), SimulatedSwitch)
    assert current_switch() is current_switch()


def test_a_switch_can_be_named_by_its_path(settings):
    settings.SWITCH_BACKEND = "telephony.switch.asterisk.AsteriskSwitch"

    assert type(current_switch()).__name__ == "AsteriskSwitch"


def test_simulated_call_to_a_queue(line, capsys):
    queue = QueueFactory(name="Hotline", number="48221002003")

    call_command("simulate_inbound", "Hotline", "600100200", "600100202")
    call_command("simulate_inbound", str(queue.pk), "600100204", "--gives-up-after", "1")
    MenuFactory(name="Welcome", number="48221002004")
    call_command("simulate_inbound", "Welcome", "600100206")

    wait_for(lambda: len(line.listener.of(Arrived)) == 4)
    first, *_, last = line.listener.of(Arrived)
    assert last.dialled == "48221002004"
    assert (first.caller, first.dialled) == ("600100200", "48221002003")
    assert f"600100200 calls Hotline (48221002003): channel {first.channel_id}" in capsys.readouterr().out
    line.told(Ended, channel_id=line.listener.of(Arrived)[2].channel_id)


def test_only_a_queue_that_can_be_called_is_called(settings):
    QueueFactory(name="Letters", number="")

    with pytest.raises(CommandError, match="no queue 'Hotline'"):
        call_command("simulate_inbound", "Hotline", "600100200")
    with pytest.raises(CommandError, match="has no number"):
        call_command("simulate_inbound", "Letters", "600100200")
    settings.SWITCH_BACKEND = "asterisk"
    with pytest.raises(CommandError, match="SWITCH_BACKEND is asterisk"):
        call_command("simulate_inbound", "Letters", "600100200")


def test_calls_fail_without_a_listener(monkeypatch):
    QueueFactory(name="Hotline", number="48221002003")
    monkeypatch.setattr(simulated, "ANSWER_SECONDS", 0.1)

    with pytest.raises(CommandError, match="listen_to_switch"):
        call_command("simulate_inbound", "Hotline", "600100200")
