"""A call that comes in, told by the events of the switch: it waits, is offered, answered, given up or sent on."""

from datetime import time, timedelta
from typing import Any

import pytest
from django.utils import timezone

from callcentre.api.fields import parse_instant
from telephony import customers
from telephony.calls import commands, handling, inbound
from telephony.customers import Customer, register_customer_lookup
from telephony.models import Agent, AgentState, Connection, Offer, Pause, Queue
from telephony.switch.base import Arrived, Ended, SwitchError, Up
from tests.conftest import ACTOR
from tests.telephony.doubles import RecordingSwitch
from tests.telephony.factories import AgentFactory, OpeningHoursFactory, QueueFactory, QueueMemberFactory
from webhooks.models import Event

pytestmark = pytest.mark.django_db(transaction=True)

CALLER, HOTLINE = "+48225550107", "+48225550100"


@pytest.fixture
def queue() -> Queue:
    return QueueFactory(number=HOTLINE, wrap_up_seconds=10)


@pytest.fixture
def anna(queue: Queue) -> Agent:
    return member(queue, "anna", "101", minutes_free=20)


@pytest.fixture
def bert(queue: Queue, anna: Agent) -> Agent:
    return member(queue, "bert", "102", minutes_free=10)


def member(queue: Queue, login: str, number: str, *, minutes_free: int = 5, priority: int = 50) -> Agent:
    agent: Agent = AgentFactory(login=login, number=number)
    QueueMemberFactory(queue=queue, agent=agent, priority=priority)
    agent.log_in(ACTOR, timezone.now() - timedelta(minutes=minutes_free))
    return agent


def call_in(channel: str = "caller-1", caller: str = CALLER, dialled: str = HOTLINE) -> Connection:
    handling.handle(Arrived(channel, timezone.now(), caller, dialled))
    return Connection.objects.get(legs__channel_id=channel)


def distribute(seconds_from_now: int = 0) -> None:
    now = timezone.now() + timedelta(seconds=seconds_from_now)
    inbound.overflow_overdue(now)
    inbound.distribute(now)


def pick_up(connection: Connection) -> None:
    handling.handle(Up(ringing_channel(connection), timezone.now()))


def ring_out(connection: Connection, cause: int = 19) -> None:
    handling.handle(Ended(ringing_channel(connection), timezone.now(), cause))


def give_up(connection: Connection) -> None:
    channel = connection.legs.filter(role="customer").get().channel_id
    handling.handle(Ended(channel, timezone.now(), 16))


def ringing_channel(connection: Connection) -> str:
    return str(connection.legs.filter(role="agent").latest("id").channel_id)


def offers(connection: Connection) -> list[tuple[str, str]]:
    return list(connection.offers.values_list("agent__login", "outcome"))


def state(agent: Agent) -> str:
    current = AgentState.objects.filter(agent=agent, ended_at=None).first()
    return current.kind if current else ""


def actions() -> list[str]:
    about_calls = Event.objects.filter(subject__startswith="connection:").order_by("id")
    return list(about_calls.values_list("action", flat=True))


# Arriving


def test_a_caller_is_let_in_hears_music_and_waits(queue: Queue, switch: RecordingSwitch) -> None:
    call = call_in(caller="22 555 01 07", dialled="225550100")

    assert (call.direction, call.state, call.queue, call.src_number) == ("INBOUND", "waiting", queue, CALLER)
    assert switch.told == [("answer", "caller-1"), ("play_music", "caller-1", "default")]
    assert actions() == ["CONNECTION_STARTED"]


def test_told_twice_he_calls_once(queue: Queue, switch: RecordingSwitch) -> None:
    call_in()
    call_in()

    assert Connection.objects.count() == 1


def test_a_number_that_no_queue_has_is_hung_up(queue: Queue, switch: RecordingSwitch) -> None:
    handling.handle(Arrived("caller-1", timezone.now(), CALLER, "+48225550999"))

    assert switch.told == [("hang_up", "caller-1", 1)]
    assert not Connection.objects.exists()


@pytest.mark.parametrize("caller", ["", "anonymous", "x" * 300])
def test_a_caller_without_a_number_is_let_in_too(caller: str, queue: Queue, switch: RecordingSwitch) -> None:
    assert call_in(caller=caller).state == "waiting"


