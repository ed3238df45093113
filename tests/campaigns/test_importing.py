"""The results of an import: columns, rules, duplicates, refused rows."""

from datetime import UTC, datetime

import pytest

from callcentre.core.errors import Invalid
from campaigns.importing.merge import Totals
from campaigns.models import AdditionalNumber, Record, RecordChange, RecordImport
from tests.campaigns.api_calls import status_of
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.campaigns.import_files import facts_of, field_values, import_text, numbers_of
from tests.telephony.factories import AgentFactory

pytestmark = pytest.mark.django_db

ALLOW = RecordImport.Duplicates.ALLOW


# Columns


def test_headers_are_recognised_in_both_languages_and_any_spelling(campaign):
    import_text(campaign, "First Name;Numer telefonu;CITY;Identyfikator\nJan;225550101;Łódź;A-1\n")

    record = Record.objects.get(campaign=campaign)
    assert (record.number, record.identifier) == ("+48225550101", "A-1")
    assert sorted(record.fields.values()) == ["Jan", "Łódź"]


def test_a_field_of_the_campaign_precedes_a_synonym():
    campaign = CampaignFactory.create(fields=["number"])

    import_text(campaign, "telefon,number\n225550101,17\n")

    assert field_values(campaign, "number") == ["17"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("first_name", "One column must be the phone number."),
        ("phone_number,phone_number", "Two columns are read as phone_number."),
        ("phone_number,nonsense", 'There is nothing called "nonsense" that a column could be.'),
        ("nowhere=phone_number", 'The file has no column "nowhere".'),
        ("status,status_id,phone_number", "Two columns are read as status."),
    ],
)
def test_invalid_columns_are_refused(campaign, columns, message):
    with pytest.raises(Invalid) as refused:
        import_text(campaign, "a,b,c\n225550101,x,y\n", columns=columns)

    assert refused.value.messages == [message]


def test_numbers_can_be_imported_into_a_crm_campaign_and_fields_cannot():
    campaign = CampaignFactory.create(crm=True, fields=["city"])

    outcome = import_text(campaign, "phone,city\n225550101,Łódź\n")

    assert outcome.totals == Totals(read=1, added=1)
    with pytest.raises(Invalid, match="Fields cannot be set in a CRM campaign"):
        import_text(campaign, "phone,city\n225550101,Łódź\n", columns="phone_number,city")


def test_every_column_is_imported(campaign):
    agent = AgentFactory.create(login="anna")
    status = status_of(campaign, "MY_RECORD")
    content = (
        "phone_number;identifier;status;agent_login;next_call_date;order;additional_numbers;first_name;city\n"
        f"22 555 01 01;A-1;{status.name};anna;2026-12-24 10:30;7;22 555 01 02, 22 555 01 03;Jan;\n"
    )

    import_text(campaign, content)

    record = Record.objects.get(campaign=campaign)
    assert (record.phone_number, record.number, record.is_primary) == ("22 555 01 01", "+48225550101", True)
    assert (record.status, record.system_status, record.agent) == (status, "MY_RECORD", agent)
    assert (record.identifier, record.order) == ("A-1", 7)
    assert record.next_call_at == datetime(2026, 12, 24, 9, 30, tzinfo=UTC)
    assert record.fields == {facts_of(campaign).fields["first_name"]: "Jan"}
    additional = AdditionalNumber.objects.filter(record=record, campaign=campaign)
    numbers = [(one.phone_number, one.number) for one in additional]
    assert numbers == [("22 555 01 02", "+48225550102"), ("22 555 01 03", "+48225550103")]


def test_a_record_without_a_status_is_to_be_called(campaign):
    import_text(campaign, "phone,status\n225550101,\n")

    record = Record.objects.get(campaign=campaign)
    assert (record.system_status, record.status) == ("TO_CALL", status_of(campaign, "TO_CALL"))


@pytest.mark.parametrize("spelling", ["id", "name", "lower case", "dictionary", "dictionary id", "system status"])
def test_a_status_is_found_by_any_of_its_names(campaign, spelling):
    status = status_of(campaign, "NO_CALL")
    assert status.dictionary_status is not None
    dictionary_name = status.dictionary_status.name
    status.name = "Enough"
    status.save()
    cells = {"id": status.pk, "name": "Enough", "lower case": "enough", "dictionary": dictionary_name}
    cell = cells.get(spelling, status.dictionary_status_id if spelling == "dictionary id" else "NO_CALL")

    column = "dictionary_status_id" if spelling == "dictionary id" else "status"
    import_text(campaign, f"phone,{column}\n225550101,{cell}\n")

    assert Record.objects.get(campaign=campaign).status == status


def test_several_columns_may_hold_additional_numbers(campaign):
    import_text(campaign, 'phone;phone2;telefon 3\n225550101;225550102|225550103;"tel:+48225550104;ext=5"\n')

    additional = AdditionalNumber.objects.filter(campaign=campaign).order_by("id").values_list("number", flat=True)
    assert list(additional) == ["+48225550102", "+48225550103", "+48225550104"]


