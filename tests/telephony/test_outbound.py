"""Outbound calls, driven by events of the switch, and the requests to it after the commit."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from callcentre.core.errors import Invalid
from telephony.calls import placement, switch_events
from telephony.models import Agent, AgentState, Connection, Leg
from telephony.switch.base import Ended, Ringing, SwitchError, SwitchUnreachable, Up
from telephony.verbs import connections, presence
from tests.conftest import ACTOR
from tests.telephony.callers import end_refused_legs
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import AgentFactory
from webhooks.models import Event

pytestmark = pytest.mark.django_db(transaction=True)

NUMBER = "+48225550107"


@pytest.fixture
def agent() -> Agent:
    agent: Agent = AgentFactory(login="anna", number="101")
    presence.log_in(agent, ACTOR)
    return agent


@pytest.fixture
def asked(agent: Agent) -> Connection:
    return connections.call(ACTOR, sip="101", phone_number="22 555 01 07")


@pytest.fixture
def placed(asked: Connection, switch: RecordingSwitch) -> Connection:
    placement.place(asked.pk)
    switch.told.clear()
    return asked


@pytest.fixture
def dialling(placed: Connection, switch: RecordingSwitch) -> Connection:
    happen(placed, Up, 1)
    switch.told.clear()
    return placed


@pytest.fixture
def talking(dialling: Connection, switch: RecordingSwitch) -> Connection:
    happen(dialling, Ringing, 2)
    happen(dialling, Up, 2)
    switch.told.clear()
    return dialling


def happen(connection: Connection, kind: Any, number: int, *args: Any) -> None:
    switch_events.handle(kind(channel(connection, number), timezone.now(), *args))


def channel(connection: Connection, number: int) -> str:
    return f"callcentre-{connection.pk}-{number}"


def state_of(agent: Agent) -> str:
    return str(AgentState.objects.get(agent=agent, ended_at=None).kind)


def actions(connection: Connection) -> list[str]:
    subject = f"connection:{connection.uid}"
    return list(Event.objects.filter(subject=subject).order_by("id").values_list("action", flat=True))


def fresh(connection: Connection) -> Connection:
    return Connection.objects.get(pk=connection.pk)


def test_a_call_that_is_asked_for_rings_the_agents_phone(
    asked: Connection, agent: Agent, switch: RecordingSwitch
) -> None:
    placement.place(asked.pk)

    assert switch.told == [("call_agent", channel(asked, 1), "101", "22 555 01 07")]
    assert fresh(asked).state == "originating"
    assert state_of(agent) == "ringing"
    assert actions(asked) == ["CONNECTION_STARTED", "AGENT_RINGING"]


def test_a_call_is_placed_once_by_several_workers(placed: Connection, switch: RecordingSwitch) -> None:
    placement.place(placed.pk)

    assert switch.told == []


def test_the_agents_leg_is_committed_before_the_request_to_the_switch(
    asked: Connection, switch: RecordingSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(
        switch, "call_agent", lambda *args, **kwargs: seen.extend(Leg.objects.values_list("channel_id", "state"))
    )

    placement.place(asked.pk)

    assert seen == [(channel(asked, 1), "asked")]


def test_when_the_agent_picks_up_the_customer_is_called(
    placed: Connection, agent: Agent, switch: RecordingSwitch, settings: Any
) -> None:
    settings.CALLER_ID = "unused: the number presented is the one of the request's time"
    happen(placed, Up, 1)

    assert switch.told == [("call_number", channel(placed, 2), NUMBER, "")]
    assert fresh(placed).state == "dialling"
    assert state_of(agent) == "talking"


def test_when_the_customer_picks_up_they_are_joined(dialling: Connection, switch: RecordingSwitch) -> None:
    happen(dialling, Up, 2)

    assert switch.told == [("join", f"callcentre-{dialling.pk}", channel(dialling, 1), channel(dialling, 2))]
    assert (fresh(dialling).state, fresh(dialling).answered_at is not None) == ("talking", True)
    assert actions(dialling)[2:] == ["CONNECTION_ANSWERED"]


def test_events_that_come_twice_or_late_change_nothing(talking: Connection, switch: RecordingSwitch) -> None:
    before = list(Leg.objects.values())
    for number in (1, 2):
        happen(talking, Up, number)
        happen(talking, Ringing, number)

    assert switch.told == []
    assert list(Leg.objects.values()) == before
    assert actions(talking).count("CONNECTION_ANSWERED") == 1


@pytest.mark.parametrize(("first", "party"), [(1, "agent"), (2, "customer")])
def test_when_one_hangs_up_the_other_is_hung_up_too(
    talking: Connection, agent: Agent, switch: RecordingSwitch, first: int, party: str
) -> None:
    happen(talking, Ended, first, 16)
    happen(talking, Ended, 3 - first, 16)
    happen(talking, Ended, first, 16)

    over = fresh(talking)
    assert switch.told == [("hang_up", channel(talking, 3 - first)), ("destroy_bridge", f"callcentre-{talking.pk}")]
    assert (over.state, over.disposition, over.hung_up_by, over.cause) == ("ended", "ANSWERED", party, 16)
    assert state_of(agent) == "free"
    assert actions(talking).count("CONNECTION_ENDED") == 1
    assert not Leg.objects.filter(ended_at=None).exists()


@pytest.mark.parametrize(
    ("cause", "disposition", "party"),
    [
        (17, "BUSY", "customer"),
        (18, "NO ANSWER", "system"),
        (19, "NO ANSWER", "system"),
        (21, "FAILED", "customer"),
        (1, "FAILED", "system"),
        (38, "FAILED", "system"),
        (0, "FAILED", "system"),
    ],
)
def test_the_cause_decides_the_result_of_a_customers_phone(
    dialling: Connection, switch: RecordingSwitch, cause: int, disposition: str, party: str
) -> None:
    happen(dialling, Ended, 2, cause)

    over = fresh(dialling)
    assert (over.disposition, over.cause, over.hung_up_by, over.billsec) == (disposition, cause, party, 0)
    # A party that the system hangs up gets the cause.
    told = ("hang_up", channel(dialling, 1), *([cause] if party == "system" and cause else []))
    assert switch.told == [told]
    assert state_of(Agent.objects.get()) == "free"


@pytest.mark.parametrize("cause", [17, 19, 21])
def test_an_agents_phone_that_is_not_picked_up_fails_the_call(placed: Connection, agent: Agent, cause: int) -> None:
    happen(placed, Ended, 1, cause)

    over = fresh(placed)
    assert (over.disposition, over.cause, over.hung_up_by) == ("FAILED", cause, "agent")
    assert state_of(agent) == "free"
    assert actions(placed)[-1] == "CONNECTION_ENDED"


def test_a_phone_that_the_switch_does_not_know_fails_the_call(
    asked: Connection, agent: Agent, switch: RecordingSwitch
) -> None:
    switch.refusals["call_agent"] = SwitchError("Allocation failed")

    placement.place(asked.pk)
    end_refused_legs()

    over = fresh(asked)
    assert (over.disposition, over.cause, over.hung_up_by) == ("FAILED", None, "agent")
    assert state_of(agent) == "free"


def test_a_number_that_the_switch_refuses_fails_the_call_with_its_cause(
    placed: Connection, switch: RecordingSwitch
) -> None:
    switch.refusals["call_number"] = SwitchError("no such trunk", cause=3)

    happen(placed, Up, 1)
    end_refused_legs()

    assert (fresh(placed).disposition, fresh(placed).cause) == ("FAILED", 3)
    assert ("hang_up", channel(placed, 1), 3) in switch.told


def test_a_switch_that_does_not_answer_leaves_the_leg_to_be_looked_up(
    asked: Connection, switch: RecordingSwitch
) -> None:
    switch.refusals["call_agent"] = SwitchUnreachable("time-out")

    placement.place(asked.pk)

    assert (fresh(asked).state, Leg.objects.get().state) == ("originating", "asked")


def test_an_agent_who_gives_up_while_the_customers_phone_rings_ends_it(
    dialling: Connection, switch: RecordingSwitch
) -> None:
    happen(dialling, Ringing, 2)
    happen(dialling, Ended, 1, 16)

    assert (fresh(dialling).disposition, fresh(dialling).hung_up_by) == ("FAILED", "agent")
    assert switch.told == [("hang_up", channel(dialling, 2))]


def test_a_phone_that_rings_although_it_was_hung_up_is_hung_up_again(
    dialling: Connection, switch: RecordingSwitch
) -> None:
    happen(dialling, Ended, 1, 16)
    switch.told.clear()

    happen(dialling, Ringing, 2)
    happen(dialling, Up, 2)

    assert switch.told == [("hang_up", channel(dialling, 2))] * 2
    assert fresh(dialling).answered_at is None


def test_a_phone_that_is_picked_up_after_its_leg_was_given_up_is_hung_up(
    placed: Connection, switch: RecordingSwitch
) -> None:
    happen(placed, Ended, 1, 0)
    happen(placed, Up, 1)

    assert switch.told == [("hang_up", channel(placed, 1))]
    assert fresh(placed).disposition == "FAILED"


def test_ringing_is_counted_from_the_first_ring_to_the_answer(dialling: Connection) -> None:
    start = timezone.now().replace(microsecond=0)
    Connection.objects.filter(pk=dialling.pk).update(created_at=start - timedelta(minutes=1))
    switch_events.handle(Ringing(channel(dialling, 2), start - timedelta(seconds=7)))
    switch_events.handle(Up(channel(dialling, 2), start))
    switch_events.handle(Ended(channel(dialling, 2), start, 16))

    assert (fresh(dialling).ring_seconds, fresh(dialling).duration, fresh(dialling).billsec) == (7, 60, 0)


def test_a_call_that_could_not_be_placed_in_time_has_failed(
    asked: Connection, agent: Agent, switch: RecordingSwitch
) -> None:
    Connection.objects.update(place_until=timezone.now() - timedelta(seconds=1))

    placement.place(asked.pk)

    assert (switch.told, fresh(asked).disposition, fresh(asked).hung_up_by) == ([], "FAILED", "system")
    assert actions(asked) == ["CONNECTION_ENDED"]
    assert state_of(agent) == "free"


def test_a_call_stays_queued_without_a_connected_listener(asked: Connection) -> None:
    placement.place(asked.pk)

    assert (fresh(asked).state, placement.queued(), Leg.objects.count()) == ("queued", [asked.pk], 0)


def test_reason_of_a_call_without_a_connected_listener(asked: Connection) -> None:
    Connection.objects.update(place_until=timezone.now() - timedelta(seconds=1))

    placement.place(asked.pk)

    assert (fresh(asked).disposition, fresh(asked).cause) == ("FAILED", placement.OUT_OF_ORDER)


@pytest.mark.parametrize(("limit", "cause"), [(1, placement.NO_CIRCUIT), (0, placement.TEMPORARY_FAILURE)])
def test_a_call_that_found_no_line_in_time_says_so(
    limit: int, cause: int, asked: Connection, switch: RecordingSwitch, settings: Any
) -> None:
    settings.TRUNK_LIMIT = limit
    Connection.objects.update(place_until=timezone.now() - timedelta(seconds=1))

    placement.place(asked.pk)

    assert (fresh(asked).disposition, fresh(asked).cause) == ("FAILED", cause)


def test_no_more_calls_are_placed_than_the_trunk_has_lines(
    placed: Connection, switch: RecordingSwitch, settings: Any
) -> None:
    settings.TRUNK_LIMIT = 1
    AgentFactory(number="102")
    second = connections.call(ACTOR, sip="102", phone_number=NUMBER)

    placement.place(second.pk)
    waited = fresh(second).state
    happen(placed, Ended, 1, 19)
    placement.place(second.pk)

    assert (waited, fresh(second).state) == ("queued", "originating")


def test_no_more_calls_are_placed_in_a_second_than_the_limit(
    placed: Connection, switch: RecordingSwitch, settings: Any
) -> None:
    settings.CALLS_PER_SECOND = 1
    AgentFactory(number="102")
    second = connections.call(ACTOR, sip="102", phone_number=NUMBER)
    Leg.objects.update(asked_at=timezone.now() + timedelta(seconds=30))

    placement.place(second.pk)
    waited = fresh(second).state
    Leg.objects.update(asked_at=timezone.now() - timedelta(seconds=2))
    placement.place(second.pk)

    assert (waited, fresh(second).state) == ("queued", "originating")


def test_a_call_with_a_lost_task_is_overdue_after_a_second(asked: Connection) -> None:
    now = asked.created_at

    assert placement.overdue(now + timedelta(seconds=0.9)) == []
    assert placement.overdue(now + timedelta(seconds=1.1)) == [asked.pk]


@pytest.mark.parametrize(
    ("sip", "phone_number", "codes"),
    [
        ("999", NUMBER, {("sip", 140301)}),
        ("102", NUMBER, {("sip", 140301)}),
        ("101", "0800-FLOWERS", {("phone_number", 121001)}),
        ("999", "#", {("sip", 140301), ("phone_number", 121002)}),
    ],
)
def test_a_call_is_asked_for_from_an_active_agents_phone_to_a_number(
    agent: Agent, sip: str, phone_number: str, codes: set[tuple[str, int]]
) -> None:
    AgentFactory(number="102", left=True)

    with pytest.raises(Invalid) as refusal:
        connections.call(ACTOR, sip=sip, phone_number=phone_number)

    assert {(fault.field, fault.code.number) for fault in refusal.value.faults} == codes
    assert not Connection.objects.exists()


def test_the_number_is_kept_as_it_was_sent_and_in_its_normal_form(asked: Connection) -> None:
    assert (asked.dst, asked.dst_number, asked.src, asked.src_number) == ("22 555 01 07", NUMBER, "101", "101")
    assert asked.created_at.microsecond == 0
