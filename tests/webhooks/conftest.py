"""Senders that may reach the receivers of the tests, and stores and processes that tests may kill."""

import socket
import subprocess
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections, transaction
from pytest_django import DjangoDbBlocker

from callcentre.celery import app
from callcentre.embedded import Stores, temporary_stores
from callcentre.settings import database
from tests.webhooks.processes import a_worker, celery, environment
from tests.webhooks.receivers import authorities
from tests.webhooks.sending import Resolve
from webhooks.transport import Sender


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
def woken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What was to be woken, in place of waking it."""
    calls: list[tuple[str, int]] = []
    for module in ("outbox", "tasks", "models.webhook", "models.resend"):
        monkeypatch.setattr(f"webhooks.{module}.wake", lambda *call: calls.append(call))
    return calls


# Stores that may be killed, for tests with processes of their own


@contextmanager
def _database_of(stores: Stores) -> Iterator[None]:
    """Makes it the default one."""
    usual = connections["default"]
    ours = usual.copy()
    ours.settings_dict = {**usual.settings_dict, **database(stores.database_url)}
    connections["default"] = ours
    try:
        yield
    finally:
        ours.close()
        connections["default"] = usual


@pytest.fixture(scope="session")
def spare_stores(django_db_blocker: DjangoDbBlocker) -> Generator[Stores]:
    with ExitStack() as context:
        with pytest.MonkeyPatch.context() as patch:
            # Those of the test run, which are not to be killed.
            for name in ("DATABASE_URL", "REDIS_URL"):
                patch.delenv(name, raising=False)
            running = context.enter_context(temporary_stores(durable=True))
        with django_db_blocker.unblock(), _database_of(running):
            call_command("migrate", verbosity=0)
        yield running


@pytest.fixture(scope="module")
def stores(spare_stores: Stores, django_db_blocker: DjangoDbBlocker) -> Generator[Stores]:
    """A PostgreSQL and a Valkey of their own; `default` is this database while the tests of the module run."""
    with django_db_blocker.unblock(), _database_of(spare_stores):
        yield spare_stores


@pytest.fixture
def emptied(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the test before; messages go to the broker of these stores, or nowhere while it is down."""

    def publish(task: str, *args: Any) -> None:
        def send() -> None:
            with suppress(Exception), app.connection_for_write(stores.redis_url) as broker:
                # One try, and the sweep finds what was not published.
                broker.transport_options = {**(broker.transport_options or {}), "max_retries": 1, "interval_start": 0}
                app.send_task(task, args=args, connection=broker)

        transaction.on_commit(send)

    for module in ("outbox", "models.webhook"):
        monkeypatch.setattr(f"webhooks.{module}.wake", publish)
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE webhooks_attempt, webhooks_delivery, webhooks_event, webhooks_webhook, webhooks_webhookchange,"
            " webhooks_resend"
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    (folder / "run").mkdir()
    return folder


@pytest.fixture(scope="module")
def beat(stores: Stores, folder: Path) -> Generator[subprocess.Popen[bytes]]:
    with celery("beat --pidfile=", environment(stores, folder), folder) as process:
        yield process


@pytest.fixture(scope="module")
def worker(stores: Stores, folder: Path, beat: Any) -> Generator[subprocess.Popen[bytes]]:
    """For the tests whose fault is the receiver's."""
    with a_worker(stores, folder, TEST_AUTHORITIES=authorities(folder)) as process:
        yield process
