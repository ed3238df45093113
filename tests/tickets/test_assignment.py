"""Assignment: which ticket a team gives to which member, and which one an agent takes next."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from telephony.models import Agent
from telephony.verbs import presence
from tests.backoffice import inputs_of, page_of, superuser
from tests.callcentre.factories import UserFactory
from tests.conftest import ACTOR, ApiClient
from tests.rights.people import client_of, person
from tests.telephony.factories import AgentFactory, PauseFactory
from tests.tickets.factories import (
    RuleFactory,
    TeamFactory,
    TeamMemberFactory,
    TicketFactory,
    TicketQueueFactory,
)
from tickets import tasks
from tickets.models import AgentPreferences, Team, TeamMember, Ticket, TicketChange, TicketStatus
from tickets.verbs import edits
from tickets.verbs.assignment import assign_waiting, take_next
from tickets.verbs.tickets import edit_ticket, open_ticket
from webhooks.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("collected_static")]


def member_of(team: Team, **values: Any) -> Agent:
    """Return a new member of the team, who is logged in."""
    agent: Agent = TeamMemberFactory(team=team, agent=AgentFactory(**values)).agent
    presence.log_in(agent, ACTOR)
    return agent


def round_robin(**values: Any) -> Team:
    team: Team = TeamFactory(assignment="round_robin", **values)
    return team


def status(kind: str) -> TicketStatus:
    return TicketStatus.objects.get(kind=kind)


@pytest.fixture
def enqueued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The tasks that were enqueued."""
    calls: list[tuple[Any, ...]] = []
    for module in (edits, tasks):
        monkeypatch.setattr(module, "enqueue", lambda *call: calls.append(call))
    return calls


def holders(*tickets: Ticket) -> list[Agent | None]:
    agents = Ticket.objects.in_bulk([ticket.pk for ticket in tickets])
    return [agents[ticket.pk].agent for ticket in tickets]


# By the team


def test_the_member_who_has_waited_longest_gets_the_next_ticket() -> None:
    team = round_robin()
    first, second = member_of(team), member_of(team)
    tickets = [TicketFactory(team=team) for _n in range(3)]

    assert assign_waiting(team) == 3

    assert holders(*tickets) == [first, second, first]


def test_the_member_with_the_fewest_tickets_that_want_work_gets_the_next_one() -> None:
    team = TeamFactory(assignment="least_loaded")
    busy, waiting = member_of(team), member_of(team)
    TicketFactory.create_batch(2, agent=busy)
    TicketFactory.create_batch(3, agent=waiting, status=status("waiting_for_customer"))
    tickets = [TicketFactory(team=team) for _n in range(3)]

    assign_waiting(team)

    assert holders(*tickets) == [waiting, waiting, busy]


def test_the_ticket_that_wants_work_first_is_given_first() -> None:
    team = round_robin(most_open=1)
    now = timezone.now()
    plain = TicketFactory(team=team)
    due = TicketFactory(team=team, resolution_due_at=now + timedelta(hours=2))
    owed = TicketFactory(team=team, response_due_at=now + timedelta(hours=1))
    answered = TicketFactory(team=team, response_due_at=now, first_agent_responded_at=now)
    urgent = TicketFactory(team=team, priority=4)

    for _n in range(5):
        member_of(team)
        assign_waiting(team)

    order = TicketChange.objects.filter(action="edit").order_by("pk").values_list("ticket_id", flat=True)
    assert list(order) == [ticket.pk for ticket in (urgent, owed, due, plain, answered)]


@pytest.mark.parametrize(
    "hinder",
    [
        lambda agent: presence.log_out(agent, ACTOR),
        lambda agent: presence.pause(agent, ACTOR, PauseFactory().pk),
        lambda agent: Agent.objects.filter(pk=agent.pk).update(is_active=False),
        lambda agent: AgentPreferences.objects.create(agent=agent, away_from=timezone.now() - timedelta(days=1)),
        lambda agent: TicketFactory.create_batch(2, agent=agent),
        lambda agent: Agent.objects.filter(pk=agent.pk).update(user=person("Agent", scope_ticket_queues=[1])),
        lambda agent: Agent.objects.filter(pk=agent.pk).update(user=UserFactory(staff=True)),
        lambda agent: Agent.objects.filter(pk=agent.pk).update(user=UserFactory(admin=True, is_active=False)),
    ],
    ids=["logged out", "paused", "inactive", "away", "limit", "scope", "no right", "user inactive"],
)
def test_a_member_who_may_not_work_on_it_gets_no_ticket(hinder: Callable[[Agent], object]) -> None:
    team = round_robin(most_open=2)
    agent, ticket = member_of(team), TicketFactory(team=team)
    hinder(agent)

    assert (assign_waiting(team), holders(ticket)) == (0, [None])


