"""Exports of records as CSV."""

import csv
import io
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from callcentre.core.actor import SYSTEM
from campaigns.exporting import export_rows
from campaigns.importing.merge import Totals
from campaigns.models import Campaign
from campaigns.verbs.record_edits import Edit, edit_records
from tests.campaigns.api_calls import status_of
from tests.campaigns.factories import AdditionalNumberFactory, CampaignFactory, RecordFactory
from tests.campaigns.import_files import facts_of, import_text
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign():
    return CampaignFactory(fields=["city", "order"])


def exported(campaign: Campaign, delimiter: str = ",") -> list[dict[str, Any]]:
    text = b"".join(export_rows(campaign, delimiter)).decode("utf-8-sig")
    return [*csv.DictReader(io.StringIO(text), delimiter=delimiter)]


def test_a_record_is_exported_with_its_result(campaign):
    agent = AgentFactory.create(login="anna", name="Anna", surname="Nowak")
    record = RecordFactory.create(
        campaign=campaign,
        phone_number="22 555 01 01",
        identifier="A-1",
        agent=agent,
        order=7,
        last_note="Call after\nnoon, please",
        next_call_at=datetime(2026, 12, 24, 9, 30, tzinfo=UTC),
        called_at=datetime(2026, 7, 1, 9, 30, tzinfo=UTC),
        fields={facts_of(campaign).fields["city"]: "Łódź", facts_of(campaign).fields["order"]: "of things"},
    )
    AdditionalNumberFactory.create(record=record, phone_number="22 555 01 02")
    AdditionalNumberFactory.create(record=record, phone_number="22 555 01 03")
    status = status_of(campaign, "NO_CALL")
    edit_records(facts_of(campaign), SYSTEM, [Edit("22 555 01 01", {"status_id": status.pk})])

    (row,) = exported(campaign)

    del row["create_date"], row["last_change_date"]
    assert row == {
        "record_id": str(record.pk),
        "phone_number": "22 555 01 01",
        "identifier": "A-1",
        "status": status.name,
        "system_status": "NO_CALL",
        "agent_login": "anna",
        "agent_name": "Anna Nowak",
        "next_call_date": "2026-12-24 10:30",
        "order": "7",
        "call_date": "2026-07-01 11:30",
        "last_note": "Call after\nnoon, please",
        "additional_numbers": "22 555 01 02, 22 555 01 03",
        "last_change_by": "system",
        "previous_status": status_of(campaign, "TO_CALL").name,
        "city": "Łódź",
        "field:order": "of things",
    }


@pytest.mark.parametrize(
    ("value", "written"),
    [
        *((text, f"'{text}") for text in ("=1+1", "@SUM(A1)", "-cmd|' /C calc'!A0", "+cmd", "'=1", "＝1")),
        *(("\t=1", "\t'=1"), ("a;=1", "a;'=1")),
        *((text, text) for text in ("+48 (22) 555-01.01/2", "-5", "it's", "a=b")),
    ],
)
def test_no_text_becomes_a_formula(campaign, value, written):
    RecordFactory.create(campaign=campaign, last_note=value, fields={facts_of(campaign).fields["city"]: value})

    (row,) = exported(campaign)

    assert (row["last_note"], row["city"]) == (written, written)


def test_an_export_can_be_imported_unchanged(campaign):
    key = facts_of(campaign).fields["city"]
    for number, city in enumerate(["=1+1", "'=1", "'", "Łódź; 'x'", 'a "b"\nc', "+48", "\t=", "-"]):
        record = RecordFactory.create(campaign=campaign, phone_number=f"+48 22 555 010{number}", fields={key: city})
    AdditionalNumberFactory.create(record=record, phone_number="tel:+48225550109;ext=5")
    other = CampaignFactory.create(fields=["city", "order"])

    outcome = import_text(other, b"".join(export_rows(campaign, ";")))
    own = {"record_id", "last_change_by"}

    assert outcome.totals == Totals(read=8, added=8)
    first, second = (
        [{name: text for name, text in row.items() if "_date" not in name and name not in own} for row in exported(one)]
        for one in (campaign, other)
    )
    assert first == second


@pytest.mark.slow("writes many rows")
@pytest.mark.usefixtures("committed_db")
def test_an_interrupted_download_releases_the_connection(campaign):
    RecordFactory.create_batch(1000, campaign=campaign, last_note="x" * 1000)
    blocks = export_rows(campaign)
    next(blocks)

    blocks.close()  # type: ignore[attr-defined]

    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)


def test_an_interrupted_export_leaves_no_file(campaign, tmp_path):
    RecordFactory.create_batch(3, campaign=campaign)

    call_command("export_records", campaign.code, str(tmp_path / "records.csv"), delimiter="semicolon")

    assert [path.name for path in tmp_path.iterdir()] == ["records.csv"]
    assert len((tmp_path / "records.csv").read_text("utf-8-sig").splitlines()) == 4


def test_export_of_an_unknown_campaign(db):
    with pytest.raises(CommandError, match="There is no campaign NONE1"):
        call_command("export_records", "NONE1")
