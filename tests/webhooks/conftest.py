"""Senders that may reach the receivers of the tests, and stores and processes that tests may kill."""

import socket
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from callcentre.launch.embedded import Stores
from tests.pristine import Pristine
from tests.processes import enqueue_into
from tests.webhooks.processes import celery
from tests.webhooks.receivers import authorities
from tests.webhooks.sending import Resolve
from webhooks import delivery_worker
from webhooks.slots import Slots
from webhooks.transport.sender import Sender


@pytest.fixture(autouse=True)
def own_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """No webhook of another test waits for a slot of this process, and no origin counts as slow."""
    monkeypatch.setattr(delivery_worker, "slots", Slots())


@pytest.fixture
def sender(tmp_path: Path) -> Generator[Sender]:
    sender = Sender(timeout=60, allowed_networks=["127.0.0.0/8"], authorities=authorities(tmp_path))
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
def enqueued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The tasks that were enqueued."""
    calls: list[tuple[str, int]] = []
    for module in ("outbox", "tasks", "verbs.webhooks"):
        monkeypatch.setattr(f"webhooks.{module}.enqueue", lambda *call: calls.append(call))
    return calls


# Processes on stores that may be killed


@pytest.fixture
def emptied(stores: Stores, pristine_stores: Pristine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the test before; messages go to the broker of these stores, or nowhere while it is down."""
    for module in ("outbox", "verbs.webhooks"):
        monkeypatch.setattr(f"webhooks.{module}.enqueue", enqueue_into(stores))
    pristine_stores.restore()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    (folder / "run").mkdir()
    return folder


@pytest.fixture(scope="module")
def beat(stores: Stores, folder: Path) -> Generator[subprocess.Popen[bytes]]:
    with celery("beat --pidfile=", stores, folder) as process:
        yield process
