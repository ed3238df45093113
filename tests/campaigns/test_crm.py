"""Customers of records of CRM campaigns: the oldest customer with the number at the time of the request."""

import pytest
from django.urls import reverse

from campaigns.models import Record
from campaigns.models.record_rows import customers_of_records
from tests.backoffice import superuser
from tests.campaigns.api_calls import status_of
from tests.campaigns.factories import AdditionalNumberFactory, CampaignFactory, RecordFactory
from tests.conftest import ACTOR
from tests.statements import few_statements
from tests.tickets.factories import CustomerFactory
from tickets.models import Customer
from tickets.verbs.customers import merge_customers

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

NUMBER, OTHER = "+48225550101", "+48225550102"
LIST, BATCH = "/api/outbounds/DEMO2/records", "/api/batch/outbounds/DEMO2/records"
SEARCH = "?search_in_additional_numbers=true"


@pytest.fixture
def campaign(db):
    return CampaignFactory(code="DEMO2", crm=True)


@pytest.fixture
def record(campaign):
    return RecordFactory(campaign=campaign, phone_number=NUMBER)


def listed(api):
    (entry,) = api.get(LIST).json()["result"]
    return entry


def test_the_customer_of_a_record_is_the_oldest_with_its_number_at_the_time_of_the_request(api, campaign):
    assert api.post(LIST, {"phone_number": NUMBER}).status_code == 201
    before = listed(api)["customer_id"]
    assert not Customer.objects.exists()
    oldest = CustomerFactory(phone_numbers=["22 555 01 01"])
    CustomerFactory(phone_numbers=[NUMBER])

    assert (before, listed(api)["customer_id"]) == (None, oldest.pk)


def test_a_record_finds_the_customer_left_by_a_merge(api, record):
    source, target = CustomerFactory(phone_numbers=[NUMBER]), CustomerFactory(phone_numbers=[OTHER])

    merge_customers(source, target, ACTOR)

    assert listed(api)["customer_id"] == target.pk
    assert listed(api)["additional_numbers"] == [OTHER]


def test_records_of_other_campaigns_have_no_customer(api):
    RecordFactory(campaign=CampaignFactory(code="DEMO2"), phone_number=NUMBER)
    CustomerFactory(phone_numbers=[NUMBER, OTHER])

    assert listed(api)["customer_id"] is None
    assert listed(api)["additional_numbers"] == []
    assert api.get(f"{LIST}/{OTHER}{SEARCH}").status_code == 404


def test_other_numbers_of_the_oldest_customer_are_additional_numbers_and_find_the_record(api, record):
    AdditionalNumberFactory(record=record, phone_number="+48225550103")
    CustomerFactory(phone_numbers=[OTHER, NUMBER, "+48225550103"])
    CustomerFactory(phone_numbers=[NUMBER, "+48225550104"])

    assert listed(api)["additional_numbers"] == ["+48225550103", OTHER]
    assert api.get(f"{LIST}/{OTHER}").status_code == 404
    assert api.get(f"{LIST}/{OTHER}{SEARCH}").json()["record_id"] == record.pk
    assert api.get(f"{LIST}/+48225550104{SEARCH}").status_code == 404


def test_batch_edit_by_another_number_of_the_customer(api, record):
    CustomerFactory(phone_numbers=[NUMBER, OTHER])
    status = status_of(record.campaign, "NO_CALL")
    item = {"phone_number": OTHER, "status_id": status.pk}

    refused = api.put(BATCH, {"records": [item]})
    edited = api.put(f"{BATCH}{SEARCH}", {"records": [item]})

    assert refused.json()[OTHER]["http_status"] == 400
    assert edited.json() == {OTHER: {"http_status": 204}}
    record.refresh_from_db()
    assert record.status == status


def test_a_number_that_finds_two_records_edits_neither(api, campaign):
    for number in (NUMBER, OTHER):
        RecordFactory(campaign=campaign, phone_number=number)
    CustomerFactory(phone_numbers=[NUMBER, OTHER, "+48225550103"])

    edited = api.put(f"{BATCH}{SEARCH}", {"records": [{"phone_number": "+48225550103"}]})

    assert edited.json()["+48225550103"]["http_status"] == 400


def test_customers_of_many_records_take_one_query(campaign):
    numbers = [f"+4822{n:07}" for n in range(30)]
    records = [RecordFactory(campaign=campaign, phone_number=number) for number in numbers]
    customers = [CustomerFactory(phone_numbers=[number]) for number in numbers]

    with few_statements(1):
        found = customers_of_records([record.pk for record in records])

    assert [found[record.pk].id for record in records] == [customer.pk for customer in customers]


def test_the_page_of_a_record_links_to_its_customer(record):
    customer = CustomerFactory(name="Jan", surname="Kowal", phone_numbers=[NUMBER, OTHER])

    page = superuser().page(reverse("admin:campaigns_record_change", args=[record.pk]))

    assert reverse("admin:tickets_customer_change", args=[customer.pk]) in page
    assert OTHER in page
    assert Record.objects.count() == 1
