"""Choices of an import: fields made of columns, and numbers that are not valid in their country."""

import pytest
from django.db import connection

from callcentre.core.audit import AuditEntry, AuditLog
from callcentre.core.phone import is_valid, normalise
from campaigns.importing.import_run import run
from campaigns.models import RecordChange, RecordImport
from campaigns.verbs.imports import queue_import
from tests.backoffice import inputs_of, page_of, staff, superuser
from tests.campaigns.factories import CampaignFactory, RecordImportFactory
from tests.campaigns.import_files import facts_of, field_values, import_text, numbers_of
from tests.campaigns.import_pages import shown_text, upload, uploaded
from tests.conftest import ACTOR

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static", "own_storage", "sent")]
FILE = "phone;city;Shoe size;city\n22 555 01 01;Gdynia;42;Sopot\n"
WITHOUT_FIELDS = "The campaign has no fields of its own"
MAKE = 'name="make_fields"'


@pytest.fixture
def campaign():
    return CampaignFactory(code="SPRNG")


def test_a_campaign_without_fields_gets_them_of_the_columns(campaign):
    client = superuser()
    upload(client, campaign, FILE.encode())
    given = RecordImport.objects.get()
    assert WITHOUT_FIELDS in client.page(page_of(given, "columns"))

    client.submit(page_of(given, "columns"), make_fields="1")

    assert list(campaign.fields.values_list("name", flat=True)) == ["city", "Shoe size"]
    given.refresh_from_db()
    city, shoes = campaign.fields.values_list("pk", flat=True)
    assert given.columns == {"0": "phone_number", "1": f"field:{city}", "2": f"field:{shoes}"}
    page = client.page(page_of(given, "columns"))
    assert WITHOUT_FIELDS not in page
    assert "Gdynia" in page
    import_text(campaign, FILE, columns="phone_number,city,Shoe size")
    assert field_values(campaign, "city") == ["Gdynia"]


def test_fields_are_made_of_further_columns_and_a_file_that_is_not_imported_is_not_logged(campaign):
    campaign.fields.create(name="city")
    client = superuser()
    upload(client, campaign, FILE.encode())
    given = RecordImport.objects.get()
    assert WITHOUT_FIELDS not in client.page(page_of(given, "columns"))

    client.submit(page_of(given, "columns"), make_fields="1")

    assert set(facts_of(campaign).fields) == {"city", "Shoe size"}
    assert not AuditEntry.objects.filter(action="import").exists()


def test_fields_are_made_by_those_who_may_change_the_campaign(campaign):
    upload(superuser(), campaign, FILE.encode())
    client = staff("add_recordimport")
    address = page_of(RecordImport.objects.get(), "columns")

    page = client.page(address)
    response = client.post(address, {**inputs_of(page), "make_fields": "1"})

    assert WITHOUT_FIELDS in page
    assert MAKE not in page
    assert response.status_code == 403
    assert not campaign.fields.exists()


def test_a_crm_campaign_gets_no_fields():
    given = uploaded(CampaignFactory(is_crm=True), FILE, columns={"0": "phone_number"})

    page = superuser().page(page_of(given, "columns"))

    assert WITHOUT_FIELDS not in page
    assert MAKE not in page


NUMBERS = "phone\n22 555\n22 555 01 01\n101\n"


@pytest.mark.parametrize(
    ("number", "is_one"),
    [("22 555", False), ("22 555 01 01", True), ("101", False), ("+44 20 7946 0018", True), ("+44 20", False)],
)
def test_a_valid_number_is_one_of_its_country(number, is_one):
    assert is_valid(normalise(number, "PL")) is is_one


def test_possible_numbers_are_imported_and_the_preview_marks_those_that_are_not_valid(campaign):
    page = superuser().page(page_of(uploaded(campaign, NUMBERS), "columns"))
    import_text(campaign, NUMBERS)

    assert "2 rows have a number that is not valid in its country, and are imported" in shown_text(page)
    assert page.count(">not valid<") == 2
    assert numbers_of(campaign) == ["22555", "+48225550101", "101"]


def test_an_option_refuses_numbers_that_are_not_valid(campaign):
    given = uploaded(campaign, NUMBERS)
    client = superuser()

    client.submit(page_of(given, "columns"), refuses_invalid="on")
    page = shown_text(client.page(page_of(given, "columns")))
    outcome = import_text(campaign, NUMBERS, refuses_invalid=True)

    given.refresh_from_db()
    assert given.refuses_invalid
    assert "2 rows are faulty" in page
    assert "and are imported" not in page
    assert outcome.messages == ["This number is not valid in its country."] * 2
    assert numbers_of(campaign) == ["+48225550101"]
    # The option covers additional numbers.
    content = "phone,phone2\n22 555 01 04,22 555\n22 555 01 02,22 555 01 03\n"
    import_text(campaign, content, refuses_invalid=True)
    assert numbers_of(campaign) == ["+48225550101", "+48225550102"]


def test_an_import_is_one_entry_of_the_audit_log_and_records_keep_their_histories(committed_db):
    given = RecordImportFactory(file__data=b"phone_number\n+48225550101\n+48225550102\nx\n", file_size=40)
    queue_import(given, ACTOR)

    run(given.pk)

    entry = AuditLog.objects.get(action="import")
    assert (entry.model, entry.object_name, entry.actor_name) == ("campaigns.recordimport", given.file_name, ACTOR.name)
    counts = {"read_count": 3, "added_count": 2, "duplicate_count": 0, "faulty_count": 1}
    assert entry.changes == {name: [None, count] for name, count in counts.items()}
    assert RecordChange.objects.filter(action="import").count() == 2


def test_the_log_reads_changes_of_records_by_an_index_without_those_of_imports():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN SELECT * FROM {AuditLog._meta.db_table} ORDER BY at DESC LIMIT 50")
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "recordchange_of_log" in plan
