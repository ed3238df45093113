"""The overview: its figures beside a slow reference, the rows behind them, and rights."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from campaigns.models import DiallerState, SystemStatus
from campaigns.verbs.campaigns import add_agents
from telephony.models import Agent, Connection, Pause, Queue
from telephony.verbs import presence
from tests.backoffice import BackOffice, page_of, staff, superuser
from tests.campaigns.factories import AttemptFactory, CampaignFactory, DiallingDayFactory, RecordFactory
from tests.conftest import ACTOR
from tests.overview.factories import AlarmFactory
from tests.overview.reading import notes_of, parts_of, row_of, texts_of
from tests.telephony.factories import (
    AgentFactory,
    BrowserPhoneFactory,
    ConnectionFactory,
    QueueFactory,
    QueueMemberFactory,
)
from tests.tickets.factories import TicketFactory
from tests.webhooks.factories import WebhookFactory
from tickets import due_tickets
from tickets.models import Ticket, TicketStatus

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

NOON = "2026-11-23 11:00:00+00:00"


@pytest.fixture
def noon(time_machine):
    """Stop the clock at noon, so that the hours before it belong to today."""
    time_machine.move_to(NOON, tick=False)
    return timezone.now()


def call_of(queue: Queue, at: datetime, **values: Any) -> Connection:
    call: Connection = ConnectionFactory(inbound=True, queue=queue, created_at=at, **values)
    return call


def waiting(queue: Queue, since: datetime) -> Connection:
    call: Connection = ConnectionFactory(waiting=True, queue=queue, created_at=since, waiting_since=since)
    return call


def ready(queue: Queue) -> Agent:
    """Return an agent of the queue who is logged in."""
    agent: Agent = QueueMemberFactory(queue=queue).agent
    presence.log_in(agent, ACTOR)
    return agent


def answered(queue: Queue, at: datetime, wait: int) -> Connection:
    answered_at = at + timedelta(seconds=wait)
    ended_at = answered_at + timedelta(minutes=2)
    return call_of(queue, at, wait_seconds=wait, answered_at=answered_at, ended_at=ended_at)


def unanswered(queue: Queue, at: datetime, hung_up_by: str) -> Connection:
    ended = {"answered_at": None, "ended_at": at + timedelta(minutes=1), "disposition": "NO ANSWER"}
    return call_of(queue, at, hung_up_by=hung_up_by, **ended)


def rows_behind(client: BackOffice, cell: Any) -> list[Any]:
    """Return the rows of the list to which a cell leads."""
    response: Any = client.get(cell["url"])
    assert response.status_code == 200
    return list(response.context_data["cl"].result_list)


# Queues


@pytest.fixture
def busy(noon):
    """A queue with calls of all kinds, beside another one and yesterday's calls."""
    queue: Queue = QueueFactory(name="Hotline")
    other = QueueFactory(name="Other")
    for hours, wait in ((1, 3), (2, 20), (2, 21), (5, 90)):
        answered(queue, noon - timedelta(hours=hours), wait)
    for hours, party in ((1, "customer"), (3, "customer"), (3, "system")):
        unanswered(queue, noon - timedelta(hours=hours), party)
    answered(other, noon - timedelta(hours=1), 5)
    answered(queue, noon - timedelta(hours=13), 5)
    waiting(queue, noon - timedelta(seconds=75))
    ConnectionFactory(direction="OUTBOUND", queue=queue, created_at=noon - timedelta(hours=1))
    return queue


def test_a_queue_shows_its_present_and_its_day_whose_figures_lead_to_their_calls(busy, noon):
    client, agent = superuser(), ready(busy)
    presence.log_in(AgentFactory(), ACTOR)

    cells = row_of(parts_of(client)["queues"], f"queue-{busy.pk}")

    assert texts_of(cells) == ["Hotline", "1", "", "1", "33.3 %", "4", "2"]
    assert cells[2]["since"] == (noon - timedelta(seconds=75)).timestamp()
    assert [cells[place]["note"] for place in (3, 4, 5)] == ["/ 1", "2 of 6", "/ 8"]
    assert rows_behind(client, cells[3]) == [agent]
    assert {call.wait_seconds for call in rows_behind(client, cells[4])} == {3, 20}
    assert len(rows_behind(client, cells[5])) == 4
    assert [call.hung_up_by for call in rows_behind(client, cells[6])] == ["customer"] * 2