@pytest.mark.parametrize("cell", ["48225550101.0", "'+48225550101", "\u200e+48 22 555 01 01\u00a0"])
def test_numbers_rewritten_by_spreadsheets_are_restored(campaign, cell):
    import_text(campaign, f"phone\n{cell}\n", encoding="utf-8")

    assert numbers_of(campaign) == ["+48225550101"]


# Rules

NEEDS = 'A record with the status "{}" needs {}.'
NEEDS_AGENT = NEEDS.format("MY_RECORD", "agent_login")
NO_TIME = 'Field "next_call" must be a time: YYYY-MM-DD hh:mm.'
NOT_ONE_LINE = 'Field "identifier" must be one line, without control characters.'


@pytest.mark.parametrize(
    ("header", "cells", "message"),
    [
        ("phone,city", ",x", 'Field "phone" cannot be empty.'),
        ("phone", "22 555 abc", "A phone number has no letters."),
        ("phone", "1" * 21, "This is too long for a phone number."),
        ("phone", "22*555", "This is no phone number."),
        ("phone,status", "225550101,Nonsense", "Status not found in this campaign."),
        ("phone,status_id", "225550101,999999999", "Status not found in this campaign."),
        ("phone,status_id", "225550101,x", 'Field "status_id" must be a whole number.'),
        ("phone,agent", "225550101,nobody", "Agent not found."),
        ("phone,status", "225550101,CALL_NO_SOONER_THAN", NEEDS.format("CALL_NO_SOONER_THAN", "next_call_date")),
        ("phone,status", "225550101,MY_RECORD", f"{NEEDS_AGENT} {NEEDS.format('MY_RECORD', 'next_call_date')}"),
        ("phone,next_call", "225550101,24.12.2026", NO_TIME),
        ("phone,status,next_call", "225550101,CALL_NO_SOONER_THAN,24.12.2026", NO_TIME),
        *(("phone,identifier", f"225550101,{cell}", NOT_ONE_LINE) for cell in ('"a\nb"', "a\tb")),
        ("phone,order", "225550101,many", 'Field "order" must be a whole number.'),
        ("phone,order", "225550101,3000000000", 'Field "order" must be between -2147483648 and 2147483647.'),
        ("phone,identifier", "225550101," + "x" * 101, 'Field "identifier" can have at most 100 characters.'),
        ("phone,city", "225550101," + "x" * 10_001, 'Field "city" can have at most 10000 characters.'),
        ("phone,city", "225550101,a\0b", 'Field "city" cannot contain the character NUL or half a surrogate pair.'),
        ("phone,phone2", "225550101,abc", "A phone number has no letters."),
        ("phone,phone2", f"225550101,{'|'.join(['101'] * 21)}", 'Field "phone2" can have at most 20 entries.'),
        ("phone,city", "225550101,a,b", "The row has 3 columns, the first row has 2."),
    ],
)
def test_a_row_that_breaks_a_rule_is_refused_with_its_reason(campaign, header, cells, message):
    outcome = import_text(campaign, f"{header}\n{cells}\n", delimiter=",")

    assert outcome.messages == [message]
    assert outcome.totals == Totals(read=1, faulty=1)
    assert not Record.objects.filter(campaign=campaign).exists()


def test_all_faults_of_a_row_are_named(campaign):
    RecordFactory.create(campaign=campaign, identifier="A-1")

    outcome = import_text(campaign, "phone,agent,order,identifier\nabc,nobody,x,A-1\n")

    assert outcome.errors[0][1].split(". ") == [
        "A phone number has no letters",
        'Field "order" must be a whole number',
        "Agent not found",
        "Another record of the campaign has this identifier.",
    ]


def test_refused_rows_are_written_unchanged_and_the_others_are_imported(campaign):
    content = 'phone;city\n225550101;"a;\nb"\nabc;"x ""y"";\nz"\n225550102;ok\nx;\n'

    outcome = import_text(campaign, content)

    assert numbers_of(campaign) == ["+48225550101", "+48225550102"]
    assert outcome.errors == [
        ["4", "A phone number has no letters.", "abc", 'x "y";\nz'],
        ["7", "A phone number has no letters.", "x", ""],
    ]


def test_the_error_file_has_no_formula_and_can_be_imported_when_it_is_corrected(campaign):
    outcome = import_text(campaign, "phone;=1+1;city\n=cmd|' /C calc'!A0;@x;'=1+1\nx;-5;it's\n")

    assert [row[2:] for row in outcome.errors] == [["'=cmd|' /C calc'!A0", "'@x", "'=1+1"], ["x", "-5", "it's"]]
    line, message, *_cells = outcome.errors[1]
    import_text(campaign, f"line;error;phone;city\n{line};{message};225550101;Łódź\n")
    assert field_values(campaign, "city") == ["Łódź"]
    import_text(campaign, "line;error;'=Telefon;city\n2;;225550102;x\n", columns="=Telefon=phone_number,city=city")
    assert numbers_of(campaign) == ["+48225550101", "+48225550102"]


