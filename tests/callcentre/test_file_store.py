"""The folder of stored files, which all hosts share."""

from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.test import Client

from callcentre.core import file_store
from callcentre.core.file_store import MARK, FileStore, mark_folder

# The probes use connections of their own.
pytestmark = pytest.mark.usefixtures("committed_db")


def outcome(client: Client) -> dict[str, Any]:
    checks: dict[str, dict[str, Any]] = client.get("/health/ready").json()["checks"]
    return checks["files"]


@pytest.fixture
def folder(own_storage):
    return own_storage


def use(folder: Path, settings: Any) -> None:
    options = {"location": str(folder)}
    settings.STORAGES = settings.STORAGES | {"default": settings.STORAGES["default"] | {"OPTIONS": options}}


def test_the_first_host_marks_its_folder_and_one_with_another_folder_is_not_ready(client, folder, settings):
    assert [outcome(client)["status"] for _probe in range(2)] == ["ok", "ok"]

    use(folder / "of another host", settings)
    assert outcome(client)["error"] == "The folder of files is not the one that the other hosts use."
    assert client.get("/health/ready").status_code == 503

    use(folder, settings)
    assert outcome(client)["status"] == "ok"


def test_a_restored_database_takes_the_mark_of_the_folder(client, folder):
    outcome(client)
    FileStore.objects.all().delete()

    assert outcome(client)["status"] == "ok"
    assert str(FileStore.objects.get().mark) == (folder / MARK).read_text()


def test_a_web_server_marks_its_folder_when_it_starts(client, folder, settings, caplog):
    """An installation whose readiness was never asked for keeps its folder when a second host joins."""
    mark_folder()
    use(folder / "of another host", settings)

    assert outcome(client)["status"] == "failed"
    caplog.clear()
    mark_folder()
    assert caplog.messages == ["The folder of files is not the one that the other hosts use."]


def test_a_web_server_starts_without_a_database(folder, monkeypatch, caplog):
    def fail(_sql):
        raise psycopg.OperationalError("refused")

    monkeypatch.setattr(file_store, "query", fail)
    mark_folder()

    assert caplog.messages == ["folder of files not marked"]