def test_agents_with_a_phone_in_the_browser_show_its_state(noon):
    shown: dict[str, Any] = {
        "ready": {"registered_at": noon},
        "not registered": {},
        "no microphone": {"trouble": "microphone"},
    }
    agents = {BrowserPhoneFactory(seen_at=noon, **values).agent: f"phone: {note}" for note, values in shown.items()}
    agents[AgentFactory(uses_browser_phone=True)] = "phone: not open"
    agents[AgentFactory()] = ""
    for agent in agents:
        presence.log_in(agent, ACTOR)
    part = parts_of(superuser())["agents"]

    assert {agent: row_of(part, f"agent-{agent.pk}")[1].get("note", "") for agent in agents} == agents


def test_queues_with_the_longest_wait_come_first(noon):
    for name, seconds in (("Anna", None), ("Bert", 10), ("Cleo", 100)):
        queue = QueueFactory(name=name)
        if seconds:
            waiting(queue, noon - timedelta(seconds=seconds))
    QueueFactory(name="Old", is_active=False)

    rows = parts_of(superuser())["queues"]["rows"]

    assert [row["cells"][0]["text"] for row in rows] == ["Cleo", "Bert", "Anna"]


@pytest.mark.parametrize(("seconds", "tone"), [(5, "warning"), (30, "danger")])
def test_a_wait_longer_than_the_time_for_answers_is_urgent(seconds, tone, noon):
    queue, client = QueueFactory(), superuser()
    waiting(queue, noon - timedelta(seconds=seconds))

    parts = parts_of(client)
    tiles = {tile["key"]: tile for tile in parts["tiles"]["tiles"]}
    of_wall = parts_of(client, "?wall=1")[f"queue-{queue.pk}"]["tiles"]

    assert tiles["longest"]["tone"] == tone
    assert row_of(parts["waiting"], f"waiting-{queue.pk}")[2]["tone"] == tone
    assert row_of(parts["queues"], f"queue-{queue.pk}")[2]["tone"] == tone
    assert [tile["tone"] for tile in of_wall if tile["key"] == "longest"] == [tone]


def test_what_needs_a_person_comes_first_then_people_then_the_rest(noon):
    quiet, busy = QueueFactory(), QueueFactory()
    waiting(busy, noon)
    presence.log_in(AgentFactory(), ACTOR)
    ticket = TicketFactory()
    Ticket.objects.filter(pk=ticket.pk).update(response_due_at=noon - timedelta(hours=1))
    CampaignFactory()
    AlarmFactory(raised=True, queue=busy)

    parts = parts_of(superuser())

    first = ["notes", "tiles", "waiting", "agents", "tickets", "queues", "campaigns"]
    assert list(parts) == [*first, "chart-calls", "chart-tickets"]
    assert [row["key"] for row in parts["waiting"]["rows"]] == [f"waiting-{busy.pk}"]
    assert {row["key"] for row in parts["queues"]["rows"]} == {f"queue-{busy.pk}", f"queue-{quiet.pk}"}


def test_the_chart_of_calls_counts_each_hour_as_the_table_has_it(busy):
    client = superuser()

    series = parts_of(client)["chart-calls"]["series"]

    midnight = timezone.localtime().replace(hour=0, minute=0)
    today = [call for call in Connection.objects.filter(direction="INBOUND") if call.created_at >= midnight]
    conditions: dict[str, Callable[[Connection], bool]] = {
        "came": lambda call: True,
        "came_answered": lambda call: call.answered_at is not None,
        "came_abandoned": lambda call: call.answered_at is None and call.hung_up_by == "customer",
    }
    for one in series:
        wanted = [timezone.localtime(call.created_at).hour for call in today if conditions[one["key"]](call)]
        assert one["counts"] == [wanted.count(hour) for hour in range(24)]
        for hour, count in enumerate(one["counts"]):
            assert len(rows_behind(client, {"url": one["urls"][hour]})) == count if count else not one["urls"][hour]


