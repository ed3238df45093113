"""Senders that may reach the receivers of the tests."""

import socket
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.webhooks.receivers import authorities
from tests.webhooks.sending import SHORT, Resolve
from webhooks.transport import Sender


@pytest.fixture
def sender(tmp_path: Path) -> Generator[Sender]:
    sender = Sender(timeout=5, allowed_networks=["127.0.0.0/8"], authorities=authorities(tmp_path))
    yield sender
    sender.close()


@pytest.fixture
def hasty(tmp_path: Path) -> Generator[Sender]:
    """A sender whose deadline passes soon."""
    sender = Sender(timeout=SHORT, allowed_networks=["127.0.0.0/8"], authorities=authorities(tmp_path))
    yield sender
    sender.close()


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Resolve:
    """Makes a name resolve to addresses; gives a list that grows with each look-up."""
    known: dict[str, list[str]] = {}
    asked: list[str] = []

    def getaddrinfo(host: str, port: int, **rest: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in known[host]]

    def add(host: str, addresses: list[str]) -> list[str]:
        known[host] = addresses
        return asked

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return add


@pytest.fixture
def local_receivers(settings: Any) -> None:
    """Lets deliveries and registrations through to the receivers of the tests."""
    settings.WEBHOOK_ALLOWED_NETWORKS = ["127.0.0.0/8"]


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What was to be woken, in place of waking it."""
    calls: list[tuple[str, int]] = []
    for module in ("outbox", "tasks", "models.webhook", "models.resend"):
        monkeypatch.setattr(f"webhooks.{module}.wake", lambda *call: calls.append(call))
    return calls
