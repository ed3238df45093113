"""A guard of all tests: no transaction of the product uses the network, apart from the stores.

A transaction that waits for a switch, a name server or a receiver keeps its locks as long as these take, and events
that it has recorded hide later ones from the feed.
"""

import socket
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import requests
from django.core.mail.backends import locmem
from django.db import connections

from webhooks.transport import dns

# The requests of this test that a transaction made, by what they would have reached.
refused: list[str] = []


def refuse_in_transaction(what: str) -> None:
    """Raise if the product has opened a transaction in this thread; those of the tests themselves do not count."""
    for connection in connections.all(initialized_only=True):
        if (
            not all(getattr(block, "_from_testcase", False) for block in connection.atomic_blocks)
            and not _is_of_redis()
        ):
            refused.append(what)
            raise AssertionError(f"The network is used inside a transaction: {what}")


def _is_of_redis() -> bool:
    frame = sys._getframe()
    while frame.f_back:
        frame = frame.f_back
        if frame.f_globals.get("__name__") == "redis.connection":
            return True
    return False


def install() -> None:
    """Guard sockets, look-ups of names, and what tests put in place of the network."""
    _guard(socket.socket, "connect")
    _guard(socket.socket, "connect_ex")
    _guard(socket, "getaddrinfo")
    # A look-up has a thread of its own.
    _guard(dns, "_share")
    # `responses` answers without a socket, and this back end keeps mails.
    _guard(requests.Session, "send")
    _guard(locmem.EmailBackend, "send_messages")


def _guard(owner: Any, name: str) -> None:
    original: Callable[..., Any] = getattr(owner, name)

    @wraps(original)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        refuse_in_transaction(f"{name}{args}")
        return original(*args, **kwargs)

    setattr(owner, name, guarded)
