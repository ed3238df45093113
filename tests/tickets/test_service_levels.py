"""Service levels: which one a ticket has, its working time, due times after a change, word of deadlines, its result."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.backoffice import errors_of, superuser
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import (
    BusinessCalendarFactory,
    CalendarHoursFactory,
    ClosedDayFactory,
    CompanyFactory,
    CustomerFactory,
    ServiceLevelFactory,
    TicketQueueFactory,
    levelled_queue,
)
from tickets.models import BusinessCalendar, ServiceLevel, Ticket, TicketChange, TicketStatus
from tickets.models.working_time import WorkingTime
from tickets.verbs.messages import receive_message, reply_to
from tickets.verbs.service_levels import compute_open_tickets, tell_deadlines
from tickets.verbs.tickets import edit_ticket, open_ticket
from webhooks.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]
START = datetime(2026, 11, 23, 7, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def condition(name: str, *values: Any, operator: str = "is") -> dict[str, Any]:
    return {"name": name, "operator": operator, "values": list(map(str, values))}


# Working time


def slowly(times: WorkingTime, start: datetime, minutes: int, pauses: list[tuple[datetime, datetime]]) -> datetime:
    """Count the minutes one by one."""
    zone, at, left = ZoneInfo(times.time_zone), start, minutes
    while left and at < start + timedelta(days=12):
        local = at.astimezone(zone)
        is_closed = times.is_closed is not None and times.is_closed(local.date())
        is_open = not times.hours or any(
            day == local.isoweekday() and opens <= local.time() and (local.time() < closes or closes == time())
            for day, opens, closes in times.hours
        )
        left -= is_open and not is_closed and not any(since <= at < until for since, until in pauses)
        at += MINUTE
    return at


SPANS = [(time(0), time(2, 30)), (time(2, 45), time(7)), (time(9), time(12)), (time(22), time(0))]
spans = st.sets(st.sampled_from(SPANS), min_size=1)


@settings(max_examples=30, deadline=None)
@given(
    hours=st.builds(lambda some: [(day, span) for day in range(1, 8) for span in some], spans),
    # Changes of clocks in Warsaw (March, October 2026), and a zone that skips its hour at midnight.
    start=st.builds(
        lambda day, later: day + later * MINUTE,
        st.sampled_from([datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 10, 24, tzinfo=UTC)]),
        st.integers(0, 1500),
    ),
    zone=st.sampled_from(["Europe/Warsaw", "America/Asuncion", "Asia/Kathmandu"]),
    minutes=st.integers(1, 400),
    gaps=st.lists(st.integers(1, 600), max_size=6),
    closed=st.sets(st.integers(26, 29), max_size=2),
)
def test_working_time_is_that_of_a_slow_count(
    hours: Any, start: datetime, zone: str, *, minutes: int, gaps: list[int], closed: set[int]
) -> None:
    times = WorkingTime(tuple((day, *span) for day, span in hours), zone, lambda day: day.day in closed)
    ends = [start + sum(gaps[: n + 1]) * MINUTE for n in range(len(gaps) // 2 * 2)]
    pauses = list(zip(ends[::2], ends[1::2], strict=True))

    assert times.add(start, minutes, pauses) == slowly(times, start, minutes, pauses)


def test_a_calendar_has_its_zone_its_holidays_and_its_own_closed_days() -> None:
    calendar = BusinessCalendarFactory(time_zone="America/New_York", country="PL")
    CalendarHoursFactory.create_batch(1, calendar=calendar, weekday=3)
    ClosedDayFactory(calendar=calendar, day=date(2026, 11, 18))

    # 11 November is a holiday in Poland. 13:00 UTC is eight o'clock in New York.
    opening = next(calendar.working_time.spans(datetime(2026, 11, 9, tzinfo=UTC)))[0]

    assert opening == datetime(2026, 11, 25, 13, tzinfo=UTC)


def test_without_hours_all_time_but_closed_days_is_working_time() -> None:
    calendar = ClosedDayFactory(day=date(2026, 11, 23)).calendar

    # The end of the closed day in Warsaw.
    assert calendar.working_time.add(START, 60) == datetime(2026, 11, 24, 0, tzinfo=UTC)


# The choice


def test_the_first_level_whose_conditions_hold_is_that_of_the_ticket() -> None:
    company = CompanyFactory()
    urgent = ServiceLevelFactory(order=1, conditions=[condition("priority", "urgent")], resolution_minutes=60)
    theirs = ServiceLevelFactory(order=2, conditions=[condition("company", company.pk)], resolution_minutes=120)
    ServiceLevelFactory(order=0, is_active=False)
    TicketQueueFactory()

    ticket = open_ticket(ACTOR, subject="S", body="B", customer_id=CustomerFactory(company=company).pk).ticket
    first = Ticket.objects.get().service_level
    edit_ticket(ticket, ACTOR, priority="urgent")
    second = Ticket.objects.get()
    edit_ticket(ticket, ACTOR, priority="low", customer_id=None)
    last = Ticket.objects.get()

    assert (first, second.service_level, last.service_level) == (theirs, urgent, None)
    assert second.resolution_due_at == second.created_at + timedelta(hours=1)
    assert last.resolution_due_at is None


def test_the_first_response_and_later_ones_have_targets_of_their_own() -> None:
    queue = levelled_queue(60)
    ServiceLevel.objects.update(next_response_minutes=15)

    with time_machine.travel(START, tick=False):
        ticket = open_ticket(ACTOR, subject="S", body="B", sender="jan@client.example", queue_id=queue.pk).ticket
        first = Ticket.objects.get(pk=ticket.pk).response_due_at
        reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="Here.")
        edit_ticket(ticket, ACTOR, status_id=TicketStatus.objects.get(kind="in_progress").pk)
        receive_message(ticket, ACTOR, body="And?", body_type="PLAIN")

    assert (first, Ticket.objects.get(pk=ticket.pk).response_due_at) == (
        START + timedelta(minutes=60),
        START + timedelta(minutes=15),
    )


@pytest.mark.parametrize(("minutes", "expected"), [(59, True), (60, True), (61, False)])
def test_a_ticket_keeps_whether_its_targets_were_met(minutes: int, expected: bool) -> None:
    queue = levelled_queue(60, 60)
    with time_machine.travel(START, tick=False) as clock:
        ticket = open_ticket(ACTOR, subject="S", body="B", sender="jan@client.example", queue_id=queue.pk).ticket
        clock.move_to(START + timedelta(minutes=minutes))
        edit_ticket(ticket, ACTOR, status_id=TicketStatus.objects.get(kind="closed").pk)
        reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="Here.")

    ticket.refresh_from_db()
    assert (ticket.first_response_met, ticket.resolution_met) == (expected, expected)


# What a change of a level does


def test_a_changed_calendar_moves_the_due_times_of_open_tickets_and_nothing_else() -> None:
    queue = levelled_queue(60, hours=[(day, time(8), time(16)) for day in range(1, 6)])
    with time_machine.travel(START, tick=False):
        open_, closed = (
            open_ticket(ACTOR, subject="S", body="B", sender="jan@client.example", queue_id=queue.pk).ticket
            for _ in range(2)
        )
        edit_ticket(closed, ACTOR, status_id=TicketStatus.objects.get(kind="closed").pk)
    compute_open_tickets()
    before = Ticket.objects.get(pk=open_.pk)
    events, changes = Event.objects.count(), TicketChange.objects.count()

    ClosedDayFactory(calendar=BusinessCalendar.objects.get(), day=date(2026, 11, 23))

    assert (compute_open_tickets(), compute_open_tickets()) == (1, 0)
    after = Ticket.objects.get(pk=open_.pk)
    assert (before.response_due_at, after.response_due_at) == (
        START + timedelta(hours=1),
        START + timedelta(hours=25),
    )
    assert after.updated_at == before.updated_at
    assert (Event.objects.count(), TicketChange.objects.count()) == (events, changes)
    assert Ticket.objects.get(pk=closed.pk).response_due_at == START + timedelta(hours=1)


# Deadlines


def test_receivers_are_told_once_of_a_deadline_that_comes_soon_and_of_one_that_was_missed() -> None:
    queue = levelled_queue(120, 600)
    told = []
    with time_machine.travel(START, tick=False) as clock:
        ticket = open_ticket(ACTOR, subject="S", body="B", sender="jan@client.example", queue_id=queue.pk).ticket
        for minutes in (30, 61, 61, 121, 121):
            clock.move_to(START + timedelta(minutes=minutes))
            tell_deadlines()
            told.append(Event.objects.filter(action__startswith="TICKET_DEADLINE").count())

    assert told == [0, 1, 1, 2, 2]
    soon, missed = Event.objects.filter(action__startswith="TICKET_DEADLINE").order_by("id")
    expected = {
        "ticket_id": str(ticket.pk),
        "customer_id": None,
        "agent_login": None,
        "deadline": "response",
        "due_at": "2026-11-23 10:00",
    }
    assert [(event.action, event.payload) for event in (soon, missed)] == [
        ("TICKET_DEADLINE_SOON", expected),
        ("TICKET_DEADLINE_MISSED", expected),
    ]
    changes = TicketChange.objects.filter(action="deadline").order_by("id")
    assert [change.changes for change in changes] == [{"soon": [None, "response"]}, {"missed": [None, "response"]}]


# Pages


def test_a_level_and_its_calendar_are_made_by_their_pages() -> None:
    office = superuser()
    office.post(
        "/admin/tickets/businesscalendar/add/",
        {
            "name": "Office",
            "time_zone": "Europe/Warsaw",
            "country": "PL",
            "hours-TOTAL_FORMS": "1",
            "hours-INITIAL_FORMS": "0",
            "hours-0-weekday": "1-5",
            "hours-0-opens_at": "08:00",
            "hours-0-closes_at": "16:00",
            "closed_days-TOTAL_FORMS": "0",
            "closed_days-INITIAL_FORMS": "0",
        },
    )
    calendar = BusinessCalendar.objects.get()

    office.post(
        "/admin/tickets/servicelevel/add/",
        {"name": "Urgent", "order": "1", "is_active": "on", "first_response_minutes": "30", "calendar": calendar.pk,
         "if_priority": "is", "of_priority": ["urgent"]},
    )  # fmt: skip

    level = ServiceLevel.objects.get()
    assert (level.calendar, level.first_response_minutes, level.conditions) == (
        calendar,
        30,
        [condition("priority", "urgent")],
    )
    assert calendar.hours.count() == 5


@pytest.mark.parametrize(("field", "value"), [("country", "XX"), ("time_zone", "Europe/Nowhere")])
def test_an_unknown_country_or_zone_is_refused(field: str, value: str) -> None:
    response = superuser().post(
        "/admin/tickets/businesscalendar/add/",
        {"name": "Office", field: value, "hours-TOTAL_FORMS": "0", "hours-INITIAL_FORMS": "0",
         "closed_days-TOTAL_FORMS": "0", "closed_days-INITIAL_FORMS": "0"},
    )  # fmt: skip

    assert field in errors_of(response)