def test_the_chart_of_tickets_counts_each_hour(noon):
    client = superuser()
    for hours in (1, 1, 3, 20):
        TicketFactory(created_at=noon - timedelta(hours=hours))
    closed = TicketFactory(created_at=noon - timedelta(days=3))
    Ticket.objects.filter(pk=closed.pk).update(closed_at=noon - timedelta(hours=2), updated_at=noon)
    old = TicketFactory(created_at=noon - timedelta(days=3))
    Ticket.objects.filter(pk=old.pk).update(closed_at=noon - timedelta(days=2), updated_at=noon)

    opened, ended = parts_of(client)["chart-tickets"]["series"]

    assert {hour: count for hour, count in enumerate(opened["counts"]) if count} == {11: 2, 9: 1}
    assert {hour: count for hour, count in enumerate(ended["counts"]) if count} == {10: 1}
    assert len(rows_behind(client, {"url": opened["urls"][11]})) == 2
    assert rows_behind(client, {"url": ended["urls"][10]}) == [closed]


def test_overdue_and_soon_due_tickets_are_counted_as_their_views_list_them(noon):
    dues = {
        "late by response": {"response_due_at": -5, "resolution_due_at": 30},
        "late by resolution": {"resolution_due_at": -1},
        "soon by response": {"response_due_at": 5, "resolution_due_at": 300},
        "soon by resolution": {"response_due_at": 59, "resolution_due_at": 59},
        "later": {"response_due_at": 61, "resolution_due_at": 300},
        "response is not owed": {"response_due_at": -5, "resolution_due_at": 30, "first_agent_responded_at": -60},
        "closed": {"resolution_due_at": -5, "closed_at": -1},
        "postponed, late": {"response_due_at": -9, "resolution_due_at": 30},
        "postponed, soon": {"resolution_due_at": 50},
    }
    postponed = TicketStatus.objects.get(kind="postponed")
    for subject, instants in dues.items():
        values: dict[str, Any] = {name: noon + timedelta(minutes=minutes) for name, minutes in instants.items()}
        values |= {"awaiting_since": None} if "first_agent_responded_at" in instants else {}
        values |= {"status": postponed} if subject.startswith("postponed") else {}
        Ticket.objects.filter(pk=TicketFactory(subject=subject).pk).update(**values)
    client = superuser()

    tiles = {tile["key"]: tile for tile in parts_of(client)["tiles"]["tiles"]}

    late, apart, soon = ([row.subject for row in rows_behind(client, tiles[key])] for key in due_tickets.KINDS)
    assert late == ["late by response", "late by resolution"]
    assert apart == ["postponed, late"]
    assert soon == ["soon by response", "response is not owed", "postponed, soon", "soon by resolution"]
    assert [tiles[key]["text"] for key in due_tickets.KINDS] == ["2", "1", "4"]
    assert [row.subject for row in rows_behind(client, {"url": f"{tiles['soon']['url']}&q=response"})] == soon[:2]


def test_a_campaign_shows_its_dialling_and_its_drops():
    client = superuser()
    campaign = CampaignFactory(code="SPRNG", name="Spring", is_dialling=True)
    add_agents(campaign, ACTOR, [AgentFactory().login])
    RecordFactory.create_batch(3, campaign=campaign)
    RecordFactory(campaign=campaign, system_status=SystemStatus.NO_CALL)
    RecordFactory(system_status=SystemStatus.TO_CALL)
    today = timezone.localdate()
    for days, drops in ((0, 2), (29, 0), (30, 50)):
        day = today - timedelta(days=days)
        DiallingDayFactory(campaign=campaign, day=day, attempts=90, live_answers=50, drops=drops)
    AttemptFactory.create_batch(2, campaign=campaign, outcome="dropped", dialled_at=timezone.now())
    AttemptFactory(campaign=campaign, outcome="answered", dialled_at=timezone.now())
    DiallerState.objects.create(campaign=campaign, state="dialling")

    cells = row_of(parts_of(client)["campaigns"], f"campaign-{campaign.pk}")

    assert texts_of(cells) == ["SPRNG Spring", "dialling", "4 %", "2 %", "3", "25 %", "1"]
    assert cells[1]["url"] == page_of(campaign, "dialling")
    assert [attempt.outcome for attempt in rows_behind(client, cells[2])] == ["dropped", "dropped"]
    assert cells[3]["url"].endswith(f"/compliance/?campaign={campaign.pk}")
    assert campaign.name in client.page(cells[3]["url"])
    assert len(rows_behind(client, cells[4])) == 3
    assert len(rows_behind(client, cells[5])) == 4


