"""The due times of response and resolution, as the table in docs/tickets.md says."""

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import Any

import pytest
import time_machine

from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import MessageFactory, TicketFactory, levelled_queue
from tickets.models import Ticket, TicketQueue, TicketStatus
from tickets.models.working_time import WorkingTime
from tickets.verbs.merges import merge_tickets, split_ticket
from tickets.verbs.messages import comment_on, receive_message, reply_to
from tickets.verbs.tickets import edit_ticket, open_ticket

pytestmark = pytest.mark.django_db

# A Monday, eight o'clock in Warsaw.
START = datetime(2026, 11, 23, 7, 0, tzinfo=UTC)


def after(hours: float) -> datetime:
    return START + timedelta(hours=hours)


@pytest.fixture
def clock() -> Any:
    """Set the time, in hours since the start."""
    with time_machine.travel(START, tick=False) as traveller:
        yield lambda hours: traveller.move_to(after(hours))


Clock = Callable[[float], None]


def opened(queue: TicketQueue | None = None, **values: Any) -> Ticket:
    queue = queue or levelled_queue()
    return open_ticket(ACTOR, subject="S", body="B", sender="jan@client.example", queue_id=queue.pk, **values).ticket


def reply(ticket: Ticket, **values: Any) -> None:
    reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="Here.", **values)


def write(ticket: Ticket, **values: Any) -> None:
    receive_message(ticket, ACTOR, body="And?", from_address="jan@client.example", **values)


def turn(ticket: Ticket, kind: str) -> None:
    edit_ticket(ticket, ACTOR, status_id=TicketStatus.objects.get(kind=kind).pk)


def dues(ticket: Ticket) -> tuple[float | None, float | None]:
    """Return when the response and the resolution are due, in hours since the start."""
    ticket = Ticket.objects.get(pk=ticket.pk)
    response, resolution = (
        None if at is None else (at - START) / timedelta(hours=1)
        for at in (ticket.response_due_at, ticket.resolution_due_at)
    )
    return response, resolution


# What happens to a ticket, with the hours since its opening between.
EVENTS: dict[str, Callable[[Ticket], Any]] = {
    "reply": reply,
    "reply of hour 1": lambda ticket: reply(ticket, at=after(1)),
    "message": write,
    "automatic": lambda ticket: write(ticket, is_automatic=True),
    "comment": lambda ticket: comment_on(ticket, ACTOR, agent_login=AgentFactory().login, text="Hm"),
    **{kind: partial(turn, kind=kind) for kind in TicketStatus.Kind.values},
}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], (1, 10)),
        # Nothing is due while a ticket waits for the customer. A later message has its target without the wait.
        ([0.5, "reply"], (None, None)),
        ([0.5, "reply", 48, "message"], (49, 57.5)),
        # A second message does not delay the response to the first.
        ([0.5, "message"], (1, 10)),
        (["reply", 5, "automatic", "comment"], (None, None)),
        ([0.5, "waiting_for_customer"], (None, None)),
        ([0.5, "waiting_for_customer", 20, "in_progress"], (20.5, 29.5)),
        (["postponed"], (1, 10)),
        # A reply ends the target in any status, but an older one does not answer a message.
        (["postponed", 0.5, "reply"], (None, 10)),
        (["reply", "postponed", 2, "message", "postponed", "reply of hour 1"], (3, 10)),
        # A message to a closed ticket starts new targets.
        (["reply", 1, "message", "closed", 100, "message"], (101, 110)),
        # Reopening by hand starts only the resolution target of an answered ticket.
        (["reply", "closed", 100, "in_progress"], (None, 110)),
        (["closed", 100, "in_progress"], (101, 110)),
    ],
)
def test_targets_after(events: list[str | float], expected: tuple[float | None, float | None], clock: Clock) -> None:
    ticket = opened()

    for event in events:
        if isinstance(event, str):
            EVENTS[event](ticket)
        else:
            clock(event)

    assert dues(ticket) == expected


