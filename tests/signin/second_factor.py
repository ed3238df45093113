"""A person with a second factor: the pages, the log-in by the password, recovery codes."""

import re
from typing import Any

from django.urls import reverse

from callcentre.signin.models import SecondFactor
from callcentre.signin.verbs import renew_recovery_codes
from tests.backoffice import BackOffice
from tests.callcentre.factories import SecondFactorFactory, UserFactory

INDEX, LOGIN = reverse("admin:index"), reverse("admin:login")
CODE, SET_UP_AT_LOG_IN = reverse("log-in-code"), reverse("log-in-set-up")
OVERVIEW, SET_UP = reverse("second-factor"), reverse("second-factor-set-up")
CODES, OFF = reverse("second-factor-codes"), reverse("second-factor-off")
WRONG = "000000"


def a_factor(**values: Any) -> SecondFactor:
    return SecondFactorFactory(user=UserFactory(username="ewa", staff=True, **values))


def after_the_password(username: str = "ewa", **values: Any) -> tuple[BackOffice, Any]:
    """Return a browser after the log-in page, and the answer to it."""
    client = BackOffice()
    return client, client.submit(LOGIN, username=username, password="user-pass", **values)


def recovery_codes(page: bytes) -> list[str]:
    return re.findall(r"<code>((?:\w{4}-){3}\w{4})</code>", page.decode())


def with_codes() -> tuple[SecondFactor, BackOffice, list[str]]:
    factor = a_factor()
    client = BackOffice()
    client.force_login(factor.user)
    return factor, client, renew_recovery_codes(factor.user, factor.user.actor)