@pytest.mark.parametrize(
    ("values", "word", "reason"),
    [
        ({"is_dialling": False}, "paused", None),
        ({"is_dialling": True}, "waiting", "No dialler process is running."),
        (
            {"is_dialling": True, "start_date": timezone.localdate() + timedelta(days=9)},
            "stopped",
            "The current day is outside the campaign's dates.",
        ),
    ],
)
def test_a_campaign_that_does_not_dial_says_why(values, word, reason):
    campaign = CampaignFactory(**values)

    state = row_of(parts_of(superuser())["campaigns"], f"campaign-{campaign.pk}")[1]

    assert (state["text"], state.get("note")) == (word, reason)


def test_agents_show_their_state_and_its_beginning():
    agent = AgentFactory(login="anna")
    presence.log_in(agent, ACTOR)
    presence.pause(agent, ACTOR, Pause.objects.create(name="Lunch").pk)
    AgentFactory(login="away")
    leaving = AgentFactory(login="ewa")
    presence.log_in(leaving, ACTOR)
    with transaction.atomic():
        presence.ring(leaving, ConnectionFactory(talking=True), timezone.now())
    presence.pause(leaving, ACTOR, Pause.objects.get().pk, after_call=True)

    part = parts_of(superuser())["agents"]

    assert texts_of(row_of(part, f"agent-{agent.pk}"))[:2] == ["anna", "paused: Lunch"]
    assert texts_of(row_of(part, f"agent-{leaving.pk}"))[:2] == ["ewa", "ringing, then Lunch"]
    assert len(part["rows"]) == 2
    counts = {tile["key"]: tile["text"] for tile in part["tiles"]}
    assert (counts["state-paused"], counts["state-logged_out"], counts["state-free"]) == ("1", "1", "0")


ALL = ("notes", "tiles", "agents", "queues", "campaigns", "chart-calls", "chart-tickets")


@pytest.mark.parametrize(
    ("permissions", "shown"),
    [
        (("view_article",), []),
        (("view_queue",), ["notes", "tiles", "queues"]),
        (("view_agent",), ["notes", "tiles", "agents"]),
        (("view_campaign",), ["notes", "campaigns"]),
        (("view_ticket",), ["notes", "tiles", "chart-tickets"]),
        (("view_connection",), ["notes", "chart-calls"]),
        (("view_queue", "view_agent", "view_campaign", "view_ticket", "view_connection"), list(ALL)),
    ],
)
def test_a_user_sees_the_parts_whose_rows_the_user_may_view(permissions, shown):
    AgentFactory()

    assert list(parts_of(staff(*permissions))) == shown


def test_a_user_gets_no_links_to_rows_that_the_user_may_not_view(busy):
    cells = row_of(parts_of(staff("view_queue"))["queues"], f"queue-{busy.pk}")

    assert [place for place, cell in enumerate(cells) if "url" in cell] == [0, 1, 2]


def test_the_overview_needs_a_log_in_and_alarms_and_webhooks_their_rights():
    assert [BackOffice().get(reverse(page)).status_code for page in ("overview", "wallboard")] == [302, 302]
    AlarmFactory(raised=True)
    WebhookFactory(failing=True)

    for right, kind in (("view_queue", "pbx"), ("view_alarm", "alarm"), ("view_webhook", "webhook")):
        assert {key.partition("-")[0] for key in notes_of(staff(right))} == {kind, "beat", "workers"}
