"""Calls with unseen ends: they ended at the last contact with the switch, or with their recording."""

from datetime import timedelta
from typing import Any

import pytest

from callcentre.core.times import second
from telephony import recording_files
from telephony.calls import commands, lines, placement, reconciliation, switch_events
from telephony.models import Agent, AgentLine, AgentState, Connection, Leg, Recording, Talk
from telephony.switch.base import Arrived, Channel, Up
from telephony.verbs import connections, presence
from telephony.verbs.agents import edit_agent
from tests.conftest import ACTOR
from tests.reports.asking import ask, refresh, settle
from tests.telephony.callers import HOTLINE, distribute, double, free_agent, fresh, repair
from tests.telephony.callers import ask as command
from tests.telephony.conftest import MORNING, Clock
from tests.telephony.factories import PauseFactory, QueueFactory, QueueMemberFactory
from tests.telephony.ledgers import assert_consistent
from tests.telephony.sound import RecorderSwitch, wav
from webhooks.models import Event

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("switch", "queue")]

DAY = (MORNING.replace(hour=0), MORNING.replace(hour=0) + timedelta(days=1))
# Seconds since the morning: the answer of the call, the last contact, the next contact.
ANSWERED, LAST, AGAIN = 10, 50, 7200


@pytest.fixture
def queue():
    return QueueFactory(number=HOTLINE, wrap_up_seconds=30)


@pytest.fixture
def anna(clock):
    return free_agent()


@pytest.fixture
def talking(anna, switch, clock, queue):
    """A call of anna's that is recorded, for a queue with a wrap-up."""
    call = connections.call(ACTOR, sip="101", phone_number="+48225550107", queue_id=queue.pk)
    placement.place(call.pk)
    for number in (1, 2):
        switch_events.handle(Up(f"callcentre-{call.pk}-{number}", clock.later(5)))
    return call


def interrupt(clock: Clock, *, listed: list[str] | None = None, looks: int = 2) -> None:
    """Let an interruption of two hours begin; after it the switch lists these channels only."""
    switch, silent_since = double(), MORNING + timedelta(seconds=LAST)
    clock.later(AGAIN - int(clock.now.timestamp() - MORNING.timestamp()))
    switch.listed = [Channel(name, is_up=True) for name in listed or []]
    comparison = reconciliation.Comparison()
    for _ in range(looks):
        for difference in comparison.compare(switch, silent_since).repairs:
            difference.act()
        clock.later(2)


def lasts(call: Connection, seconds: float, name: str = "") -> None:
    """The recording of the call is stored, and is so long."""
    recording = Recording.objects.get(name=name or call.uid)
    Recording.objects.filter(pk=recording.pk).update(state="fetching", next_attempt_at=recording.started_at)
    RecorderSwitch.recordings[recording.name] = wav(1000, seconds=seconds)
    recording_files.fetch(recording.pk)
    assert Recording.objects.get(pk=recording.pk).state == "ready"


@pytest.fixture(autouse=True)
def _recorder(settings, own_storage, monkeypatch):
    settings.SWITCH_BACKEND = "tests.telephony.sound.RecorderSwitch"
    monkeypatch.setattr(RecorderSwitch, "recordings", {})


def ledger(agent: Agent) -> list[tuple[str, int, int | None]]:
    """Kind, from and to of the agent's states, in seconds since the morning."""
    assert_consistent(agent)

    def seconds(instant: Any) -> int | None:
        return None if instant is None else int((instant - MORNING).total_seconds())

    rows = AgentState.objects.filter(agent=agent).order_by("started_at", "id")
    return [(row.kind, seconds(row.started_at) or 0, seconds(row.ended_at)) for row in rows]


def reported(clock: Clock, agent: Agent, aggregation: str = "day") -> dict[str, Any]:
    refresh()
    settle(clock.now + timedelta(days=800))
    [row] = ask([agent], DAY, aggregation, clock.now)
    return row


def test_a_call_lost_with_the_switch_ended_at_the_last_contact(talking, anna, clock, api):
    interrupt(clock)
    anna_now = AgentState.objects.get(agent=anna, ended_at=None)
    presence.end_wrap_ups(clock.now)

    assert (fresh(talking).billsec, fresh(talking).disposition) == (40, "ANSWERED")
    assert Event.objects.get(action="CONNECTION_ENDED").payload["billsec"] == 40
    assert set(Leg.objects.values_list("ended_at", flat=True)) == {MORNING + timedelta(seconds=LAST)}
    assert anna_now.kind == "wrap_up"
    assert ledger(anna)[-3:] == [("talking", 5, LAST), ("wrap_up", LAST, LAST + 30), ("free", LAST + 30, None)]
    assert reported(clock, anna)["outbound_above_threshold"]["sum"] == "00:00:40"


