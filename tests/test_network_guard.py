"""The guard that refuses the network inside transactions."""

import socket
from collections.abc import Callable
from typing import Any

import pytest
import requests
from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from redis import Redis

from tests import network_guard
from webhooks.transport.dns import look_up

NOWHERE = ("127.0.0.1", 9)
USES: list[Callable[[], Any]] = [
    lambda: socket.create_connection(NOWHERE),
    lambda: socket.socket().connect_ex(NOWHERE),
    lambda: requests.get("http://127.0.0.1:9", timeout=1),
    lambda: look_up("localhost", 80, 1),
    lambda: send_mail("Subject", "Body", None, ["anna@example.com"]),
]


@pytest.mark.parametrize("use", USES)
@pytest.mark.django_db
def test_the_network_is_refused_in_a_transaction_of_the_product(use):
    with pytest.raises(AssertionError, match="inside a transaction"), transaction.atomic():
        use()

    assert len(network_guard.refused) == 1
    network_guard.refused.clear()


@pytest.mark.django_db
def test_the_stores_and_the_transaction_of_the_test_are_let_through():
    with transaction.atomic():
        assert Redis.from_url(settings.REDIS_URL).ping()
    assert socket.socket().connect_ex(NOWHERE)
