"""An import in a real Chromium: the script of the page, from the upload to the records."""

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from campaigns.importing.import_run import run
from campaigns.models import Record, RecordImport
from tests.browser.conftest import Walk
from tests.campaigns.factories import CampaignFactory

ADD = reverse("admin:campaigns_recordimport_add")


@pytest.fixture
def page(visit, own_storage):
    return visit.page


def upload(page: Page, campaign: Any, content: str, tmp_path: Path) -> None:
    path = tmp_path / "klienci.csv"
    path.write_text(content, encoding="cp1250")
    page.goto(f"{ADD}?campaign={campaign.pk}")
    page.set_input_files("input[type=file]", path)
    page.get_by_role("button", name="Upload", exact=True).click()


def test_a_choice_changes_the_preview_and_another_delimiter_the_columns(page, tmp_path):
    campaign = CampaignFactory(fields=["town"])
    upload(page, campaign, "Telefon;Drugi\n020 7946 0018;22 555 01 02\n", tmp_path)

    page.select_option("#id_column-0", label="– not imported –")
    expect(page.locator("#import-preview")).to_contain_text("One column must be the phone number.")
    page.select_option("#id_column-0", label="phone number")
    expect(page.locator("#import-preview code").first).to_be_visible()
    page.select_option("#id_column-1", label="town")
    expect(page.locator("#import-preview")).to_contain_text("22 555 01 02")
    page.select_option("#id_delimiter", label="comma ,")
    expect(page.locator("#id_column-1")).to_have_count(0)

    assert RecordImport.objects.get().delimiter == ","


@pytest.mark.trial
def test_a_large_file_shows_the_progress_of_its_upload(page, tmp_path):
    rows = "".join(f"+48 22 {number:07};{'x' * 100}\n" for number in range(20_000))

    upload(page, CampaignFactory(), f"phone;note\n{rows}", tmp_path)

    expect(page.locator("#import-preview")).to_contain_text("The first 1,000 rows were checked.")


@pytest.mark.trial
def test_a_file_that_is_too_large_is_not_sent(page, tmp_path, settings):
    settings.MAX_IMPORT_MB = 1
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)

    upload(page, CampaignFactory(), f"phone\n{'22 555 01 01' * 100_000}\n", tmp_path)

    assert (
        page.locator("input[type=file]").evaluate("input => input.validationMessage") == "The file is larger than 1 MB."
    )
    assert sent == []


def upload_into_campaign(walk: Walk, path: Path) -> None:
    """Open the campaign T7007 from the list, and upload a file of records to it: four steps."""
    walk.page.reload()
    walk.click(walk.page.get_by_role("row", name="T7007").get_by_role("link", name="T7007"))
    walk.link("Import records")
    walk.steps += 1
    walk.page.set_input_files("input[type=file]", path)
    walk.button("Upload")


def test_a_list_with_faults_is_imported_in_six_steps_and_its_refused_rows_downloaded(walk, own_storage, tmp_path):
    page, campaign = walk.page, CampaignFactory(code="T7007", name="Spring offer", fields=["Miasto"])
    path = tmp_path / "klienci.csv"
    path.write_text("Telefon;Miasto\n22 555 01 01;Łódź\nbrak;Kraków\n", encoding="cp1250")

    upload_into_campaign(walk, path)
    expect(page.locator("#import-preview")).to_contain_text("Łódź")
    walk.button("Start the import")
    expect(page.locator("#import-progress")).to_be_visible()
    run(RecordImport.objects.get().pk)
    expect(page.locator(".cc-tiles")).to_contain_text("records added")
    assert walk.steps <= 6

    with page.expect_download() as download:
        page.get_by_role("link", name="Download the rows not imported").click()
    assert download.value.suggested_filename == "klienci-not-imported.csv"
    assert "brak;Kraków" in download.value.path().read_text("utf-8-sig")
    assert [*Record.objects.get(campaign=campaign).fields.values()] == ["Łódź"]
    assert RecordImport.objects.get().state == "finished"


@pytest.mark.trial
def test_a_list_makes_the_fields_of_a_new_campaign_in_seven_steps(walk, own_storage, tmp_path):
    campaign = CampaignFactory(code="T7007", name="Spring offer")
    path = tmp_path / "numbers.csv"
    path.write_text("phone_number,city\n22 555 01 01,Gdynia\n22 555,Sopot\n")

    upload_into_campaign(walk, path)
    expect(walk.page.get_by_text("The campaign has no fields of its own")).to_be_visible()
    expect(walk.page.get_by_text("not valid", exact=True)).to_be_visible()
    walk.button("Make fields of the other columns")
    expect(walk.page.get_by_text("1 column is a field now.")).to_be_visible()
    walk.button("Start the import")
    expect(walk.page.locator("#import-progress")).to_be_visible()
    run(RecordImport.objects.get().pk)
    expect(walk.page.locator(".cc-tiles")).to_contain_text("records added")

    assert walk.steps <= 7
    assert list(campaign.fields.values_list("name", flat=True)) == ["city"]
    assert Record.objects.filter(campaign=campaign).count() == 2
