"""manage.py import_records, as a person at a terminal sees it."""

from pathlib import Path

import pytest
from django.core.management import CommandError

from campaigns.models import Record, RecordImport
from tests.campaigns.factories import RecordFactory
from tests.campaigns.import_files import import_by_command as run
from tests.campaigns.import_files import numbers_of

# The import reports its progress through a connection of its own, which sees only committed rows.
pytestmark = pytest.mark.usefixtures("committed_db", "own_storage")


def test_an_import_by_command_is_counted_and_listed(campaign, tmp_path):
    output = run(tmp_path, "phone;city\n225550101;Łódź\n225550101;Kraków\nx;\n")

    given = RecordImport.objects.get()
    assert output.startswith("3 rows read: 1 added, 1 left out as duplicates, 1 faulty.\n")
    assert Record.objects.get().campaign == campaign
    assert (given.state, given.file_name, given.progress_percent) == ("finished", "records.csv", 100)
    assert (given.read_count, given.added_count, given.duplicate_count, given.faulty_count) == (3, 1, 1, 1)
    assert (given.actor_kind, given.next_attempt_at) == ("system", None)


def test_refused_rows_are_stored_with_the_import_or_in_the_named_file(campaign, tmp_path):
    errors, content = tmp_path / "errors.csv", "phone;city\n225550101;a\nabc;b\n"
    expected = "line;error;phone;city\n3;A phone number has no letters.;abc;b\n"

    stored = run(tmp_path, content)
    named = run(tmp_path, content.replace("0101", "0102"), "--errors", str(errors))

    second, first = RecordImport.objects.all()
    assert f"The rows that were not imported, and why: {first.error_file.path}" in stored
    assert Path(first.error_file.path).read_text("utf-8-sig") == expected
    assert str(errors) in named
    assert (errors.read_text("utf-8-sig"), bool(second.error_file)) == (expected, False)


def test_a_dry_run_counts_and_writes_refused_rows_only(campaign, tmp_path):
    RecordFactory.create(campaign=campaign, phone_number="+48225550101")
    errors = tmp_path / "errors.csv"

    output = run(tmp_path, "phone\n225550101\n225550102\nx\n", "--dry-run", "--errors", str(errors))

    assert output.startswith("3 rows read: 1 would be added, 1 left out as duplicates, 1 faulty.\n")
    assert "A phone number has no letters." in errors.read_text("utf-8-sig")
    assert Record.objects.count() == 1
    assert not RecordImport.objects.exists()


@pytest.mark.parametrize(
    ("content", "arguments", "numbers", "cities"),
    [
        ("phone\n225550101\n225550101\n", ["--allow-duplicates"], ["+48225550101"] * 2, []),
        ("phone\n225550101\n22555\n", ["--refuse-invalid"], ["+48225550101"], []),
        ("phone\n020 7946 0018\n", ["--region", "gb"], ["+442079460018"], []),
        ("Łódź,225550101\n", ["--no-header", "--columns", "city,phone_number"], ["+48225550101"], ["Łódź"]),
        (
            "Kto|Dokąd\nŁódź|225550101\n",
            ["--columns", "Dokąd=phone_number,Kto=city", "--delimiter", "pipe"],
            ["+48225550101"],
            ["Łódź"],
        ),
        ("phone;city\n225550101;Łódź\n".encode("iso8859-2"), ["--encoding", "latin2"], ["+48225550101"], ["Łódź"]),
    ],
)
def test_options_say_how_the_file_is_read(campaign, tmp_path, *, content, arguments, numbers, cities):
    run(tmp_path, content, *arguments)

    assert numbers_of(campaign) == numbers
    assert [value for record in campaign.records.all() for value in record.fields.values()] == cities
    assert [record.is_primary for record in campaign.records.order_by("id")] == [True, False][: len(numbers)]
    assert not RecordImport.objects.get().records_events


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        *(
            ("phone\n225550101\n", arguments, message)
            for arguments, message in (
                (("--encoding", "ebcdic"), 'Field "encoding" must be one of: utf-8,'),
                (("--delimiter", "x"), 'Field "delimiter" must be one of: comma, semicolon, tab, pipe'),
                (("--region", "XX"), 'There is no numbering plan for the region "XX"'),
                # Before the import.
                (("--errors", "/nowhere/errors.csv"), "No such file or directory"),
            )
        ),
        (
            "Kto,Dokąd\na,225550101\n",
            (),
            "One column must be the phone number. Columns of the file: Kto, Dokąd. --columns says what they are.",
        ),
        ("phone" + ",x" * 199_999 + "\n225550101\n", (), "The file has 200000 columns; at most 200 can be read"),
        ("phone\n225550101\n".encode("utf-16") + b"\x00", (), "The file cannot be read as UTF-16"),
    ],
    ids=range(7),
)
def test_a_wrong_option_or_file_shows_one_sentence_and_imports_nothing(campaign, tmp_path, content, arguments, message):
    with pytest.raises(CommandError) as refused:
        run(tmp_path, content, *arguments)

    assert message in str(refused.value)
    assert not Record.objects.exists()
    assert not RecordImport.objects.exclude(state="failed").exists()


def test_an_unknown_campaign_or_file_is_refused(campaign, tmp_path):
    for code, name, message in (
        ("NONE1", "x.csv", "There is no campaign NONE1"),
        ("DEMO1", "nothing.csv", "No such file"),
        ("DEMO1", "", "Is a directory"),
    ):
        with pytest.raises(CommandError, match=message):
            run(tmp_path, None, code=code, name=name)
