"""Back-office users who are agents: the link is made on the agent's page."""

import pytest

from telephony.models import Agent
from tests.backoffice import errors_of, inputs_of, page_of, superuser
from tests.callcentre.factories import UserFactory
from tests.telephony.factories import AgentFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def test_the_active_agent_of_a_user_is_found():
    user, left, other = UserFactory.create_batch(3)
    agent = AgentFactory(user=user)
    AgentFactory(user=left, left=True)

    assert [Agent.objects.of_user(one) for one in (user, left, other)] == [agent, None, None]


def test_a_user_is_linked_on_the_page_of_the_agent():
    agent, user = AgentFactory(), UserFactory()
    client = superuser()

    client.submit(page_of(agent), user=str(user.pk))

    agent.refresh_from_db()
    assert agent.user == user
    assert inputs_of(client.page(page_of(agent)))["user"] == str(user.pk)


def test_the_link_is_ended_on_the_page_of_the_agent():
    agent = AgentFactory(user=UserFactory())

    superuser().submit(page_of(agent), user="")

    agent.refresh_from_db()
    assert agent.user is None


def test_a_user_who_is_an_agent_already_is_refused():
    user = UserFactory()
    AgentFactory(user=user)
    other = AgentFactory()

    response = superuser().submit(page_of(other), expected=200, user=str(user.pk))

    assert errors_of(response) == {"user": ["Another agent is this user."]}
    other.refresh_from_db()
    assert other.user is None
