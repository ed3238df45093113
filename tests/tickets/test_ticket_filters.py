"""GET /tickets: each filter alone, in every spelling, and combined; order, pages, count."""

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings

from tests.telephony.factories import AgentFactory
from tests.tickets.factories import (
    CompanyFactory,
    CustomerFactory,
    CustomFieldFactory,
    MessageFactory,
    TicketFactory,
    TicketQueueFactory,
)
from tickets.models import Ticket, TicketCategory, TicketStatus

pytestmark = pytest.mark.django_db

ZONE = ZoneInfo(settings.TIME_ZONE)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZONE)


@pytest.fixture
def subjects(api):
    """Return a function that lists the subjects a query of GET /tickets finds, and checks the count."""

    def found(query):
        response = api.get(f"/api/tickets?{query}")
        assert response.status_code == 200, response.content
        answer = response.json()
        assert answer["count"] == len(answer["result"])
        return [ticket["subject"] for ticket in answer["result"]]

    return found


@pytest.fixture
def world(db):
    """Create three tickets with different values: `a` (the oldest), `b` and `c`."""
    fields = {
        "order_number": CustomFieldFactory(name="order_number"),
        "priority": CustomFieldFactory(name="priority", type="choice", options=["low", "high"]),
        "weight": CustomFieldFactory(name="weight", type="number"),
        "due": CustomFieldFactory(name="due [day]", type="date"),
        "gone": CustomFieldFactory(name="gone", is_active=False),
    }
    key = {name: str(field.pk) for name, field in fields.items()}
    company = CompanyFactory()
    customer, other = CustomerFactory(company=company), CustomerFactory()
    tickets = {
        "a": TicketFactory(
            subject="a",
            source="email",
            customer=customer,
            agent=AgentFactory(login="anna"),
            category=TicketCategory.objects.create(name="Parcels"),
            custom_fields={key["order_number"]: "A-1", key["priority"]: "high", key["weight"]: 2.5},
            created_at=at("2026-01-01 10:00:30"),
            updated_at=at("2026-01-05 00:00"),
        ),
        "b": TicketFactory(
            subject="b",
            source="phone",
            customer=other,
            agent=AgentFactory(login="ben"),
            status=TicketStatus.objects.get(kind="postponed"),
            custom_fields={key["order_number"]: "A-2", key["priority"]: "high", key["due"]: "2026-03-01"},
            created_at=at("2026-01-02 10:00"),
            updated_at=at("2026-01-04 12:30:59.999999"),
        ),
        "c": TicketFactory(
            subject="c",
            source="www",
            queue=TicketQueueFactory(),
            status=TicketStatus.objects.get(kind="closed"),
            custom_fields={key["order_number"]: "A-3", key["gone"]: "x"},
            created_at=at("2026-01-03 10:00"),
            updated_at=at("2026-01-03 23:59:59.999999"),
        ),
    }
    return tickets | {
        "company": company,
        "customer": customer,
        "message": MessageFactory(ticket=tickets["b"]),
        "status": {status.kind: status.pk for status in TicketStatus.objects.all()},
    }


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "abc"),
        # The first and the last instant of a day; a whole minute.
        ("date_from=2026-01-04", "ab"),
        ("date_from=2026-01-04 12:30", "ab"),
        ("date_from=2026-01-04 12:31", "a"),
        ("date_to=2026-01-03", "c"),
        ("date_to=2026-01-04", "bc"),
        ("date_from=2026-01-04&date_to=2026-01-04", "b"),
        ("create_date_from=2026-01-02", "bc"),
        ("create_date_from=2026-01-01 10:01", "bc"),
        ("create_date_to=2026-01-01", "a"),
        ("create_date_from=2026-01-02&create_date_to=2026-01-03", "bc"),
        ("company_id={company}", "a"),
        ("company_id=999999999", ""),
        ("customer_id={customer}", "a"),
        ("user_login=ben", "b"),
        ("user_login=BEN", ""),
        ("source=www", "c"),
        ("source=telegraph", ""),
        ("ticket_queue_id={queue}", "c"),
        ("category_id={category}", "a"),
        ("message_id={message}", "b"),
        ("status_id[]={new}", "a"),
        ("status_id[]={new}&status_id[]={closed}", "ac"),
        ("status_id={new}&status_id={closed}", "ac"),
        ("status_id[0]={new}&status_id[1]={postponed}", "ab"),
        ("status_id={closed}", "c"),
        ("status_id[]={closed}&status_id[]=99999999999999999999", "c"),
        # An id out of range does not exist.
        ("company_id=99999999999999999999", ""),
        # Alternative values of a field, and several fields.
        ("custom_fields[order_number]=A-1", "a"),
        ("custom_fields[order_number][0]=A-1", "a"),
        ("custom_fields[order_number][0]=A-1&custom_fields[order_number][1]=A-3", "ac"),
        ("custom_fields[order_number][]=A-1&custom_fields[order_number][]=A-2", "ab"),
        ("custom_fields[order_number]=A-1&custom_fields[order_number]=A-2", "ab"),
        ("custom_fields[order_number]=A-1&custom_fields[order_number][7]=A-2", "ab"),
        ("custom_fields[priority]=high", "ab"),
        ("custom_fields[priority]=high&custom_fields[order_number]=A-2", "b"),
        ("custom_fields[priority][0]=high&custom_fields[order_number][0]=A-2&custom_fields[order_number][1]=A-3", "b"),
        ("custom_fields[priority]=purple", ""),
        ("custom_fields[priority][0]=purple&custom_fields[priority][1]=high", "ab"),
        ("custom_fields[priority]=", "c"),
        ("custom_fields[priority][0]=&custom_fields[priority][1]=high", "abc"),
        ("custom_fields[weight]=2.5", "a"),
        ("custom_fields[weight]=2,5", "a"),
        ("custom_fields[weight]=heavy", ""),
        ("custom_fields[due [day]]=2026-03-01", "b"),
        ("custom_fields[order_number]=a-1", ""),
        ("custom_fields[unknown]=A-1", ""),
        ("custom_fields[gone]=x", ""),
        ("custom_fields=A-1", "abc"),
        # Combined.
        ("customer_id={customer}&source=email&status_id[]={new}&custom_fields[priority]=high", "a"),
        ("customer_id={customer}&source=phone", ""),
        ("create_date_from=2026-01-02&date_to=2026-01-04&status_id[]={closed}&status_id[]={postponed}", "bc"),
        # Empty and unknown parameters are ignored.
        ("source=&customer_id=&status_id[]=&custom_fields[]=x&colour=red", "abc"),
    ],
)
def test_each_filter(query, found, world, subjects):
    ids = {
        "company": world["company"].pk,
        "customer": world["customer"].pk,
        "queue": world["c"].queue_id,
        "category": world["a"].category_id,
        "message": world["message"].pk,
        **world["status"],
    }

    assert sorted(subjects(query.format(**ids))) == list(found)


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ("", "abc"),
        ("update_date", "cba"),
        ("-update_date", "abc"),
        ("create_date", "abc"),
        ("-create_date,update_date", "cba"),
        (" create_date , -update_date ", "abc"),
    ],
)
def test_order_of_tickets(order, found, world, subjects):
    assert subjects(f"order={order}") == list(found)


