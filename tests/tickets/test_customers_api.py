"""The API of customers and companies: create, read, filter, refuse."""

import pytest

from tests.contract import faults
from tests.tickets.factories import CompanyFactory, CustomerFactory, CustomFieldFactory
from tickets.models import Company, Customer, CustomerNumber
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def number(customer: Customer, raw: str, normal: str) -> None:
    CustomerNumber.objects.create(customer=customer, phone_number=raw, number=normal)


def test_create_and_read_a_customer(api):
    company = CompanyFactory()
    CustomFieldFactory(name="loyalty", owner="customer", type="choice", options=["gold"])
    CustomFieldFactory(name="since", owner="customer", type="date")

    created = api.post(
        "/api/customers",
        {
            "name": "Jan",
            "surname": "Kowal",
            "email": "jan@client.example",
            "phone_numbers": ["22 555 01 07", "+48 22 555 01 08", "+48225550107"],
            "company_id": str(company.pk),
            "identifier": "C-1",
            "time_zone": "europe/warsaw",
            "custom_fields": {"loyalty": "gold"},
        },
    )

    customer = Customer.objects.get()
    assert (created.status_code, created.json()) == (201, {"customer_id": customer.pk})
    shown = api.get(f"/api/customers/{customer.pk}").json()
    assert shown.pop("created_at") == shown.pop("updated_at")
    assert shown == {
        "customer_id": customer.pk,
        "name": "Jan",
        "surname": "Kowal",
        "email": "jan@client.example",
        "phone_number": "22 555 01 07",
        "phone_numbers": ["22 555 01 07", "+48 22 555 01 08"],
        "company_id": company.pk,
        "identifier": "C-1",
        "time_zone": "Europe/Warsaw",
        "custom_fields": {"loyalty": "gold", "since": None},
    }