def test_members_who_may_work_on_it_get_it() -> None:
    """A right by a role, a scope with the queue, an absence that is over, tickets that do not count."""
    team = round_robin(most_open=1)
    agent, ticket = member_of(team), TicketFactory(team=team)
    user = person("Agent", scope_ticket_queues=[ticket.queue_id])
    Agent.objects.filter(pk=agent.pk).update(user=user)
    now = timezone.now()
    AgentPreferences.objects.create(agent=agent, away_from=now - timedelta(days=2), away_until=now - timedelta(days=1))
    TicketFactory(agent=agent, closed=True)

    assign_waiting(team)

    assert holders(ticket) == [agent]


@pytest.mark.parametrize(
    "values",
    [
        {"status_kind": "waiting_for_customer"},
        {"status_kind": "postponed"},
        {"status_kind": "postponed", "postponed_until": timezone.now() + timedelta(days=1)},
        {"closed": True},
        {"assigned": True},
    ],
)
def test_a_ticket_that_wants_no_work_is_neither_given_nor_taken(values: dict[str, Any]) -> None:
    team = round_robin()
    agent = member_of(team)
    kind = values.get("status_kind")
    rest = {name: value for name, value in values.items() if name != "status_kind"}
    TicketFactory(team=team, **rest, **({"status": status(kind)} if kind else {}))

    assert (assign_waiting(team), take_next(agent, ACTOR)) == (0, None)


def test_the_history_says_why_and_the_event_and_rules_are_those_of_an_edit() -> None:
    RuleFactory(conditions=[{"name": "agent", "operator": "has_value"}])
    team = round_robin(name="Returns")
    agent, ticket = member_of(team), TicketFactory(team=team)

    assign_waiting(team)

    change = TicketChange.objects.get(ticket=ticket, action="edit", actor_name__contains="Returns")
    assert (change.actor_name, change.changes) == (
        "round robin of the team Returns",
        {"agent": [None, str(agent)]},
    )
    assert Event.objects.filter(action="TICKET_UPDATED").count() == 2
    assert Ticket.objects.get().tags == ["ruled"]


def test_a_team_that_assigns_by_hand_or_is_inactive_gives_no_ticket() -> None:
    for team in (TeamFactory(), round_robin(is_active=False)):
        member_of(team)
        TicketFactory(team=team)
        tasks.assign_waiting(team.pk)

    assert Ticket.objects.filter(agent=None).count() == 2


def test_one_assignment_takes_these_statements() -> None:
    team = round_robin(most_open=9)
    for _n in range(5):
        member_of(team)
    TicketFactory.create_batch(5, team=team)

    with CaptureQueriesContext(connection) as queries:
        assign_waiting(team)

    # For each ticket; at the end one more lock and search with their savepoint.
    assert len(queries) == 5 * 16 + 4


# The team of a ticket


def test_a_worker_is_asked_for_tickets_without_an_agent_that_become_those_of_a_team(enqueued: list[Any]) -> None:
    team = round_robin()
    queue, given, freed = TicketQueueFactory(team=team), TicketFactory(), TicketFactory(team=team, assigned=True)

    ticket = open_ticket(ACTOR, subject="s", body="b", queue_id=queue.pk).ticket
    edit_ticket(given, ACTOR, team_id=team.pk)
    edit_ticket(freed, ACTOR, agent_login="")
    edit_ticket(TicketFactory(), ACTOR, subject="x")
    edit_ticket(TicketFactory(team=team, assigned=True), ACTOR, subject="x")

    assert Ticket.objects.get(pk=ticket.pk).team == team
    assert enqueued == [("tickets.assign_waiting", team.pk)] * 3


def test_a_ticket_without_an_agent_that_moves_gets_the_team_of_the_queue_unless_another_is_given() -> None:
    own, other = TeamFactory(), TeamFactory()
    queue, retired = TicketQueueFactory(team=own), TicketQueueFactory(team=TeamFactory(is_active=False))
    tickets = free, held, given, left = [
        TicketFactory(team=other),
        TicketFactory(team=other, assigned=True),
        TicketFactory(team=other),
        TicketFactory(team=other),
    ]

    edit_ticket(free, ACTOR, queue_id=queue.pk)
    edit_ticket(held, ACTOR, queue_id=queue.pk)
    edit_ticket(given, ACTOR, queue_id=queue.pk, team_id=other.pk)
    edit_ticket(left, ACTOR, queue_id=retired.pk)

    teams = Ticket.objects.in_bulk()
    assert [teams[ticket.pk].team for ticket in tickets] == [own, other, other, None]


def test_a_rule_gives_a_ticket_to_a_team() -> None:
    team, other = TeamFactory(), TeamFactory()
    RuleFactory(conditions=[{"name": "team", "operator": "is", "values": [str(other.pk)]}],
                actions={"team": str(team.pk)})  # fmt: skip
    RuleFactory(conditions=[{"name": "priority", "operator": "is", "values": ["low"]}], actions={"team": "none"})
    moved, freed = TicketFactory(team=other), TicketFactory(team=team)

    edit_ticket(moved, ACTOR, subject="x")
    edit_ticket(freed, ACTOR, priority="low")

    teams = Ticket.objects.in_bulk()
    assert (teams[moved.pk].team, teams[freed.pk].team) == (team, None)


