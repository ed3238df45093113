"""The page that makes an agent with the back-office user in one step."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission

from callcentre.models import User
from telephony.models import Agent
from tests.backoffice import BackOffice, after_a_while, superuser
from tests.callcentre.factories import UserFactory
from tests.rights.people import client_of, person
from tests.telephony.factories import AgentFactory, AgentGroupFactory, QueueFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("collected_static")]

PATH = "/admin/telephony/agent/new-agent/"
GIVEN = {"login": "maria", "name": "Maria", "surname": "Nowak", "password": "long-and-unusual-1"}


def add(client: BackOffice, expected: int = 302, **values: Any) -> Any:
    return client.submit(PATH, expected=expected, **{**GIVEN, **values})


def test_an_agent_and_a_user_with_role_and_scope_are_made_in_one_step():
    queue, group = QueueFactory(), AgentGroupFactory()

    add(superuser(), scope_call_queues=[queue.pk], group=group.pk)

    user = User.objects.get(username="maria")
    agent = Agent.objects.of_user(user)
    assert agent is not None
    assert (agent.login, agent.group, user.scope.call_queues, user.scope.ticket_queues) == (
        "maria",
        group,
        (queue.pk,),
        None,
    )
    assert [role.name for role in user.groups.all()] == ["Agent"]
    assert user.is_staff
    assert user.check_password(GIVEN["password"])


@pytest.mark.parametrize("may_add_users", [False, True])
def test_an_agent_without_a_user_is_made_alone(may_add_users):
    maker = person("Supervisor")
    maker.user_permissions.add(Permission.objects.get(codename="add_agent"))

    if may_add_users:
        add(superuser(), has_user=None, password="")
    else:
        add(client_of(maker), has_user="on")

    assert Agent.objects.get(login="maria").user is None
    assert not User.objects.filter(username="maria").exists()


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"password": "maria"}, "password"),
        ({"password": ""}, "password"),
        ({"login": ""}, "login"),
        ({"login": "agent"}, "login"),
        ({"login": "user"}, "login"),
        ({"number": "no number!"}, "number"),
        ({"email": "nothing"}, "email"),
        ({"scope_call_queues": ["999999"]}, "scope_call_queues"),
        ({"group": "999999"}, "group"),
        ({"role": "999999"}, "role"),
        ({}, "own_password"),
    ],
)
def test_a_fault_stands_at_its_input_and_nothing_is_written(values, field):
    AgentFactory(login="agent")
    UserFactory(username="user")
    client = superuser()

    answer = add(client if values else after_a_while(client), 200, **values)

    assert list(answer.context_data["form"].errors) == [field]
    assert Agent.objects.count() == 1
    assert User.objects.filter(username__in=["maria", "agent", "user"]).count() == 1


def test_a_person_gives_no_role_with_rights_that_they_lack():
    maker = person("Supervisor")
    makers = Group.objects.create(name="Makers")
    for codename in ("add_agent", "add_user", "change_user"):
        makers.permissions.add(Permission.objects.get(codename=codename))
    maker.groups.add(makers)
    administrator = Group.objects.get(name="Administrator")

    answer = add(client_of(maker), 200, role=administrator.pk)

    assert list(answer.context_data["form"].errors) == ["role"]


@pytest.mark.slow("opens many pages")
def test_a_person_with_a_scope_gives_no_wider_one():
    inside, outside = QueueFactory(), QueueFactory()
    maker = person("Administrator", scope_call_queues=[inside.pk])

    for given in ([], [outside.pk], [inside.pk, outside.pk]):
        answer = add(client_of(maker), 200, scope_call_queues=given)
        assert list(answer.context_data["form"].errors) == ["scope_call_queues"]
    add(client_of(maker), scope_call_queues=[inside.pk])

    assert User.objects.get(username="maria").scope.call_queues == (inside.pk,)
