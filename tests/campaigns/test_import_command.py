"""manage.py import_records, as a person at a terminal sees it."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from campaigns.models import Campaign, Record, RecordImport
from tests.campaigns.factories import CampaignFactory, RecordFactory

# The import reports its progress through a connection of its own, which sees only committed rows.
pytestmark = pytest.mark.usefixtures("committed_db", "own_storage")


@pytest.fixture
def campaign() -> Any:
    return CampaignFactory.create(code="TEST1", fields=["city"])


def run(tmp_path: Path, content: str, *arguments: str) -> str:
    (tmp_path / "records.csv").write_text(content, encoding="utf-8")
    output = StringIO()
    call_command("import_records", "TEST1", str(tmp_path / "records.csv"), *arguments, stdout=output)
    return output.getvalue()


def test_the_rows_are_added_and_counted(campaign: Campaign, tmp_path: Path) -> None:
    output = run(tmp_path, "phone;city\n225550101;Łódź\n225550102;Kraków\n")

    assert output == "2 rows read: 2 added, 0 left out as duplicates, 0 faulty.\n"
    assert Record.objects.filter(campaign=campaign).count() == 2


def test_an_import_by_command_is_listed(campaign: Campaign, tmp_path: Path) -> None:
    run(tmp_path, "phone\n225550101\n225550101\nx\n")

    given = RecordImport.objects.get()
    assert (given.state, given.file_name, given.progress_percent) == ("finished", "records.csv", 100)
    assert (given.read_count, given.added_count, given.duplicate_count, given.faulty_count) == (3, 1, 1, 1)
    assert given.actor_kind == "system"
    assert given.next_attempt_at is None


def test_refused_rows_are_stored_with_the_import(campaign: Campaign, tmp_path: Path) -> None:
    output = run(tmp_path, "phone;city\n225550101;a\nabc;b\n")

    given = RecordImport.objects.get()
    assert f"The rows that were not imported, and why: {given.error_file.path}" in output
    assert Path(given.error_file.path).read_text("utf-8-sig") == (
        "line;error;phone;city\n3;A phone number has no letters.;abc;b\n"
    )


def test_refused_rows_are_written_to_the_named_file(campaign: Campaign, tmp_path: Path) -> None:
    errors = tmp_path / "errors.csv"

    output = run(tmp_path, "phone;city\nabc;b\n", "--errors", str(errors))

    assert errors.read_text("utf-8-sig").splitlines()[1] == "3;A phone number has no letters.;abc;b".replace(
        "3", "2", 1
    )
    assert str(errors) in output
    assert not RecordImport.objects.get().error_file


def test_a_dry_run_counts_and_adds_nothing(campaign: Campaign, tmp_path: Path) -> None:
    RecordFactory.create(campaign=campaign, phone_number="+48225550101")

    output = run(tmp_path, "phone\n225550101\n225550102\nx\n", "--dry-run")

    assert output.startswith("3 rows read: 1 would be added, 1 left out as duplicates, 1 faulty.\n")
    assert Record.objects.count() == 1
    assert not RecordImport.objects.exists()


def test_a_dry_run_can_write_refused_rows(campaign: Campaign, tmp_path: Path) -> None:
    errors = tmp_path / "errors.csv"

    run(tmp_path, "phone\nx\n", "--dry-run", "--errors", str(errors))

    assert "A phone number has no letters." in errors.read_text("utf-8-sig")


def test_duplicates_may_be_allowed(campaign: Campaign, tmp_path: Path) -> None:
    run(tmp_path, "phone\n225550101\n225550101\n", "--allow-duplicates")

    records = Record.objects.filter(campaign=campaign).order_by("id")
    assert [record.is_primary for record in records] == [True, False]


def test_numbers_that_are_not_valid_may_be_refused(campaign: Campaign, tmp_path: Path) -> None:
    output = run(tmp_path, "phone\n225550101\n22555\n", "--refuse-invalid")

    assert output.startswith("2 rows read: 1 added, 0 left out as duplicates, 1 faulty.")


def test_the_region_may_be_given(campaign: Campaign, tmp_path: Path) -> None:
    run(tmp_path, "phone\n020 7946 0018\n", "--region", "gb")

    assert Record.objects.get().number == "+442079460018"


def test_columns_of_a_file_without_header_are_given_by_position(campaign: Campaign, tmp_path: Path) -> None:
    run(tmp_path, "Łódź,225550101\n", "--no-header", "--columns", "city,phone_number")

    assert [*Record.objects.get().fields.values()] == ["Łódź"]


def test_columns_may_be_named_by_their_headers(campaign: Campaign, tmp_path: Path) -> None:
    run(tmp_path, "Kto|Dokąd\nŁódź|225550101\n", "--columns", "Dokąd=phone_number,Kto=city", "--delimiter", "pipe")

    assert [*Record.objects.get().fields.values()] == ["Łódź"]


def test_the_encoding_may_be_given(campaign: Campaign, tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_bytes("phone;city\n225550101;Łódź\n".encode("iso8859-2"))

    call_command("import_records", "TEST1", str(tmp_path / "old.csv"), encoding="latin2", stdout=StringIO())

    assert [*Record.objects.get().fields.values()] == ["Łódź"]


def test_the_option_for_events_is_stored(campaign: Campaign, tmp_path: Path) -> None:
    run(tmp_path, "phone\n225550101\n", "--events")

    assert RecordImport.objects.get().records_events


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--encoding", "ebcdic"), 'Field "encoding" must be one of: utf-8,'),
        (("--delimiter", "x"), 'Field "delimiter" must be one of: comma, semicolon, tab, pipe'),
        (("--region", "XX"), 'There is no numbering plan for the region "XX"'),
        (("--columns", "nonsense"), 'There is nothing called "nonsense"'),
        (("--columns", "Tel=phone_number"), 'The file has no column "Tel"'),
        (("--columns", "city"), "One column must be the phone number. Columns of the file: phone"),
    ],
)
def test_invalid_options_show_one_sentence(
    campaign: Campaign, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises(CommandError) as refused:
        run(tmp_path, "phone\n225550101\n", *arguments)

    assert message in str(refused.value)
    assert not RecordImport.objects.exists()


def test_a_file_without_known_columns_lists_its_columns(campaign: Campaign, tmp_path: Path) -> None:
    with pytest.raises(CommandError) as refused:
        run(tmp_path, "Kto,Dokąd\na,225550101\n")

    assert str(refused.value) == (
        "One column must be the phone number. Columns of the file: Kto, Dokąd. --columns says what they are."
    )


def test_an_unknown_campaign_is_refused(campaign: Campaign, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="There is no campaign NONE1"):
        call_command("import_records", "NONE1", str(tmp_path / "x.csv"))


@pytest.mark.parametrize(("name", "message"), [("nothing.csv", "No such file"), ("", "Is a directory")])
def test_a_missing_file_is_refused(campaign: Campaign, tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("import_records", "TEST1", str(tmp_path / name))


def test_an_unwritable_error_file_is_reported_before_the_import(campaign: Campaign, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file or directory"):
        run(tmp_path, "phone\nx\n225550101\n", "--errors", str(tmp_path / "nowhere" / "errors.csv"))

    assert not Record.objects.exists()


def test_a_file_with_a_read_error_imports_nothing(campaign: Campaign, tmp_path: Path) -> None:
    (tmp_path / "cut.csv").write_bytes("phone\n225550101\n".encode("utf-16") + b"\x00")

    with pytest.raises(CommandError, match="The file cannot be read as UTF-16"):
        call_command("import_records", "TEST1", str(tmp_path / "cut.csv"), stdout=StringIO())

    assert not Record.objects.exists()
    assert not RecordImport.objects.exclude(state="failed").exists()


def test_an_undecodable_byte_refuses_only_its_row(campaign: Campaign, tmp_path: Path) -> None:
    (tmp_path / "bytes.csv").write_bytes(b"phone;city\n225550101;a\x81\x98\xffb\n225550102;Krak\n")
    output = StringIO()
    arguments = ["--errors", str(tmp_path / "errors.csv")]

    call_command("import_records", "TEST1", str(tmp_path / "bytes.csv"), *arguments, stdout=output)

    assert "2 rows read: 1 added, 0 left out as duplicates, 1 faulty." in output.getvalue()
    assert (tmp_path / "errors.csv").read_text("utf-8-sig").splitlines()[1].startswith("2;")


def test_a_file_with_too_many_columns_is_refused(campaign: Campaign, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="The file has 200000 columns; at most 200 can be read"):
        run(tmp_path, "phone" + ",x" * 199_999 + "\n225550101\n")

    assert not Record.objects.exists()