def test_targets_of_another_queue_count_from_the_same_start(clock: Clock) -> None:
    ticket = opened()
    reply(ticket)
    clock(24)
    write(ticket)
    slow = levelled_queue(first_response_minutes=120, resolution_minutes=None)
    slower = levelled_queue(first_response_minutes=None, resolution_minutes=1200)

    edit_ticket(ticket, ACTOR, queue_id=slow.pk)
    first = dues(ticket)
    edit_ticket(ticket, ACTOR, queue_id=slower.pk)

    assert (first, dues(ticket)) == ((26, None), (None, 44))


# Merges and splits


def test_merging_an_answered_ticket_into_a_newer_one_keeps_its_targets(clock: Clock) -> None:
    old = opened()
    clock(0.5)
    reply(old)
    clock(24)
    newer = opened(old.queue)

    merge_tickets(old, newer, ACTOR)

    newer.refresh_from_db()
    assert (newer.first_agent_responded_at, dues(newer)) == (None, (25, 34))
    clock(24.25)
    reply(newer)
    newer.refresh_from_db()
    assert newer.first_agent_responded_at == after(24.25)


@pytest.mark.parametrize("is_closed", [False, True])
def test_older_question_is_owed_since_it_was_asked_after_a_merge_unless_it_was_closed(
    is_closed: bool, clock: Clock
) -> None:
    question = opened()
    if is_closed:
        turn(question, "closed")
    clock(0.25)
    newer = opened(question.queue)

    merge_tickets(question, newer, ACTOR)

    assert dues(newer) == (1.25 if is_closed else 1, 10.25)


def test_question_answered_later_in_the_other_ticket_is_not_owed(clock: Clock) -> None:
    question = opened()
    other = opened(question.queue)
    clock(0.5)
    reply(other)
    turn(other, "postponed")

    merge_tickets(question, other, ACTOR)

    assert dues(other) == (None, 10)


def test_targets_of_both_tickets_after_a_split(clock: Clock) -> None:
    ticket = opened()
    clock(0.25)
    second = MessageFactory(ticket=ticket)
    clock(0.5)
    MessageFactory(ticket=ticket, reply=True)
    clock(2)
    third = MessageFactory(ticket=ticket)

    other = split_ticket(ticket, ACTOR, [second.pk], "Else")
    assert (dues(other), dues(ticket)) == ((1.25, 10.25), (3, 10))
    last = split_ticket(ticket, ACTOR, [third.pk], "Else")
    assert (dues(last), dues(ticket)) == ((3, 12), (None, 10))


# Working time


HOURS = [(1, time(8), time(16)), (2, time(8), time(16))]


@pytest.mark.parametrize(
    ("minutes", "pauses", "expected"),
    [
        (60, [], 1),
        (480, [], 8),
        (481, [], 24 + 1 / 60),
        (60, [(0, 2)], 3),
        (60, [(0.5, 2)], 2.5),
        (60, [(0.5, 20)], 24.5),
        (60, [(0.25, 0.5), (0.75, 1)], 1.5),
        (60, [(0.5, 24.25)], 24.75),
        (60, [(9, 23)], 1),
        (480, [(9, 23)], 8),
        (60, [(-5, 1)], 2),
    ],
)
def test_working_time_without_pauses(minutes: int, pauses: list[tuple[float, float]], expected: float) -> None:
    spans = [(after(since), after(until)) for since, until in pauses]

    assert WorkingTime(tuple(HOURS)).add(START, minutes, spans) == after(expected)


def test_wait_over_night_costs_no_working_time_of_the_next_day(clock: Clock) -> None:
    ticket = opened(levelled_queue(resolution_minutes=480, hours=HOURS))
    clock(1)
    reply(ticket)
    clock(26)

    write(ticket)

    # One hour is used on Monday. Seven remain from Tuesday ten o'clock; the last one is on the next Monday.
    assert dues(ticket) == (27, 7 * 24 + 1)


# Rows of old code


def test_row_written_by_old_code(clock: Clock) -> None:
    ticket = TicketFactory(
        queue=levelled_queue(), created_at=START, response_due_at=after(1), resolution_due_at=after(10)
    )
    clock(0.5)
    reply(ticket)
    clock(2)
    write(ticket)

    assert dues(ticket) == (3, 11.5)
