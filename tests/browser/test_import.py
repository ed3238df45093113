"""An import in a real Chromium: the script of the page, from the upload to the records."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.urls import reverse
from playwright.sync_api import Page, expect

from campaigns.importing.import_run import run
from campaigns.models import Record, RecordImport
from tests.browser.conftest import Visit
from tests.campaigns.factories import CampaignFactory

ADD = reverse("admin:campaigns_recordimport_add")

pytestmark = pytest.mark.usefixtures("plain_static")


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[threading.Thread]]:
    """Run queued imports at once, each in a thread, as on a worker."""
    threads: list[threading.Thread] = []

    def work(pk: int) -> None:
        try:
            run(pk)
        finally:
            connection.close()

    def enqueue(task: str, pk: int) -> None:
        threads.append(threading.Timer(0.3, work, [pk]))
        threads[-1].start()

    monkeypatch.setattr("campaigns.verbs.imports.enqueue", enqueue)
    yield threads
    for thread in threads:
        thread.join()


@pytest.fixture
def page(visit: Visit, own_storage: Path, workers: Any) -> Page:
    return visit.page


def upload(page: Page, campaign: Any, content: str, tmp_path: Path) -> None:
    path = tmp_path / "klienci.csv"
    path.write_text(content, encoding="cp1250")
    page.goto(f"{ADD}?campaign={campaign.pk}")
    page.set_input_files("input[type=file]", path)
    page.get_by_role("button", name="Upload", exact=True).click()


def test_a_file_is_uploaded_described_imported_and_its_refused_rows_downloaded(page: Page, tmp_path: Path) -> None:
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda said: trouble.append(said.text) if said.type == "error" else None)
    campaign = CampaignFactory(fields=["town"])

    upload(page, campaign, "Telefon;Miasto\n22 555 01 01;Łódź\nbrak;Kraków\n", tmp_path)
    page.select_option("#id_column-1", label="town")
    expect(page.locator("#import-preview")).to_contain_text("Łódź")
    page.get_by_role("button", name="Start the import").click()
    expect(page.locator("#import-progress")).to_be_visible()
    expect(page.locator(".cc-tiles")).to_contain_text("records added")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the rows not imported").click()

    assert download.value.suggested_filename == "klienci-not-imported.csv"
    assert "brak;Kraków" in download.value.path().read_text("utf-8-sig")
    assert [*Record.objects.get(campaign=campaign).fields.values()] == ["Łódź"]
    assert trouble == []


def test_a_choice_changes_the_preview_and_another_delimiter_the_columns(page: Page, tmp_path: Path) -> None:
    campaign = CampaignFactory()
    upload(page, campaign, "Telefon;Drugi\n020 7946 0018;22 555 01 02\n", tmp_path)

    page.select_option("#id_column-0", label="– not imported –")
    expect(page.locator("#import-preview")).to_contain_text("One column must be the phone number.")
    page.select_option("#id_column-0", label="phone number")
    expect(page.locator("#import-preview code").first).to_be_visible()
    page.select_option("#id_delimiter", label="comma ,")
    expect(page.locator("#id_column-1")).to_have_count(0)

    assert RecordImport.objects.get().delimiter == ","


@pytest.mark.trial
def test_a_large_file_shows_the_progress_of_its_upload(page: Page, tmp_path: Path) -> None:
    rows = "".join(f"+48 22 {number:07};{'x' * 100}\n" for number in range(20_000))

    upload(page, CampaignFactory(), f"phone;note\n{rows}", tmp_path)

    expect(page.locator("#import-preview")).to_contain_text("The first 1,000 rows were checked.")


@pytest.mark.trial
def test_a_file_that_is_too_large_is_not_sent(page: Page, tmp_path: Path, settings: Any) -> None:
    settings.MAX_IMPORT_MB = 1
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)

    upload(page, CampaignFactory(), f"phone\n{'22 555 01 01' * 100_000}\n", tmp_path)

    assert (
        page.locator("input[type=file]").evaluate("input => input.validationMessage") == "The file is larger than 1 MB."
    )
    assert sent == []
