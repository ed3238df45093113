from urllib.parse import quote

import pytest

from tests.telephony.factories import AgentFactory, AgentGroupFactory

pytestmark = pytest.mark.django_db


def test_an_agent_is_shown_with_all_its_fields(api):
    agent = AgentFactory(
        login="anna", name="Anna", surname="Nowak", email="anna@example.com", number="101", grouped=True
    )

    assert api.get("/api/agents/anna").json() == {
        "agent_id": agent.pk,
        "login": "anna",
        "name": "Anna",
        "surname": "Nowak",
        "email": "anna@example.com",
        "active": True,
        "number": "101",
        "outbound_mode": False,
        "has_line": False,
        "group_id": agent.group_id,
    }


def test_an_agent_without_group_number_and_mail_has_null_and_empty_strings(api):
    AgentFactory(login="anna", surname="")

    body = api.get("/api/agents/anna").json()

    assert (body["group_id"], body["number"], body["email"], body["surname"]) == (None, "", "", "")


@pytest.mark.parametrize("login", ["anna.nowak", "anna@example.com", "Łukasz", "a b", "1", "a+b", "100%"])
def test_a_login_may_hold_dots_and_other_signs(login, api):
    AgentFactory(login=login)

    assert api.get(f"/api/agents/{quote(login)}").json()["login"] == login


def test_logins_tell_upper_case_from_lower(api):
    AgentFactory(login="anna")

    assert api.get("/api/agents/Anna").status_code == 404


def test_list_of_agents_is_ordered_by_login_and_has_inactive_ones(api):
    AgentFactory(login="zofia")
    AgentFactory(login="anna", left=True)

    assert [(agent["login"], agent["active"]) for agent in api.get("/api/agents").json()] == [
        ("anna", False),
        ("zofia", True),
    ]


def test_groups_come_by_name(api):
    support, sales = AgentGroupFactory(name="Support"), AgentGroupFactory(name="Sales")

    assert api.get("/api/agents_groups").json() == [
        {"id": sales.pk, "name": "Sales"},
        {"id": support.pk, "name": "Support"},
    ]


@pytest.mark.parametrize("path", ["agents", "agents_groups"])
def test_where_there_is_nothing_the_list_is_empty(path, api):
    response = api.get(f"/api/{path}")

    assert (response.status_code, response.json()) == (200, [])