def test_the_sweep_finds_the_teams_that_assign(enqueued: list[Any]) -> None:
    TeamFactory()
    round_robin(is_active=False)
    team = round_robin()

    tasks.sweep_teams()

    assert enqueued == [("tickets.assign_waiting", team.pk)]


# Take next


def test_an_agent_takes_the_first_ticket_of_the_own_teams_or_of_none() -> None:
    agent, team = AgentFactory(), TeamFactory()
    TeamMemberFactory(agent=agent, team=team)
    TeamMemberFactory(agent=agent)
    TicketFactory(priority=4, team=TeamFactory())
    low, own, plain = TicketFactory(priority=1), TicketFactory(priority=3, team=team), TicketFactory()

    taken = [take_next(agent, ACTOR) for _n in range(4)]

    assert taken == [own, plain, low, None]
    assert holders(own, plain, low) == [agent] * 3


def test_an_agent_takes_no_ticket_outside_the_scope() -> None:
    outside, inside = TicketFactory(priority=4), TicketFactory()
    agent = AgentFactory(user=person("Agent", scope_ticket_queues=[inside.queue_id]))

    assert [take_next(agent, ACTOR), take_next(agent, ACTOR)] == [inside, None]
    assert holders(outside) == [None]


def test_taking_takes_these_statements() -> None:
    agent = AgentFactory()
    TicketFactory()

    with CaptureQueriesContext(connection) as queries:
        take_next(agent, ACTOR)

    assert len(queries) == 14


def test_a_person_takes_the_next_ticket_on_the_list() -> None:
    user = UserFactory(staff=True)
    user.groups.add(Group.objects.get(name="Agent"))
    agent, ticket, client = AgentFactory(user=user), TicketFactory(), client_of(user)
    path = "/admin/tickets/ticket/take-next/"

    assert path in client.page("/admin/tickets/ticket/")
    assert client.post(path)["Location"] == f"/admin/tickets/ticket/{ticket.pk}/change/"
    assert holders(ticket) == [agent]
    assert client.post(path)["Location"] == "/admin/tickets/ticket/"
    assert "No ticket without an agent waits for you." in client.page("/admin/tickets/ticket/")


def test_a_person_without_an_agent_takes_no_ticket() -> None:
    ticket, client = TicketFactory(), superuser()

    assert "take-next" not in client.page("/admin/tickets/ticket/")
    assert client.post("/admin/tickets/ticket/take-next/").status_code == 403
    assert client.get("/admin/tickets/ticket/take-next/").status_code == 405
    assert holders(ticket) == [None]


# The API and the pages


def test_a_program_takes_the_next_ticket(api: ApiClient) -> None:
    agent, ticket = AgentFactory(), TicketFactory()

    taken, none = (api.post("/api/tickets/take_next", {"user_login": agent.login}) for _n in range(2))

    assert (taken.status_code, taken.json()) == (200, {"ticket_id": str(ticket.pk)})
    assert (none.status_code, none.content) == (204, b"")
    unknown = api.post("/api/tickets/take_next", {"user_login": "x"})
    assert [error["field"] for error in unknown.json()["errors"]] == ["user_login"]


def test_the_team_is_read_written_and_filtered_by_the_api(api: ApiClient) -> None:
    TicketQueueFactory()
    team, ticket = TeamFactory(), TicketFactory()

    created = api.post("/api/tickets", {"subject": "S", "body": "B", "team_id": team.pk}).json()["ticket_id"]
    assert api.put(f"/api/tickets/{ticket.pk}", {"team_id": team.pk}).status_code == 204

    assert [api.get(f"/api/tickets/{pk}").json()["team_id"] for pk in (created, ticket.pk)] == [team.pk] * 2
    assert api.get(f"/api/tickets?team_id={team.pk}").json()["count"] == 2
    assert api.put(f"/api/tickets/{ticket.pk}", {"team_id": ""}).status_code == 204
    assert api.get(f"/api/tickets/{ticket.pk}").json()["team_id"] is None
    refused = api.put(f"/api/tickets/{ticket.pk}", {"team_id": TeamFactory(is_active=False).pk})
    assert [(error["code"], error["field"]) for error in refused.json()["errors"]] == [(150029, "team_id")]


def test_a_team_is_made_with_its_members() -> None:
    agent = AgentFactory()
    form = {"name": "Returns", "assignment": "round_robin", "most_open": "5", "members-TOTAL_FORMS": "1"}

    superuser().submit("/admin/tickets/team/add/", **form, **{"members-0-agent": agent.pk})

    assert list(TeamMember.objects.values_list("team__most_open", "agent")) == [(5, agent.pk)]


def test_a_team_is_given_on_the_page_of_a_ticket_and_seen_in_the_list() -> None:
    client, team, ticket = superuser(), TeamFactory(name="Returns"), TicketFactory()

    page = page_of(ticket)
    client.post(page, {**inputs_of(client.page(page)), "do": "edit", "p-team": team.pk})

    assert Ticket.objects.get().team == team
    assert "Returns" in client.page("/admin/tickets/ticket/", team__id__exact=team.pk)
