import socket
import threading
import time
from typing import Any

import pytest
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper

from callcentre.monitoring import health
from tests.statements import few_statements

pytestmark = pytest.mark.django_db(transaction=True)

SERVICE_TIMEOUT = health.TIMEOUT_SECONDS


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """Wait for every answer, however busy the machine is."""
    monkeypatch.setattr(health, "TIMEOUT_SECONDS", 60.0)


@pytest.fixture
def silent_port():
    """Yield a port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def dead_port():
    """Return a port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def statuses(response: Any) -> dict[str, str]:
    return {name: check["status"] for name, check in response.json()["checks"].items()}


def use_database_at(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    parameters = {**connection.get_connection_params(), "host": "127.0.0.1", "port": port, "password": "s3cret-word"}
    monkeypatch.setattr(DatabaseWrapper, "get_connection_params", lambda self: dict(parameters))


def test_a_live_process_asks_no_store(client, monkeypatch):
    monkeypatch.setattr(health, "_ask", None)

    with few_statements(0):
        response = client.get("/health/live", REMOTE_ADDR="203.0.113.9")

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_a_service_with_all_its_stores_is_ready(client):
    response = client.get("/health/ready", REMOTE_ADDR="203.0.113.9")

    assert (response.status_code, response.json()["status"]) == (200, "ok")
    assert statuses(response) == {"database": "ok", "broker": "ok", "migrations": "ok", "files": "ok"}


def test_without_a_store_the_service_is_not_ready_and_shows_no_secret(client, settings, monkeypatch, dead_port, capfd):
    with monkeypatch.context() as patch:
        use_database_at(patch, dead_port)
        without_database = client.get("/health/ready")
    settings.CELERY_BROKER_URL = f"redis://:s3cret-word@127.0.0.1:{dead_port}/0"
    without_broker = client.get("/health/ready")

    assert (without_database.status_code, without_broker.status_code) == (503, 503)
    assert statuses(without_database) == {
        "database": "failed",
        "broker": "ok",
        "migrations": "failed",
        "files": "failed",
    }
    assert statuses(without_broker) == {"database": "ok", "broker": "failed", "migrations": "ok", "files": "ok"}
    said = (without_database.content + without_broker.content).decode() + "".join(capfd.readouterr())
    assert "OperationalError" in said
    assert "s3cret-word" not in said


def test_stores_that_hang_are_not_waited_for(client, settings, monkeypatch, silent_port):
    monkeypatch.setattr(health, "TIMEOUT_SECONDS", SERVICE_TIMEOUT)
    settings.CELERY_BROKER_URL = f"redis://127.0.0.1:{silent_port}/0"
    use_database_at(monkeypatch, silent_port)

    response = client.get("/health/ready")

    assert statuses(response) == dict.fromkeys(health.CHECKS, "failed")


def test_all_checks_share_a_limit_of_two_seconds(client, monkeypatch):
    monkeypatch.setattr(health, "TIMEOUT_SECONDS", SERVICE_TIMEOUT)
    may_end = threading.Event()
    monkeypatch.setattr(health, "CHECKS", {f"store {n}": lambda: may_end.wait(100) for n in range(8)})

    started = time.monotonic()
    response = client.get("/health/ready")
    took = time.monotonic() - started
    may_end.set()

    assert SERVICE_TIMEOUT == 2
    assert {check["error"] for check in response.json()["checks"].values()} == {"No answer within 2 seconds."}
    # One after another they would take sixteen seconds.
    assert took < 10


def test_a_missing_migration_is_named(client):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_migrations SET name = name || '-' WHERE app = 'campaigns' AND name LIKE '0028%%'")
    try:
        response = client.get("/health/ready")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE django_migrations SET name = rtrim(name, '-') WHERE app = 'campaigns'")

    assert response.status_code == 503
    assert "campaigns.0001_initial" in response.json()["checks"]["migrations"]["error"]