def test_second_field_of_the_order_decides_between_equals(subjects):
    born = at("2026-01-01 10:00")
    for subject, day in (("early", "2026-01-02"), ("late", "2026-01-03")):
        TicketFactory(subject=subject, created_at=born, updated_at=at(day))

    assert subjects("order=create_date,-update_date") == ["late", "early"]
    assert subjects("order=create_date,update_date") == ["early", "late"]


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("limit=0", 100006, "limit"),
        ("limit=many", 100004, "limit"),
        ("offset=-1", 100006, "offset"),
        ("order=name", 100011, "order"),
        ("order=create_date,", 100011, "order"),
        ("date_from=yesterday", 100010, "date_from"),
        ("date_to=2026-02-30", 100010, "date_to"),
        ("company_id=x", 100004, "company_id"),
        ("customer_id=1.5", 100004, "customer_id"),
        ("ticket_queue_id=x", 100004, "ticket_queue_id"),
        ("category_id=x", 100004, "category_id"),
        ("message_id=x", 100004, "message_id"),
        ("status_id[]=1&status_id[]=x", 100004, "status_id"),
        ("include_custom_fields=perhaps", 100007, "include_custom_fields"),
        ("user_login=%00", 100016, "user_login"),
        ("custom_fields[order_number]=%00", 100016, "custom_fields"),
    ],
)
def test_malformed_parameter_is_refused(query, code, field, api):
    response = api.get(f"/api/tickets?{query}")

    assert response.status_code == 400
    assert [(error["code"], error["field"]) for error in response.json()["errors"]] == [(code, field)]


def test_all_malformed_parameters_are_reported_together(api):
    response = api.get("/api/tickets?limit=0&offset=x&order=name&customer_id=x&include_custom_fields=perhaps")

    fields = {error["field"] for error in response.json()["errors"]}
    assert fields == {"limit", "offset", "order", "customer_id", "include_custom_fields"}


@pytest.mark.parametrize("query", ["", "source=email", "order=create_date", "order=-create_date", "order=update_date"])
def test_pages_of_tickets_of_one_instant_are_complete(query, api):
    instant = at("2026-01-01 10:00")
    TicketFactory.create_batch(7, queue=TicketQueueFactory(), created_at=instant, updated_at=instant)

    pages = [api.get(f"/api/tickets?limit=3&offset={offset}&{query}").json() for offset in (0, 3, 6, 9)]

    assert [page["count"] for page in pages] == [7, 7, 7, 7]
    ids = [int(ticket["ticket_id"]) for page in pages for ticket in page["result"]]
    assert [len(page["result"]) for page in pages] == [3, 3, 1, 0]
    ascending = "order=" in query and "-" not in query
    assert all((one < other) == ascending for one, other in pairwise(ids))
    assert set(ids) == set(Ticket.objects.values_list("pk", flat=True))


def test_page_has_at_most_a_hundred_tickets(api):
    TicketFactory.create_batch(101, queue=TicketQueueFactory())

    for query, entries in (("", 100), ("limit=500", 100), ("limit=100", 100), ("limit=2", 2), ("offset=100", 1)):
        answer = api.get(f"/api/tickets?{query}").json()
        assert (answer["count"], len(answer["result"])) == (101, entries)
    assert api.get("/api/tickets?offset=99999999999999999999").json() == {"count": 101, "result": []}
    assert api.get("/api/tickets?source=email").json()["count"] == 101
