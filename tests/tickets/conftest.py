"""Two agents whose users may see tickets."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission

from telephony.models import Agent
from tests.callcentre.factories import UserFactory
from tests.telephony.factories import AgentFactory


def agent_of(login: str, *rights: str, **values: Any) -> Agent:
    """Return an agent whose user may see tickets, unless the rights say otherwise."""
    user = UserFactory(staff=True, username=f"user-of-{login}", **values)
    user.user_permissions.set(Permission.objects.filter(codename__in=rights or ["view_ticket"]))
    agent: Agent = AgentFactory(login=login, user=user, email=f"{login}@us.example")
    return agent


@pytest.fixture
def anna():
    return agent_of("anna")


@pytest.fixture
def jan():
    return agent_of("jan")