@pytest.mark.parametrize("seconds", [4.0, 4.9, 40, 3000.2])
def test_the_end_of_the_recording_replaces_the_presumed_end(talking, anna, clock, seconds):
    """Sums that were made of the presumed end are made anew; the states of the agent follow."""
    interrupt(clock)
    presence.end_wrap_ups(clock.now)
    before = reported(clock, anna)["outbound_above_threshold"]["sum"]

    lasts(talking, seconds)

    billsec, call = int(seconds), fresh(talking)
    end = ANSWERED + billsec
    assert (before, call.billsec, call.duration, call.end_found_at) == ("00:00:40", billsec, end, None)
    assert ledger(anna)[-3:] == [("talking", 5, end), ("wrap_up", end, end + 30), ("free", end + 30, None)]
    shown = reported(clock, anna)
    assert shown["outbound_above_threshold"]["sum"] == f"00:{billsec // 60:02}:{billsec % 60:02}"
    free = clock.now - MORNING - timedelta(seconds=end + 30)
    assert shown["pauses"][1]["sum"] == str(free).rjust(8, "0")


@pytest.mark.slow("sums many hours")
def test_a_recording_up_to_the_discovery_says_nothing(talking, clock):
    """The bridge was not destroyed."""
    interrupt(clock)

    lasts(talking, AGAIN - ANSWERED + 2)

    assert (fresh(talking).billsec, fresh(talking).end_found_at) == (40, None)


def test_a_recording_from_before_the_discovery_counts(talking, clock):
    lasts(talking, 4)

    interrupt(clock)

    assert fresh(talking).billsec == 4


def test_a_call_lost_with_its_line_ends_so_too(anna, queue, clock):
    edit_agent(anna, ACTOR, has_line=True)
    lines.ask_for_line(anna, ACTOR)
    line = AgentLine.objects.get()
    switch_events.handle(Up(line.channel_id, clock.later(5)))
    call = connections.call(ACTOR, sip="101", phone_number="+48225550107", queue_id=queue.pk)
    placement.place(call.pk)
    switch_events.handle(Up(call.legs.get().channel_id, clock.later(5)))
    interrupt(clock)
    line.refresh_from_db()
    presumed = fresh(call)
    lasts(call, 4)

    assert (presumed.hung_up_by, presumed.billsec, fresh(call).billsec) == ("system", 40, 4)
    assert line.ended_at == MORNING + timedelta(seconds=LAST)
    assert ledger(anna)[-2:] == [("talking", 5, ANSWERED + 4), ("wrap_up", ANSWERED + 4, None)]


def test_a_call_on_hold_outlasts_its_recording(talking, clock):
    clock.later(4)
    command(talking, "hold")
    interrupt(clock)

    lasts(talking, 4)

    assert (fresh(talking).billsec, fresh(talking).end_found_at) == (40, None)


def test_the_last_recording_corrects_the_end(talking, clock):
    for kind in ("hold", "resume"):
        clock.later(4)
        command = commands.ask(ACTOR, fresh(talking), kind)
        commands.carry_out(command.pk, talking.pk)
    interrupt(clock)

    lasts(talking, 3)
    between = fresh(talking).billsec
    lasts(talking, 7, f"{talking.uid}-2")

    assert (between, fresh(talking).billsec) == (40, 15)


def test_a_call_with_a_seen_end_is_not_corrected(talking, clock):
    clock.later(20)
    command(talking, "hang_up")

    lasts(talking, 4)

    assert fresh(talking).billsec == 20


def test_the_last_agents_talk_ends_with_the_recording(talking, anna, clock, api):
    zoe = free_agent("zoe", "109")
    clock.later(6)
    command(talking, "transfer", number="109")
    switch_events.handle(Up(f"callcentre-{talking.pk}-3", clock.later(1)))
    interrupt(clock)
    before = reported(clock, zoe)["outbound_above_threshold"]["sum"]

    lasts(talking, 100, f"{talking.uid}-2")

    assert [talk["seconds"] for talk in api.get(f"/api/connections/{talking.uid}").json()["talks"]] == [6, 100]
    assert (before, reported(clock, zoe)["outbound_above_threshold"]["sum"]) == ("00:00:33", "00:01:40")
    assert reported(clock, anna)["outbound_above_threshold"]["sum"] == "00:00:06"
    assert ("talking", 17, 117) in ledger(zoe)
    assert Talk.objects.filter(ended_at=None).count() == 0


