"""Outbound calls, driven by events of the switch, and the requests to it after the commit."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from telephony.calls import placement, switch_events
from telephony.models import Agent, AgentState, Connection, Leg
from telephony.switch.base import Ended, Ringing, Up
from telephony.verbs import connections
from tests.conftest import ACTOR
from tests.telephony.callers import channel, fresh
from tests.telephony.factories import AgentFactory
from webhooks.models import Event

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("agent")]

NUMBER = "+48225550107"


@pytest.fixture
def asked(agent):
    return connections.call(ACTOR, sip="101", phone_number="22 555 01 07")


@pytest.fixture
def placed(asked, switch):
    placement.place(asked.pk)
    switch.told.clear()
    return asked


@pytest.fixture
def dialling(placed, switch):
    happen(placed, Up, 1)
    switch.told.clear()
    return placed


@pytest.fixture
def talking(dialling, switch):
    happen(dialling, Ringing, 2)
    happen(dialling, Up, 2)
    switch.told.clear()
    return dialling


def happen(connection: Connection, kind: Any, number: int, *args: Any) -> None:
    switch_events.handle(kind(channel(connection, number), timezone.now(), *args))


def state_of(agent: Agent) -> str:
    return str(AgentState.objects.get(agent=agent, ended_at=None).kind)


def actions(connection: Connection) -> list[str]:
    subject = f"connection:{connection.uid}"
    return list(Event.objects.filter(subject=subject).order_by("id").values_list("action", flat=True))


def test_a_call_from_its_request_to_the_talk(asked, agent, switch, monkeypatch):
    seen: list[Any] = []
    real = switch.call_agent

    def call_agent(*args, **values):
        seen.extend(Leg.objects.values_list("channel_id", "state"))
        real(*args, **values)

    monkeypatch.setattr(switch, "call_agent", call_agent)
    assert (asked.dst, asked.dst_number, asked.src, asked.src_number) == ("22 555 01 07", NUMBER, "101", "101")
    assert asked.created_at.microsecond == 0

    # By several workers.
    for _ in range(2):
        placement.place(asked.pk)
    # The leg is committed before the request to the switch.
    assert seen == [(channel(asked, 1), "asked")]
    assert switch.told == [("call_agent", channel(asked, 1), "101", "22 555 01 07")]
    assert (fresh(asked).state, state_of(agent)) == ("originating", "ringing")
    assert actions(asked) == ["CONNECTION_STARTED", "AGENT_RINGING"]

    happen(asked, Up, 1)
    # The number presented is the one of the request's time.
    assert switch.told[1:] == [("call_number", channel(asked, 2), NUMBER, "")]
    assert (fresh(asked).state, state_of(agent)) == ("dialling", "talking")

    happen(asked, Up, 2)
    assert switch.told[2:] == [("join", f"callcentre-{asked.pk}", channel(asked, 1), channel(asked, 2))]
    assert (fresh(asked).state, fresh(asked).answered_at is not None) == ("talking", True)
    assert actions(asked)[2:] == ["CONNECTION_ANSWERED"]

    # Events that come twice or late change nothing.
    before = list(Leg.objects.values())
    for number in (1, 2):
        happen(asked, Up, number)
        happen(asked, Ringing, number)
    assert (len(switch.told), list(Leg.objects.values())) == (3, before)
    assert actions(asked).count("CONNECTION_ANSWERED") == 1


@pytest.mark.parametrize(("first", "party"), [(1, "agent"), (2, "customer")])
def test_both_are_hung_up_after_one(talking, agent, switch, first, party):
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
def test_the_cause_decides_the_result(dialling, switch, cause, disposition, party):
    happen(dialling, Ended, 2, cause)

    over = fresh(dialling)
    assert (over.disposition, over.cause, over.hung_up_by, over.billsec) == (disposition, cause, party, 0)
    # A party that the system hangs up gets the cause.
    told = ("hang_up", channel(dialling, 1), *([cause] if party == "system" and cause else []))
    assert switch.told == [told]
    assert state_of(Agent.objects.get()) == "free"


@pytest.mark.parametrize("cause", [17, 19, 21])
def test_an_agents_phone_that_is_not_picked_up_fails_the_call(placed, agent, cause):
    happen(placed, Ended, 1, cause)

    over = fresh(placed)
    assert (over.disposition, over.cause, over.hung_up_by) == ("FAILED", cause, "agent")
    assert state_of(agent) == "free"
    assert actions(placed)[-1] == "CONNECTION_ENDED"


def test_an_agent_who_gives_up_ends_the_ringing(dialling, switch):
    happen(dialling, Ringing, 2)
    happen(dialling, Ended, 1, 16)

    assert (fresh(dialling).disposition, fresh(dialling).hung_up_by) == ("FAILED", "agent")
    assert switch.told == [("hang_up", channel(dialling, 2))]


def test_a_phone_that_rings_after_its_hang_up_is_hung_up_again(dialling, switch):
    happen(dialling, Ended, 1, 16)
    switch.told.clear()

    happen(dialling, Ringing, 2)
    happen(dialling, Up, 2)

    assert switch.told == [("hang_up", channel(dialling, 2))] * 2
    assert fresh(dialling).answered_at is None


def test_a_phone_picked_up_after_its_leg_was_given_up_is_hung_up(placed, switch):
    happen(placed, Ended, 1, 0)
    happen(placed, Up, 1)

    assert switch.told == [("hang_up", channel(placed, 1))]
    assert fresh(placed).disposition == "FAILED"


def test_ringing_is_counted_from_the_first_ring_to_the_answer(dialling):
    start = timezone.now().replace(microsecond=0)
    Connection.objects.filter(pk=dialling.pk).update(created_at=start - timedelta(minutes=1))
    switch_events.handle(Ringing(channel(dialling, 2), start - timedelta(seconds=7)))
    switch_events.handle(Up(channel(dialling, 2), start))
    switch_events.handle(Ended(channel(dialling, 2), start, 16))

    assert (fresh(dialling).ring_seconds, fresh(dialling).duration, fresh(dialling).billsec) == (7, 60, 0)


def test_a_call_stays_queued_without_a_connected_listener(asked):
    placement.place(asked.pk)

    assert (fresh(asked).state, placement.queued(), Leg.objects.count()) == ("queued", [asked.pk], 0)


@pytest.mark.parametrize(("limit", "cause"), [(1, placement.NO_CIRCUIT), (0, placement.TEMPORARY_FAILURE)])
def test_a_call_not_placed_in_time_has_failed_and_says_why(limit, cause, asked, switch, settings):
    settings.TRUNK_LIMIT = limit
    Connection.objects.update(place_until=timezone.now() - timedelta(seconds=1))

    placement.place(asked.pk)

    over = fresh(asked)
    assert (switch.told, over.disposition, over.hung_up_by, over.cause) == ([], "FAILED", "system", cause)
    assert (actions(asked), state_of(Agent.objects.get())) == (["CONNECTION_ENDED"], "free")


def test_no_more_calls_are_placed_than_the_trunk_has_lines(placed, settings):
    settings.TRUNK_LIMIT = 1
    AgentFactory(number="102")
    second = connections.call(ACTOR, sip="102", phone_number=NUMBER)

    placement.place(second.pk)
    waited = fresh(second).state
    happen(placed, Ended, 1, 19)
    placement.place(second.pk)

    assert (waited, fresh(second).state) == ("queued", "originating")


def test_no_more_calls_are_placed_in_a_second_than_the_limit(placed, settings):
    settings.CALLS_PER_SECOND = 1
    AgentFactory(number="102")
    second = connections.call(ACTOR, sip="102", phone_number=NUMBER)
    Leg.objects.update(asked_at=timezone.now() + timedelta(seconds=30))

    placement.place(second.pk)
    waited = fresh(second).state
    Leg.objects.update(asked_at=timezone.now() - timedelta(seconds=2))
    placement.place(second.pk)

    assert (waited, fresh(second).state) == ("queued", "originating")


def test_a_call_with_a_lost_task_is_overdue_after_a_second(asked):
    now = asked.created_at

    assert placement.overdue(now + timedelta(seconds=0.9)) == []
    assert placement.overdue(now + timedelta(seconds=1.1)) == [asked.pk]
