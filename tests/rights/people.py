"""People with roles and scopes, and their clients."""

from typing import Any

from django.contrib.auth.models import Group

from callcentre.core.roles import NAMES
from callcentre.models import User
from tests.backoffice import BackOffice
from tests.callcentre.factories import UserFactory

ROLES = tuple(NAMES)


def person(role: str = "", **columns: Any) -> User:
    """Return a back-office user with a delivered role; `columns` are those of the user, such as a scope."""
    user: User = UserFactory(staff=True, **columns)
    if role:
        user.groups.add(Group.objects.get(name=role))
    return user


def client_of(user: User) -> BackOffice:
    client = BackOffice()
    client.force_login(user)
    return client
