"""Imports in the admin: their state, results and permissions."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse

from campaigns.models import Campaign, RecordImport
from tests.backoffice import messages_of, page_of, staff, superuser
from tests.campaigns.import_pages import LIST, POLISH, upload, uploaded

State = RecordImport.State

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "own_storage", "sent")]


def test_start_an_import_and_show_its_progress(campaign: Campaign, sent: list[Any]) -> None:
    given = uploaded(campaign, "phone\n225550101\n")
    client = superuser()

    response = client.submit(page_of(given, "columns"), start="1")

    given.refresh_from_db()
    assert response.headers["Location"] == page_of(given, "change")
    assert (given.state, sent) == (State.QUEUED, [("campaigns.import_records", given.pk)])
    assert given.actor_kind == "user"
    assert page_of(given, "progress") in client.page(page_of(given, "change"))


def test_the_progress_as_json(campaign: Campaign) -> None:
    given = uploaded(campaign, "phone\n", state=State.RUNNING, progress_percent=42, read_count=1234)

    answer = superuser().get(page_of(given, "progress"))

    assert answer.json() == {"state": "running", "label": "running", "percent": 42, "rows": 1234, "has_ended": False}
    assert "no-store" in answer.headers["Cache-Control"]


def test_a_queued_import_cannot_be_described(campaign: Campaign) -> None:
    given = uploaded(campaign, "phone\n225550101\n", state=State.QUEUED)

    response = superuser().get(page_of(given, "columns"))

    assert response.headers["Location"] == page_of(given, "change")


def test_a_failed_import_shows_the_reason_and_is_queued_again_once(campaign: Campaign, sent: list[Any]) -> None:
    given = uploaded(campaign, "phone\n225550101\n", state=State.FAILED, message="The disk is full.")
    client = superuser()
    page = client.page(page_of(given, "change"))

    client.post(page_of(given, "retry"))
    response = client.post(page_of(given, "retry"))

    assert "The disk is full." in page
    assert page_of(given, "retry") in page
    given.refresh_from_db()
    assert (given.state, given.message, len(sent)) == (State.QUEUED, "", 1)
    assert messages_of(response) == ["Another user has started this import already."]


def test_a_finished_import_shows_counts_and_refused_rows(campaign: Campaign) -> None:
    error_file = ContentFile(b"\xef\xbb\xbfline,error,phone\r\n", "errors.csv")
    values = {"file_name": "klienci.csv", "error_file": error_file, "added_count": 1_234_567}
    given = uploaded(campaign, "phone\n", state=State.FINISHED, **values)
    without = uploaded(campaign, "phone\n", state=State.FINISHED)
    client = superuser()

    page = client.page(page_of(given, "change"))
    download = client.get(page_of(given, "errors"))

    assert "1,234,567" in page
    assert page_of(given, "errors") in page
    assert download.headers["Content-Disposition"] == 'attachment; filename="klienci-not-imported.csv"'
    assert b"".join(download) == b"\xef\xbb\xbfline,error,phone\r\n"
    assert client.get(page_of(without, "errors")).status_code == 404


def test_a_missing_file_is_reported(campaign: Campaign) -> None:
    given = uploaded(campaign, "phone\n225550101\n", state=State.FAILED)
    Path(given.file.path).unlink()

    response = superuser().get(page_of(given, "columns"))

    assert messages_of(response) == ["The file is not there any more."]


# Permissions

PAGES = ("change", "progress", "errors", "columns", "retry")


@pytest.mark.parametrize("page", ["upload", "columns", "retry", "start"])
def test_importing_requires_the_add_permission(campaign: Campaign, sent: list[Any], page: str) -> None:
    given = uploaded(campaign, "phone\n225550101\n")
    client = staff("view_recordimport", "view_campaign", "change_campaign", "add_record")
    calls = {
        "upload": lambda: upload(client, campaign, POLISH),
        "columns": lambda: client.get(page_of(given, "columns")),
        "retry": lambda: client.post(page_of(given, "retry")),
        "start": lambda: client.post(page_of(given, "columns"), {"start": "1"}),
    }

    assert calls[page]().status_code == 403
    assert RecordImport.objects.get().state == State.UPLOADED
    assert sent == []


def test_the_add_permission_is_enough_to_import(campaign: Campaign) -> None:
    client = staff("add_recordimport")

    upload(client, campaign, POLISH)

    given = RecordImport.objects.get()
    client.submit(page_of(given, "columns"), start="1")
    assert client.get(page_of(given, "change")).status_code == 200
    assert client.get(LIST).status_code == 200


def test_imports_are_hidden_without_permission_and_log_in_and_none_is_deleted(campaign: Campaign) -> None:
    given = uploaded(campaign, "phone\n", state=State.FINISHED, error_file=ContentFile(b"secret", "errors.csv"))
    client, pages = staff("view_campaign"), [page_of(given, name) for name in PAGES]

    assert [client.get(page).status_code for page in pages] == [403] * len(pages)
    answers = [Client().get(page) for page in pages]
    assert all(answer.headers["Location"].startswith(reverse("admin:login")) for answer in answers)
    assert superuser().post(page_of(given, "delete")).status_code == 403