# Duplicates and identifiers


def test_numbers_of_the_campaign_are_left_out_in_any_spelling(campaign):
    RecordFactory.create(campaign=campaign, phone_number="+48 22 555 01 01")

    outcome = import_text(campaign, "phone\n0048225550101\n22 555 01 02\n(22) 555-01-02\n")

    assert numbers_of(campaign) == ["+48225550101", "+48225550102"]
    assert outcome.totals == Totals(read=3, added=1, duplicates=2)
    assert outcome.messages == ["The campaign already has this number.", "An earlier row of the file has this number."]


def test_a_number_of_another_campaign_or_an_additional_one_is_no_duplicate(campaign):
    RecordFactory.create(phone_number="+48225550101", identifier="A-1")

    rows = "225550101;225550102;A-1\n225550102;225550101;\n"
    assert import_text(campaign, f"phone;phone2;identifier\n{rows}").totals == Totals(read=2, added=2)


def test_duplicates_may_be_allowed_and_the_oldest_stays_primary(campaign):
    old = RecordFactory.create(campaign=campaign, phone_number="+48225550101")

    outcome = import_text(campaign, "phone\n22 555 01 01\n225550102\n225550102\n225550102\n", duplicates=ALLOW)

    records = Record.objects.filter(campaign=campaign).order_by("id")
    assert outcome.totals == Totals(read=4, added=4)
    assert numbers_of(campaign) == ["+48225550101"] * 2 + ["+48225550102"] * 3
    assert [record.is_primary for record in records] == [True, False, True, False, False]
    assert records[0] == old


def test_identifiers_are_unique_against_the_campaign_and_inside_the_file(campaign):
    RecordFactory.create(campaign=campaign, identifier="A-1")

    rows = "225550101,A-1\n225550102,A-2\n225550103,A-2\n225550104,\n225550105,\n"
    outcome = import_text(campaign, f"phone,identifier\n{rows}")

    assert outcome.totals == Totals(read=5, added=3, faulty=2)
    assert [row[0] for row in outcome.errors] == ["2", "4"]
    assert outcome.messages == [
        "Another record of the campaign has this identifier.",
        "An earlier row of the file has this identifier.",
    ]


@pytest.mark.parametrize("duplicates", [RecordImport.Duplicates.SKIP, ALLOW])
def test_a_refused_row_reserves_no_number_and_identifier(campaign, duplicates):
    RecordFactory.create(campaign=campaign, identifier="A-1")
    content = "phone,identifier\n225550101,A-1\n225550101,A-2\n22555x,A-3\n225550102,A-3\n"

    outcome = import_text(campaign, content, duplicates=duplicates)

    records = Record.objects.filter(campaign=campaign, identifier__in=["A-2", "A-3"])
    assert [record.is_primary for record in records] == [True, True]
    assert outcome.totals == Totals(read=4, added=2, faulty=2)


def test_the_first_row_with_an_identifier_is_added_even_as_a_duplicate(campaign):
    RecordFactory.create(campaign=campaign, phone_number="+48225550101")

    outcome = import_text(campaign, "phone,identifier\n225550101,A-1\n225550102,A-1\n", duplicates=ALLOW)

    record = Record.objects.get(campaign=campaign, identifier="A-1")
    assert (record.number, record.is_primary) == ("+48225550101", False)
    assert outcome.totals == Totals(read=2, added=1, faulty=1)


def test_more_rows_than_one_slice_keep_their_order(campaign, monkeypatch):
    monkeypatch.setattr("campaigns.importing.merge._SLICE_ROWS", 100)
    rows = "".join(f"22{number % 900:07},{number}\n" for number in range(1000))

    outcome = import_text(campaign, f"phone,order\n{rows}")

    orders = Record.objects.filter(campaign=campaign).order_by("id").values_list("order", flat=True)
    assert list(orders) == list(range(900))
    assert outcome.totals == Totals(read=1000, added=900, duplicates=100)
    assert [row[0] for row in outcome.errors] == [str(line) for line in range(902, 1002)]


def test_every_imported_record_has_one_entry_in_its_history(campaign):
    RecordFactory.create(campaign=campaign, phone_number="+48225550101")

    import_text(campaign, "phone,status\n225550101,\n225550102,NO_CALL\n")

    change = RecordChange.objects.get()
    given = RecordImport.objects.get()
    status = status_of(campaign, "NO_CALL")
    assert change.record.number == "+48225550102"
    assert (change.actor_kind, change.actor_id, change.actor_name) == ("import", given.pk, "records.csv")
    assert (change.action, change.changes) == ("import", {})
    assert (change.from_status, change.to_status, change.to_system_status) == ("", status.name, "NO_CALL")