def test_customer_with_only_a_surname(api):
    pk = api.post("/api/customers", {"surname": "Kowal"}).json()["customer_id"]

    shown = api.get(f"/api/customers/{pk}").json()

    assert {name: shown[name] for name in ("name", "email", "phone_number", "identifier")} == dict.fromkeys(
        ("name", "email", "phone_number", "identifier"), ""
    )
    assert (shown["phone_numbers"], shown["company_id"], shown["custom_fields"]) == ([], None, {})


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"phone_number": "22 555 01 07"}, ["22 555 01 07"]),
        ({"phone_number": ["22 555 01 07", "101"]}, ["22 555 01 07", "101"]),
        ({"phone_numbers": "22 555 01 07"}, ["22 555 01 07"]),
        ({"phone_number": "101", "phone_numbers": ["102"]}, ["102"]),
        ({"phone_number": 225550107}, ["225550107"]),
        ({"phone_number": "22 555 01 07", "phone_numbers": None}, ["22 555 01 07"]),
        ({"phone_number": "22 555 01 07", "phone_numbers": []}, ["22 555 01 07"]),
        ({"phone_number": ""}, []),
        ({"phone_number": None}, []),
    ],
)
def test_phone_numbers_in_every_form_of_the_field(given, kept, api):
    assert api.post("/api/customers", {"surname": "S", **given}).status_code == 201

    assert api.get("/api/customers").json()["result"][0]["phone_numbers"] == kept


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"surname": " "}, [(100001, "surname")]),
        ({"surname": "x" * 101}, [(100003, "surname")]),
        ({"surname": "S", "name": []}, [(100002, "name")]),
        ({"surname": "S", "company_id": "x"}, [(100004, "company_id")]),
        ({"surname": "S", "company_id": 999999999}, [(151002, "company_id")]),
        ({"surname": "S", "identifier": "taken"}, [(151003, "identifier")]),
        ({"surname": "S", "time_zone": "Warsaw"}, [(151011, "time_zone")]),
        ({"surname": "S", "email": "jan at client"}, [(150012, "email")]),
        ({"surname": "S", "identifier": "C\n1"}, [(100017, "identifier")]),
        ({"surname": "S", "phone_numbers": ["101", "call me"]}, [(121001, "phone_numbers.1")]),
        ({"surname": "S", "phone_number": "call me"}, [(121001, "phone_number.0")]),
        (
            {"surname": "S", "phone_numbers": [None, "call me", "101", {}, "or me"]},
            [
                (100001, "phone_numbers.0"),
                (100002, "phone_numbers.3"),
                (121001, "phone_numbers.1"),
                (121001, "phone_numbers.4"),
            ],
        ),
        ({"surname": "S", "custom_fields": {"colour": "red"}}, [(151004, "custom_fields.colour")]),
        ({"surname": "S", "custom_fields": {"loyalty": "tin"}}, [(151005, "custom_fields.loyalty")]),
        ({"surname": "S", "custom_fields": {"since": "soon"}}, [(100008, "custom_fields.since")]),
        ({"surname": "S", "custom_fields": {"age": "old"}}, [(100005, "custom_fields.age")]),
        ({"surname": "S", "custom_fields": ["x"]}, [(100012, "custom_fields")]),
        (
            {"company_id": 999999999, "identifier": "taken", "phone_numbers": ["x"], "custom_fields": {"age": "old"}},
            [
                (100001, "surname"),
                (121001, "phone_numbers.0"),
                (151002, "company_id"),
                (151003, "identifier"),
                (100005, "custom_fields.age"),
            ],
        ),
    ],
)
def test_refused_customer(body, expected, api):
    CustomerFactory(identifier="taken")
    CustomFieldFactory(name="loyalty", owner="customer", type="choice", options=["gold"])
    CustomFieldFactory(name="since", owner="customer", type="date")
    CustomFieldFactory(name="age", owner="customer", type="number")
    CustomFieldFactory(name="colour", owner="ticket")

    assert faults(api.post("/api/customers", body)) == expected
    assert (Customer.objects.count(), Event.objects.count()) == (1, 0)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "abc"),
        ("phone_number=%2B48 22 555 01 07", "a"),
        ("phone_number=22 555-01-07", "a"),
        ("phone_number=22 555 01 08", "ab"),
        ("phone_number=call me", ""),
        ("phone_number=22 999 99 99", ""),
        ("email=ANNA@client.example", "a"),
        ("email=nobody@client.example", ""),
        ("identifier=C-2", "b"),
        ("identifier=c-2", ""),
        ("company_id={company}", "bc"),
        ("company_id=999999999", ""),
        ("company_id=99999999999999999999", ""),
        ("company_id={company}&identifier=C-2", "b"),
    ],
)
def test_each_filter_of_customers(query, found, api):
    company = CompanyFactory()
    a = CustomerFactory(surname="a", email="anna@client.example")
    b = CustomerFactory(surname="b", identifier="C-2", company=company)
    CustomerFactory(surname="c", company=company)
    CustomerFactory(surname="merged", company=company, merged_into=a, identifier="C-2")
    number(a, "22 555 01 07", "+48225550107")
    for customer in (a, b):
        number(customer, "22 555 01 08", "+48225550108")

    answer = api.get(f"/api/customers?{query.format(company=company.pk)}").json()

    assert [customer["surname"] for customer in answer["result"]] == list(found)
    assert answer["count"] == len(found)


def test_id_of_a_merged_customer_returns_the_other_customer(api):
    now = CustomerFactory()
    before = CustomerFactory(merged_into=now)

    assert api.get(f"/api/customers/{before.pk}").json()["customer_id"] == now.pk
    assert api.post(f"/api/customers/{before.pk}/notes", {"message": "x"}).status_code == 204
    assert now.notes.count() == 1


def test_list_customers_by_id_in_pages(api):
    ids = [customer.pk for customer in CustomerFactory.create_batch(5)]

    pages = [api.get(f"/api/customers?limit=2&offset={offset}").json() for offset in (0, 2, 4, 6)]

    assert [page["count"] for page in pages] == [5] * 4
    assert [customer["customer_id"] for page in pages for customer in page["result"]] == ids
    assert faults(api.get("/api/customers?limit=0&company_id=x")) == [(100006, "limit"), (100004, "company_id")]


def test_create_companies_and_list_them_by_name(api):
    pk = api.post("/api/companies", {"name": "Zebra"}).json()["company_id"]
    other = CompanyFactory(name="Ant")

    assert api.get("/api/companies").json() == [
        {"company_id": other.pk, "name": "Ant"},
        {"company_id": pk, "name": "Zebra"},
    ]
    for body in ({}, {"name": ""}, {"name": None}):
        assert faults(api.post("/api/companies", body)) == [(100001, "name")]
    assert Company.objects.count() == 2


def test_identifier_taken_by_a_concurrent_request_is_the_same_fault(api, monkeypatch):
    CustomerFactory(identifier="taken")
    monkeypatch.setattr("tickets.verbs.customers._check", lambda *args: None)

    assert faults(api.post("/api/customers", {"surname": "S", "identifier": "taken"})) == [(151003, "identifier")]