def test_a_caller_is_known_to_whoever_has_customers(
    queue: Queue, switch: RecordingSwitch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(customers, "_lookups", [])
    register_customer_lookup(lambda numbers: {CALLER: Customer(77, "Jan Kowal")})

    assert call_in().customer_id == 77


# Opening hours and overflow


def test_a_queue_that_is_closed_lets_callers_go(queue: Queue, switch: RecordingSwitch) -> None:
    yesterday = (timezone.localtime() - timedelta(days=1)).isoweekday()
    OpeningHoursFactory(queue=queue, weekday=yesterday, opens_at=time(0), closes_at=time(0))

    call = call_in()

    # He hears the cause that the row says.
    assert (call.state, call.disposition, call.hung_up_by, call.cause) == ("ended", "NO ANSWER", "system", 20)
    assert switch.told == [("hang_up", "caller-1", 20)]
    assert actions() == ["CONNECTION_STARTED", "CONNECTION_ENDED"]


def test_a_queue_that_is_inactive_sends_callers_to_its_overflow_queue(queue: Queue, switch: RecordingSwitch) -> None:
    other = QueueFactory(name="Other")
    Queue.objects.filter(pk=queue.pk).update(is_active=False, overflow_queue=other)

    call = call_in()

    assert (call.state, call.queue) == ("waiting", other)
    assert [(move.from_queue, move.queue, move.action) for move in call.transfers.all()] == [(queue, other, "overflow")]


def test_queues_that_are_closed_and_overflow_in_a_circle_let_callers_go(queue: Queue, switch: RecordingSwitch) -> None:
    other = QueueFactory(is_active=False, overflow_queue=queue)
    Queue.objects.filter(pk=queue.pk).update(is_active=False, overflow_queue=other)

    assert call_in().state == "ended"


def test_a_queue_that_is_closed_sends_callers_to_its_overflow_number(queue: Queue, switch: RecordingSwitch) -> None:
    Queue.objects.filter(pk=queue.pk).update(is_active=False, overflow_number="+48225550111")

    call = call_in()
    handling.handle(Up(call.legs.get(role="target").channel_id, timezone.now()))
    call.refresh_from_db()

    assert ("answer", "caller-1") in switch.told
    assert call.state == "talking"
    assert switch.told[-1][0] == "join"


@pytest.mark.parametrize(
    ("wall_clock", "is_open"),
    [
        ("2026-07-01 07:59:59", False),  # a Wednesday
        ("2026-07-01 08:00:00", True),
        ("2026-07-01 15:59:59", True),
        ("2026-07-01 16:00:00", False),
        ("2026-07-01 23:30:00", True),
        ("2026-07-02 09:00:00", False),
    ],
)
def test_opening_hours_are_by_the_clock_of_the_service(wall_clock: str, is_open: bool, queue: Queue) -> None:
    OpeningHoursFactory(queue=queue, weekday=3, opens_at=time(8), closes_at=time(16))
    OpeningHoursFactory(queue=queue, weekday=3, opens_at=time(23), closes_at=time(0))

    assert queue.is_open(parse_instant(wall_clock)) is is_open


def test_who_waits_too_long_is_let_go(queue: Queue, switch: RecordingSwitch) -> None:
    Queue.objects.filter(pk=queue.pk).update(longest_wait_seconds=60)
    call = call_in()
    Connection.objects.filter(pk=call.pk).update(
        created_at=call.created_at - timedelta(seconds=61), waiting_since=call.created_at - timedelta(seconds=61)
    )

    distribute()
    call.refresh_from_db()

    assert (call.state, call.disposition, call.hung_up_by, call.wait_seconds >= 61) == (
        "ended",
        "NO ANSWER",
        "system",
        True,
    )


def test_who_has_waited_for_less_goes_on_waiting(queue: Queue, switch: RecordingSwitch) -> None:
    call = call_in()

    distribute(seconds_from_now=599)
    call.refresh_from_db()

    assert call.state == "waiting"


def test_who_waits_too_long_while_a_phone_rings_waits_for_that(
    queue: Queue, anna: Agent, switch: RecordingSwitch
) -> None:
    call = call_in()
    distribute()

    distribute(seconds_from_now=3600)
    call.refresh_from_db()

    assert (call.state, offers(call)) == ("waiting", [("anna", "ringing")])


def test_a_caller_who_comes_round_to_a_queue_is_let_go(queue: Queue, switch: RecordingSwitch) -> None:
    other = QueueFactory(overflow_queue=queue)
    Queue.objects.filter(pk=queue.pk).update(overflow_queue=other)
    call = call_in()
    seen = []

    for _ in range(4):
        start = timezone.now() - timedelta(seconds=700)
        Connection.objects.filter(pk=call.pk).update(created_at=start, waiting_since=start)
        distribute()
        call.refresh_from_db()
        seen.append((call.state, call.queue_id))

    assert seen == [("waiting", other.pk), ("waiting", queue.pk), ("ended", queue.pk), ("ended", queue.pk)]


# Offering


def test_the_agent_who_is_free_the_longest_is_rung(
    queue: Queue, anna: Agent, bert: Agent, switch: RecordingSwitch
) -> None:
    call = call_in()
    distribute()

    assert offers(call) == [("anna", "ringing")]
    assert (state(anna), state(bert)) == ("ringing", "free")
    assert switch.told[-1] == ("call_agent", f"callcentre-{call.pk}-2", "101", CALLER)
    assert actions() == ["CONNECTION_STARTED", "AGENT_RINGING"]


def test_a_lower_priority_number_comes_before_being_free_for_long(
    queue: Queue, anna: Agent, switch: RecordingSwitch
) -> None:
    member(queue, "zoe", "109", minutes_free=1, priority=10)
    call = call_in()
    distribute()

    assert offers(call) == [("zoe", "ringing")]


def test_who_came_first_is_served_first_and_the_queue_with_the_lower_number_before_others(
    queue: Queue, anna: Agent, switch: RecordingSwitch
) -> None:
    urgent = QueueFactory(number="+48225550200", priority=1)
    QueueMemberFactory(queue=urgent, agent=anna)
    first, second = call_in("one"), call_in("two")
    third = call_in("three", dialled="+48225550200")
    served = []

    for _ in range(3):
        distribute()
        call = Offer.objects.get(ended_at=None).connection
        served.append(call)
        pick_up(call)
        give_up(call)
        anna.free(ACTOR)

    assert served == [third, first, second]


def test_an_agent_is_rung_for_one_call_at_a_time(queue: Queue, anna: Agent, switch: RecordingSwitch) -> None:
    first, second = call_in("one"), call_in("two")
    distribute()
    distribute()

    assert (offers(first), offers(second)) == ([("anna", "ringing")], [])


@pytest.mark.parametrize("how", ["paused", "logged out", "without a phone", "left", "of another queue", "in a call"])
def test_who_cannot_take_calls_is_not_rung(how: str, queue: Queue, anna: Agent, switch: RecordingSwitch) -> None:
    match how:
        case "paused":
            anna.pause(ACTOR, Pause.objects.create(name="Lunch").pk)
        case "logged out":
            anna.log_out(ACTOR)
        case "without a phone":
            Agent.objects.filter(pk=anna.pk).update(number="")
        case "left":
            anna.deactivate(ACTOR)
        case "of another queue":
            queue.members.all().delete()
        case "in a call":
            first = call_in("first")
            distribute()
            pick_up(first)
    call = call_in()
    distribute()

    assert offers(call) == []


# What becomes of an offer


def test_an_agent_who_picks_up_talks_with_the_caller(queue: Queue, anna: Agent, switch: RecordingSwitch) -> None:
    call = call_in()
    distribute()
    pick_up(call)
    call.refresh_from_db()

    assert (call.state, call.agent, call.answered_at is not None) == ("talking", anna, True)
    assert (offers(call), state(anna)) == ([("anna", "answered")], "talking")
    assert switch.told[-2:] == [
        ("stop_music", "caller-1"),
        ("join", f"callcentre-{call.pk}", "caller-1", f"callcentre-{call.pk}-2"),
    ]
    assert actions() == ["CONNECTION_STARTED", "AGENT_RINGING", "CONNECTION_ANSWERED"]


def test_when_the_agent_hangs_up_the_call_is_over_and_he_wraps_up(
    queue: Queue, anna: Agent, switch: RecordingSwitch
) -> None:
    call = call_in()
    distribute()
    pick_up(call)
    ring_out(call, cause=16)
    call.refresh_from_db()

    assert (call.state, call.disposition, call.hung_up_by) == ("ended", "ANSWERED", "agent")
    assert state(anna) == "wrap_up"
    assert not Offer.objects.filter(ended_at=None).exists()
    assert ("hang_up", "caller-1") in switch.told


def test_when_the_caller_hangs_up_the_call_is_over(queue: Queue, anna: Agent, switch: RecordingSwitch) -> None:
    call = call_in()
    distribute()
    pick_up(call)
    give_up(call)
    call.refresh_from_db()

    assert (call.disposition, call.hung_up_by, state(anna)) == ("ANSWERED", "customer", "wrap_up")


@pytest.mark.usefixtures("switch")
@pytest.mark.parametrize(
    ("cause", "outcome"), [(19, "not_answered"), (18, "not_answered"), (17, "refused"), (21, "refused"), (38, "failed")]
)
def test_an_agent_who_does_not_pick_up_is_free_and_the_next_is_rung(
    cause: int, outcome: str, queue: Queue, anna: Agent, bert: Agent
) -> None:
    call = call_in()
    distribute()
    ring_out(call, cause)
    distribute()

    assert offers(call) == [("anna", outcome), ("bert", "ringing")]
    assert (state(anna), state(bert)) == ("free", "ringing")


def test_who_did_not_take_a_call_is_let_be_for_a_while_and_rung_again_after_the_others(
    queue: Queue, anna: Agent, bert: Agent, switch: RecordingSwitch
) -> None:
    call = call_in()
    for _ in range(3):
        distribute()
        if call.offers.filter(ended_at=None).exists():
            ring_out(call)
    assert offers(call) == [("anna", "not_answered"), ("bert", "not_answered")]

    distribute(seconds_from_now=15)

    assert offers(call)[2:] == [("anna", "ringing")]


def test_who_did_not_take_one_call_is_rung_for_another(queue: Queue, anna: Agent, switch: RecordingSwitch) -> None:
    first = call_in("one")
    distribute()
    ring_out(first)
    second = call_in("two")
    distribute()

    assert offers(second) == [("anna", "ringing")]


def test_a_phone_that_cannot_be_reached_is_let_be_for_all_calls(
    queue: Queue, anna: Agent, switch: RecordingSwitch
) -> None:
    switch.refusals["call_agent"] = SwitchError("Allocation failed")
    first, second = call_in("one"), call_in("two")
    for _ in range(3):
        distribute()

    assert (offers(first), offers(second)) == ([("anna", "failed")], [])
    assert state(anna) == "free"


def test_a_caller_who_gives_up_while_he_waits_was_not_answered(queue: Queue, switch: RecordingSwitch) -> None:
    call = call_in()
    give_up(call)
    call.refresh_from_db()

    assert (call.state, call.disposition, call.hung_up_by) == ("ended", "NO ANSWER", "customer")


def test_a_caller_who_gives_up_while_a_phone_rings_stops_it(queue: Queue, anna: Agent, switch: RecordingSwitch) -> None:
    call = call_in()
    distribute()
    give_up(call)

    assert (offers(call), state(anna)) == ([("anna", "abandoned")], "free")
    assert ("hang_up", f"callcentre-{call.pk}-2") in switch.told


def test_an_agent_who_picks_up_after_the_caller_gave_up_is_hung_up_and_talks_to_nobody(
    queue: Queue, anna: Agent, switch: RecordingSwitch
) -> None:
    call = call_in()
    distribute()
    give_up(call)
    pick_up(call)
    call.refresh_from_db()

    assert (call.disposition, state(anna)) == ("NO ANSWER", "free")
    assert switch.told[-1] == ("hang_up", f"callcentre-{call.pk}-2")


@pytest.mark.parametrize("how", ["pauses", "logs out"])
def test_the_phone_of_an_agent_who_pauses_while_it_rings_stops_and_the_next_is_rung(
    how: str, queue: Queue, anna: Agent, bert: Agent, switch: RecordingSwitch
) -> None:
    call = call_in()
    distribute()
    if how == "pauses":
        anna.pause(ACTOR, Pause.objects.create(name="Lunch").pk)
    else:
        anna.log_out(ACTOR)
    distribute()

    assert offers(call) == [("anna", "refused"), ("bert", "ringing")]
    assert state(anna) == ("paused" if how == "pauses" else "")
    assert ("hang_up", f"callcentre-{call.pk}-2") in switch.told


# Handing on


def test_a_call_handed_on_to_a_queue_waits_there_and_is_answered_by_another(
    queue: Queue, anna: Agent, switch: RecordingSwitch
) -> None:
    support = QueueFactory()
    zoe = member(support, "zoe", "109")
    call = call_in()
    distribute()
    pick_up(call)
    ask(call, "transfer", queue_id=support.pk)
    call.refresh_from_db()
    assert (call.state, call.queue, state(anna)) == ("waiting", support, "wrap_up")

    distribute()
    pick_up(call)
    give_up(call)
    call.refresh_from_db()

    assert offers(call) == [("anna", "answered"), ("zoe", "answered")]
    assert [bool(offer.transferred_at) for offer in call.offers.all()] == [True, False]
    assert (call.agent, call.disposition) == (zoe, "ANSWERED")
    assert actions().count("CONNECTION_ANSWERED") == actions().count("CONNECTION_ENDED") == 1


def test_a_caller_handed_on_who_then_gives_up_was_answered(queue: Queue, anna: Agent, switch: RecordingSwitch) -> None:
    call = call_in()
    distribute()
    pick_up(call)
    ask(call, "transfer", queue_id=QueueFactory().pk)
    give_up(call)
    call.refresh_from_db()

    assert (call.state, call.disposition, call.hung_up_by) == ("ended", "ANSWERED", "customer")


def test_a_call_handed_on_to_an_agents_phone_is_offered_to_him(
    queue: Queue, anna: Agent, switch: RecordingSwitch
) -> None:
    zoe: Agent = AgentFactory(login="zoe", number="109")
    zoe.log_in(ACTOR)
    call = call_in()
    distribute()
    pick_up(call)
    ask(call, "transfer", number="109")
    distribute()
    ringing = offers(call)
    handling.handle(Up(call.legs.get(role="target").channel_id, timezone.now()))
    give_up(call)

    assert ringing == [("anna", "answered"), ("zoe", "ringing")]
    assert offers(call) == [("anna", "answered"), ("zoe", "answered")]
    assert [offer.queue for offer in call.offers.all()] == [queue, None]
    assert not call.offers.filter(ended_at=None).exists()


def test_an_agent_who_does_not_take_a_call_handed_on_to_him_has_not_answered(
    queue: Queue, anna: Agent, switch: RecordingSwitch
) -> None:
    zoe: Agent = AgentFactory(login="zoe", number="109")
    zoe.log_in(ACTOR)
    call = call_in()
    distribute()
    pick_up(call)
    ask(call, "transfer", number="109")
    handling.handle(Ended(call.legs.get(role="target").channel_id, timezone.now(), 19))

    assert offers(call) == [("anna", "answered"), ("zoe", "not_answered")]
    assert state(zoe) == "free"


def test_a_call_handed_back_into_its_queue_rings_the_others_first(
    queue: Queue, anna: Agent, bert: Agent, switch: RecordingSwitch
) -> None:
    call = call_in()
    distribute()
    pick_up(call)
    ask(call, "transfer", queue_id=queue.pk)
    anna.free(ACTOR)
    distribute()

    assert offers(call) == [("anna", "answered"), ("bert", "ringing")]


def test_a_waiting_call_that_is_hung_up_stops_the_phone_that_rings(
    queue: Queue, anna: Agent, switch: RecordingSwitch
) -> None:
    call = call_in()
    distribute()
    ask(call, "hang_up")
    call.refresh_from_db()

    assert (call.state, offers(call), state(anna)) == ("ended", [("anna", "abandoned")], "free")


def ask(call: Connection, kind: str, **arguments: Any) -> None:
    call = Connection.objects.get(pk=call.pk)
    command = commands.ask(ACTOR, call, kind, arguments)
    commands.carry_out(command.pk, call.pk)
