"""Imports in the admin: uploading a file, choosing its columns, and what becomes of it."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.test import Client
from django.urls import reverse

from campaigns.models import RecordImport
from campaigns.verbs.imports import upload_import
from tests.backoffice import BackOffice, errors_of, inputs_of, messages_of, page_of, staff, superuser
from tests.campaigns.factories import RecordFactory
from tests.campaigns.import_pages import LIST, POLISH, faults_of, shown_text, upload, uploaded

State = RecordImport.State

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "own_storage", "sent")]


# 1. The file


def test_an_upload_is_described_by_the_guess_and_redirects_to_its_columns(campaign):
    response = upload(superuser(), campaign, POLISH)

    given = RecordImport.objects.get()
    assert (response.status_code, response.headers["Location"]) == (302, page_of(given, "columns"))
    assert (given.state, given.file_name, given.file_size) == (State.UPLOADED, "klienci.csv", len(POLISH))
    assert (given.encoding, given.delimiter, given.has_header) == ("cp1250", ";", True)
    city = campaign.fields.get(name="city").pk
    assert given.columns == {"1": "phone_number", "2": f"field:{city}"}
    with given.file.open("rb") as file:
        assert file.read() == POLISH


def test_even_a_small_upload_is_written_to_disk(campaign, monkeypatch):
    kept: list[Any] = []

    def look(campaign, actor, file, **values):
        kept.append(type(file))
        return upload_import(campaign, actor, file, **values)

    monkeypatch.setattr("campaigns.admin.imports.upload_import", look)
    upload(superuser(), campaign, POLISH)

    assert kept == [TemporaryUploadedFile]


def test_a_file_without_rows_is_refused_and_not_stored(campaign):
    response = upload(superuser(), campaign, b"\n\n")

    assert errors_of(response) == {"file": ["The file has no rows."]}
    assert not RecordImport.objects.exists()


def test_a_file_that_is_too_large_is_refused(campaign, settings):
    settings.MAX_IMPORT_MB = 1
    content = b"phone\n" + b"225550101\n" * 106_000

    response = upload(superuser(), campaign, content)

    assert "The file is larger than 1 MB." in response.content.decode()
    assert not RecordImport.objects.exists()


def test_a_file_of_200_000_columns_is_refused_with_one_sentence(campaign):
    response = upload(client := superuser(), campaign, b"phone" + b",x" * 199_999 + b"\n225550101\n")

    page = client.page(response.headers["Location"])
    assert "The file has 200000 columns; at most 200 can be read." in page
    assert "column-0" not in inputs_of(page)


def test_an_upload_without_a_csrf_token_is_refused(campaign):
    client = BackOffice(enforce_csrf_checks=True)
    client.cookies = superuser().cookies

    response = upload(client, campaign, POLISH)

    assert response.status_code == 403
    assert not RecordImport.objects.exists()


def test_the_page_preselects_the_campaign_of_its_link(campaign):
    client = superuser()

    address = client.get(reverse("admin:campaigns_campaign_import_records", args=[campaign.pk])).headers["Location"]

    assert inputs_of(client.page(address))["campaign"] == str(campaign.pk)


# 2. Its format and columns


def test_columns_are_shown_with_escaped_examples_and_guessed_targets(campaign):
    content = "Imię;Telefon;<b>x</b>\nŻaneta;22 555 01 01;<script>alert(1)</script>\n"
    given = uploaded(campaign, content, delimiter=";", columns={"1": "phone_number"}, file_name="<u>a</u>.csv")

    page = superuser().page(page_of(given, "columns"))

    assert all(text in page for text in ("Imię", "Żaneta", "&lt;script&gt;"))
    assert not any(markup in page for markup in ("<b>x", "<script>alert", "<u>a"))
    inputs = inputs_of(page)
    assert (inputs["column-0"], inputs["column-1"]) == ("", "phone_number")
    assert (inputs["encoding"], inputs["delimiter"], inputs["region"]) == ("utf-8", ";", "PL")


def test_the_preview_shows_twenty_rows(campaign):
    content = "phone\n" + "".join(f"22 555 01 {number:02}\n" for number in range(30))
    given = uploaded(campaign, content)

    page = superuser().page(page_of(given, "columns"))

    assert "The file has 30 rows." in page
    assert "+48225550119" in page
    assert "+48225550120" not in page
    assert "Nothing is wrong with them." in page


def test_the_preview_shows_the_faults_by_reason_before_duplicates_and_repeats(campaign):
    for number in range(25):
        RecordFactory.create(campaign=campaign, phone_number=f"+4822555{number:04}")
    rows = "".join(f"22 555 {number:04};\n" for number in range(25))
    faulty = "22 556 0001;nobody\nletters;\n22 556 0002;nobody\n"
    given = uploaded(campaign, f"phone;agent\n{rows}22 556 0003;\n{faulty}22 556 0003;\n", delimiter=";")
    given.columns = {"0": "phone_number", "1": "agent_login"}
    given.save()

    page = superuser().page(page_of(given, "columns"))

    assert "3 rows are faulty 25 duplicates 1 repeat within the file" in shown_text(page)
    assert faults_of(page) == (
        "2 rows Agent not found. Line 28: 22 556 0001 Line 30: 22 556 0002"
        " 1 row A phone number has no letters. Line 29: letters"
        " 25 rows The campaign already has this number. Line 2: 22 555 0000 Line 3: 22 555 0001 Line 4: 22 555 0002"
        " 1 row An earlier row of the file has this number. Line 31: 22 556 0003"
    )


def test_the_preview_names_a_repeated_identifier(campaign):
    RecordFactory.create(campaign=campaign, identifier="A-1")
    content = "phone,identifier\n22 555 01 01,A-1\n22 555 01 02,A-2\n22 555 01 03,A-2\n"
    given = uploaded(campaign, content, columns={"0": "phone_number", "1": "identifier"})

    page = superuser().page(page_of(given, "columns"))

    assert faults_of(page) == (
        "1 row Another record of the campaign has this identifier. Line 2: 22 555 01 01"
        " 1 row An earlier row of the file has this identifier. Line 4: 22 555 01 03"
    )


def test_undecodable_bytes_are_shown_as_replacement_characters(campaign):
    client = superuser()
    upload(client, campaign, b"Tele\x81fon;city\n22 555 01 01;\x81\x83\n2\x812;Krak\n")

    page = client.get(page_of(RecordImport.objects.get(), "columns"))

    assert (page.status_code, "\ufffd\ufffd" in page.content.decode()) == (200, True)


def test_choices_are_stored_and_change_the_preview(campaign):
    given = uploaded(campaign, "a,b\nŁódź,020 7946 0018\n", columns={})
    client = superuser()
    city = campaign.fields.get(name="city").pk

    choices: dict[str, Any] = {"column-0": f"field:{city}", "column-1": "phone_number"}
    client.submit(page_of(given, "columns"), region="GB", duplicates="allow", **choices)

    given.refresh_from_db()
    assert given.columns == {"0": f"field:{city}", "1": "phone_number"}
    assert (given.region, given.duplicates, given.state) == ("GB", "allow", State.UPLOADED)
    assert "+442079460018" in client.page(page_of(given, "columns"))


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_another_delimiter_changes_the_columns(campaign, delimiter):
    content = f"phone{delimiter}city\n225550101{delimiter}Łódź\n"
    given = uploaded(campaign, content, delimiter=",", columns={})

    superuser().submit(page_of(given, "columns"), delimiter=delimiter, start="1")

    given.refresh_from_db()
    city = campaign.fields.get(name="city").pk
    assert given.columns == {"0": "phone_number", "1": f"field:{city}"}
    assert (given.delimiter, given.state) == (delimiter, State.UPLOADED)


def test_a_wrong_encoding_is_reported_and_can_be_corrected(campaign):
    given = uploaded(campaign, "phone;city\n225550101;x\n", delimiter=";")
    client = superuser()

    client.submit(page_of(given, "columns"), encoding="utf-16-le")
    page = client.page(page_of(given, "columns"))
    client.submit(page_of(given, "columns"), encoding="utf-8")

    assert "The file cannot be read as UTF-16 LE." in page
    given.refresh_from_db()
    assert given.columns["0"] == "phone_number"


def test_an_import_without_a_phone_number_is_not_started(campaign, sent):
    given = uploaded(campaign, "city\nŁódź\n", columns={})
    client = superuser()

    client.submit(page_of(given, "columns"), start="1")

    given.refresh_from_db()
    assert (given.state, sent) == (State.UPLOADED, [])
    assert "One column must be the phone number." in client.page(page_of(given, "columns"))


# State, results and permissions


def test_start_an_import_and_show_its_progress(campaign, sent):
    given = uploaded(campaign, "phone\n225550101\n")
    client = superuser()

    response = client.submit(page_of(given, "columns"), start="1")

    given.refresh_from_db()
    assert response.headers["Location"] == page_of(given, "change")
    assert (given.state, sent) == (State.QUEUED, [("campaigns.import_records", given.pk)])
    assert given.actor_kind == "user"
    assert page_of(given, "progress") in client.page(page_of(given, "change"))


def test_the_progress_as_json(campaign):
    given = uploaded(campaign, "phone\n", state=State.RUNNING, progress_percent=42, read_count=1234)

    answer = superuser().get(page_of(given, "progress"))

    assert answer.json() == {"label": "running", "percent": 42, "rows": 1234, "has_ended": False}
    assert "no-store" in answer.headers["Cache-Control"]


def test_a_queued_import_cannot_be_described(campaign):
    given = uploaded(campaign, "phone\n225550101\n", state=State.QUEUED)

    response = superuser().get(page_of(given, "columns"))

    assert response.headers["Location"] == page_of(given, "change")


def test_a_failed_import_shows_the_reason_and_is_queued_again_once(campaign, sent):
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


def test_a_finished_import_shows_counts_and_refused_rows(campaign):
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


def test_a_missing_file_is_reported(campaign):
    given = uploaded(campaign, "phone\n225550101\n", state=State.FAILED)
    Path(given.file.path).unlink()

    response = superuser().get(page_of(given, "columns"))

    assert messages_of(response) == ["The file is not there any more."]


PAGES = ("change", "progress", "errors", "columns", "retry")


def test_the_add_permission_is_enough_to_import(campaign):
    client = staff("add_recordimport")

    upload(client, campaign, POLISH)

    given = RecordImport.objects.get()
    client.submit(page_of(given, "columns"), start="1")
    assert client.get(page_of(given, "change")).status_code == 200
    assert client.get(LIST).status_code == 200


def test_imports_are_hidden_without_permission_and_log_in_and_none_is_deleted(campaign):
    given = uploaded(campaign, "phone\n", state=State.FINISHED, error_file=ContentFile(b"secret", "errors.csv"))
    client, pages = staff("view_campaign"), [page_of(given, name) for name in PAGES]

    assert [client.get(page).status_code for page in pages] == [403] * len(pages)
    answers = [Client().get(page) for page in pages]
    assert all(answer.headers["Location"].startswith(reverse("admin:login")) for answer in answers)
    assert superuser().post(page_of(given, "delete")).status_code == 403
