"""The ledger in the admin: what agents do now, what supervisors do to them, and the rows themselves."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.core.cache import cache
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from telephony.leader_election import CONNECTED, LOCK_SPACE
from telephony.models import AgentSession, AgentState, Pause
from telephony.verbs import presence
from tests.backoffice import messages_of, staff, superuser
from tests.conftest import ACTOR
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory, AgentStateFactory, ConnectionFactory, PauseFactory
from tests.tickets.factories import CustomerFactory

AGENTS = reverse("admin:telephony_agent_changelist")
STATES = reverse("admin:telephony_agentstate_changelist")
SESSIONS = reverse("admin:telephony_agentsession_changelist")
LIVE = reverse("overview")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def page_of(agent, action=""):
    return reverse("admin:telephony_agent_change", args=[agent.pk]) + action


def action_of(agent, name):
    return reverse(f"admin:telephony_agent_{name}", args=[agent.pk])


def now_of(agent):
    state = AgentState.objects.filter(agent=agent, ended_at=None).first()
    return str(state.pause or state.kind) if state else "logged out"


# Agents and their states


def test_the_list_of_agents_shows_states_and_their_lengths():
    since = timezone.now() - timedelta(hours=2, minutes=3)
    paused, _ = AgentFactory(login="paused"), AgentFactory(login="away")
    presence.pause(paused, ACTOR, PauseFactory(name="Lunch").pk, at=since)

    page = superuser().page(AGENTS)

    assert "paused: Lunch" in page
    assert "2:03:0" in page
    assert "logged out" in page


@pytest.mark.parametrize(("state", "expected"), [("free", "one"), ("paused", "two"), ("logged_out", "three")])
def test_filter_agents_by_state(state, expected):
    one, two, _ = [AgentFactory(login=login) for login in ("one", "two", "three")]
    presence.log_in(one, ACTOR)
    presence.pause(two, ACTOR, PauseFactory().pk)

    page = superuser().page(AGENTS, state=state)

    assert [login for login in ("one", "two", "three") if f">{login}<" in page] == [expected]


def test_the_page_of_an_agent_shows_the_present_state():
    agent = AgentFactory()
    presence.pause(agent, ACTOR, PauseFactory(name="Lunch").pk)

    assert "paused: Lunch" in superuser().page(page_of(agent))


@pytest.mark.parametrize(
    ("action", "expected"), [("log_out_selected", ["logged out"] * 2), ("free_selected", ["free", "logged out"])]
)
def test_selected_agents_are_logged_out_and_set_ready_with_refusals_shown(action, expected):
    paused, away = AgentFactory(login="anna"), AgentFactory(login="away")
    presence.log_in(paused, ACTOR)
    presence.pause(paused, ACTOR, PauseFactory().pk)

    response = superuser().act(AGENTS, action, paused, away, apply="1")

    assert [now_of(paused), now_of(away)] == expected
    if action == "free_selected":
        assert any("away" in text and "not logged in" in text for text in messages_of(response))


def test_selected_agents_are_paused_for_the_chosen_reason():
    agents, lunch = AgentFactory.create_batch(2), PauseFactory(name="Lunch")
    PauseFactory(name="Old", is_active=False)
    client = superuser()

    asked = client.act(AGENTS, "pause_selected", *agents).content.decode()
    client.act(AGENTS, "pause_selected", *agents, apply="1", pause=str(lunch.pk))

    assert "Lunch" in asked
    assert "Old" not in asked
    assert [now_of(agent) for agent in agents] == ["Lunch"] * 2


def test_actions_of_the_page_of_an_agent():
    agent, lunch = AgentFactory(), PauseFactory(name="Lunch")
    presence.log_in(agent, ACTOR)
    client = superuser()

    client.submit(action_of(agent, "pause"), pause=str(lunch.pk))
    assert now_of(agent) == "Lunch"
    client.submit(action_of(agent, "free"))
    assert now_of(agent) == "free"
    client.submit(action_of(agent, "log_out"))
    assert now_of(agent) == "logged out"

    # The history of the agent names the user.
    said = {json.dumps(entry.change_message) for entry in LogEntry.objects.all()}
    assert len(said) == 3


def test_opening_the_page_of_an_action_does_nothing():
    agent = AgentFactory()
    presence.log_in(agent, ACTOR)

    superuser().page(action_of(agent, "log_out"))

    assert now_of(agent) == "free"


@pytest.mark.parametrize("way", ["action", "page"])
def test_an_agent_who_is_made_inactive_is_logged_out(way):
    agent = AgentFactory()
    presence.log_in(agent, ACTOR)
    client = superuser()

    if way == "action":
        client.act(AGENTS, "deactivate", agent, apply="1")
    else:
        client.submit(page_of(agent), is_active=None)

    agent.refresh_from_db()
    assert not agent.is_active
    assert not AgentSession.objects.filter(ended_at=None).exists()


def test_states_are_listed_newest_first_and_filtered_by_agent_kind_day_and_open():
    anna, ewa = AgentFactory(login="anna"), AgentFactory(login="ewa")
    day = datetime(2026, 3, 2, 9, tzinfo=UTC)
    lunch = PauseFactory(name="Lunch")
    presence.log_in(anna, ACTOR, day)
    presence.pause(anna, ACTOR, lunch.pk, at=day + timedelta(minutes=5))
    presence.log_in(ewa, ACTOR, day + timedelta(days=1))
    client = superuser()

    def shown(**query):
        response = client.get(STATES, query)
        return [(row.agent.login, row.kind) for row in response.context["cl"].result_list]

    everything = [("ewa", "free"), ("anna", "paused"), ("anna", "free")]
    assert shown() == everything
    assert shown(agent__id__exact=anna.pk) == everything[1:]
    assert shown(agent__id__exact=anna.pk, kind="paused") == [("anna", "paused")]
    assert shown(date_from="2026-03-03") == everything[:1]
    assert shown(date_to="2026-03-02", kind="free") == [("anna", "free")]
    assert shown(open="1") == everything[:2]
    # Without an agent or a day, the list searches a kind in the last days only.
    assert shown(kind="paused") == []


def test_the_page_of_a_state_leads_to_its_call_and_stands_where_the_call_is_gone():
    connection_row = ConnectionFactory()
    state = AgentStateFactory(kind="talking", connection=connection_row)
    path = reverse("admin:telephony_agentstate_change", args=[state.pk])

    assert connection_row.uid in superuser().page(path)
    AgentState.objects.update(connection_id=999_999)
    assert connection_row.uid not in superuser().page(path)


def test_a_pause_can_be_added_and_taken_out_of_use_but_not_deleted():
    client = superuser()
    client.submit(reverse("admin:telephony_pause_add"), name="Break")
    pause = Pause.objects.get()
    client.submit(reverse("admin:telephony_pause_change", args=[pause.pk]), is_active=None)

    assert not Pause.objects.get().is_active
    assert client.post(reverse("admin:telephony_pause_delete", args=[pause.pk]), {"post": "yes"}).status_code == 403


# The board


def test_the_board_shows_agents_states_and_customers():
    agent = AgentFactory(login="anna")
    presence.log_in(agent, ACTOR)
    call = ConnectionFactory(talking=True, agent=agent, dst="+48225550107")
    presence.ring(agent, call, timezone.now())
    presence.talk(agent, call, timezone.now())
    AgentFactory(login="away")

    page = superuser().page(reverse("admin:index"))

    assert all(text in page for text in ("Agents now", "anna", "talking", "+48225550107"))
    assert "&quot;away&quot;" not in page


def test_the_board_names_the_customers_that_are_known():
    jan, known, unknown = CustomerFactory(name="Jan", surname="<Nowak>"), AgentFactory(), AgentFactory()
    for agent, customer_id in ((known, jan.pk), (unknown, None)):
        presence.log_in(agent, ACTOR)
        presence.ring(agent, ConnectionFactory(talking=True, agent=agent, customer_id=customer_id), timezone.now())

    page = superuser().page(LIVE)

    customer_page = reverse("admin:tickets_customer_change", args=[jan.pk])
    assert page.count(f'"note":"Jan <Nowak>","note_url":"{customer_page}"') == page.count("/tickets/customer/") == 1


def test_the_board_shows_a_call_of_a_deleted_customer():
    agent = AgentFactory()
    presence.log_in(agent, ACTOR)
    presence.ring(
        agent, ConnectionFactory(talking=True, agent=agent, dst="+48225550107", customer_id=12345), timezone.now()
    )

    assert "+48225550107" in superuser().page(LIVE)


@pytest.mark.parametrize(("is_known", "queries"), [(False, 22), (True, 23)])
def test_the_board_takes_the_same_queries_however_many_work(is_known, queries):
    for agent in AgentFactory.create_batch(30):
        presence.log_in(agent, ACTOR)
        customer_id = CustomerFactory().pk if is_known else None
        presence.ring(agent, ConnectionFactory(talking=True, agent=agent, customer_id=customer_id), timezone.now())
    client = superuser()
    cache.clear()

    with few_statements(queries):
        client.get(LIVE)


def test_the_board_shows_a_missing_connection_to_the_switch():
    presence.log_in(AgentFactory(), ACTOR)
    client = superuser()

    assert "No connection to the PBX" in client.page(LIVE)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCK_SPACE, CONNECTED])
    assert "No connection to the PBX" not in client.page(LIVE)


def test_the_board_needs_the_permission_to_view_agents():
    presence.log_in(AgentFactory(), ACTOR)

    assert "Agents now" not in staff("view_campaign").page(LIVE)
    assert "Agents now" not in staff("view_campaign").page(reverse("admin:index"))
    assert "Agents now" in staff("view_agent").page(reverse("admin:index"))