def test_an_inbound_call_ends_for_caller_and_agent(anna, queue, clock):
    QueueMemberFactory(queue=queue, agent=anna)
    switch_events.handle(Arrived("caller-1", clock.now, "+48225550107", HOTLINE))
    call = Connection.objects.get()
    distribute()
    switch_events.handle(Up(call.legs.latest("id").channel_id, clock.later(ANSWERED)))
    interrupt(clock)
    before = reported(clock, anna)["inbound"]["sum"]

    lasts(call, 4)

    assert (before, fresh(call).billsec, reported(clock, anna)["inbound"]["sum"]) == ("00:00:40", 4, "00:00:04")
    assert ledger(anna)[-2:] == [("talking", ANSWERED, ANSWERED + 4), ("wrap_up", ANSWERED + 4, None)]


def test_a_lost_waiting_caller_waited_until_the_last_contact(clock):
    switch_events.handle(Arrived("caller-1", clock.now, "+48225550107", HOTLINE))
    interrupt(clock)

    call = Connection.objects.get()
    assert (call.disposition, call.wait_seconds, call.duration, call.end_found_at) == ("NO ANSWER", LAST, LAST, None)


def test_a_leg_that_ended_unheard_ends_the_call_then(talking, clock):
    interrupt(clock, listed=[f"callcentre-{talking.pk}-1"])
    presumed = fresh(talking)
    lasts(talking, 15)

    assert (presumed.hung_up_by, presumed.billsec, fresh(talking).billsec) == ("customer", 40, 15)


def test_a_target_that_rang_as_the_switch_fell_silent_is_missed_when_that_is_found(talking, clock):
    """The customer has waited for it until then."""
    clock.later(6)
    command(talking, "transfer", number="+48225550199")
    interrupt(clock, listed=[f"callcentre-{talking.pk}-2"])

    in_vain, _way_back = Leg.objects.filter(role="target").order_by("id")
    assert in_vain.ended_at == MORNING + timedelta(seconds=AGAIN + 2)


def test_a_leg_with_a_later_event_ended_now(talking, clock):
    clock.later(LAST)
    Leg.objects.update(up_at=clock.now)
    interrupt(clock)

    assert fresh(talking).duration == AGAIN


def test_a_leg_listed_since_ended_when_missing(talking, switch, clock):
    names = [f"callcentre-{talking.pk}-{number}" for number in (1, 2)]
    clock.later(100)
    comparison = reconciliation.Comparison()
    for listed in (names, [], []):
        switch.listed = [Channel(name, is_up=True) for name in listed]
        for difference in comparison.compare(switch, MORNING + timedelta(seconds=LAST)).repairs:
            difference.act()
        clock.later(30)

    assert fresh(talking).duration == ANSWERED + 100 + 30


def test_a_lost_call_without_a_contact_ends_when_found(talking, clock):
    clock.later(20)
    repair()

    assert fresh(talking).billsec == 20


def test_a_call_without_legs_ended_with_the_last_of_them(talking, clock):
    Leg.objects.update(state="ended", ended_at=clock.later(20))
    clock.later(3600)

    reconciliation.end_without_legs(talking.pk)

    assert fresh(talking).billsec == 20


@pytest.mark.slow("sums many hours")
def test_the_hours_of_the_presumed_end_and_of_the_right_one_are_summed_anew(talking, anna, clock):
    """The recording ends in the next hour; both hours had been summed before."""
    interrupt(clock)
    refresh()

    lasts(talking, 3600)

    refresh()
    hours = {row["period"][-2:]: row for row in ask([anna], DAY, "hour", clock.now)}
    sums = {hour: row["outbound_above_threshold"]["sum"] for hour, row in hours.items()}
    assert sums == {"09": "00:59:50", "10": "00:00:10", "11": "00:00:00"}


def test_an_ended_wrap_up_keeps_its_end(talking, anna, clock):
    interrupt(clock, looks=3)
    presence.free(anna, ACTOR)
    freed = ledger(anna)[-1][1]

    lasts(talking, 3000)

    end = ANSWERED + 3000
    assert ledger(anna)[-3:] == [("talking", 5, end), ("wrap_up", end, freed), ("free", freed, None)]


def test_a_pause_meanwhile_is_kept(talking, anna, clock):
    clock.later(600)
    presence.pause(anna, ACTOR, PauseFactory().pk)
    interrupt(clock)
    before = ledger(anna)

    lasts(talking, 4)

    assert ledger(anna) == before
    assert before[-1][:2] == ("paused", 610)


def test_a_moved_end_is_shown_as_the_end(talking, clock):
    interrupt(clock)
    lasts(talking, 4)

    assert second(fresh(talking).ended_at) == second(MORNING + timedelta(seconds=14))
    assert set(Leg.objects.values_list("ended_at", flat=True)) == {MORNING + timedelta(seconds=14)}
