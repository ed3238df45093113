"""Calls know their customers once the app that has customers is there."""

import pytest
from django.urls import reverse

from callcentre.core.phone import normalise
from telephony.calls.placement import place
from telephony.queue_waits import callers
from telephony.verbs import connections
from tests.backoffice import superuser
from tests.conftest import ACTOR
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory, ConnectionFactory, QueueFactory
from tests.tickets.factories import CustomerFactory
from tickets.customer_lookups import customers_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

NUMBER = "22 555 01 01"


@pytest.mark.usefixtures("switch")
@pytest.mark.parametrize("is_known", [True, False])
def test_a_call_that_is_placed_has_the_customer_of_the_number(is_known):
    AgentFactory(number="101")
    customer = CustomerFactory(phone_numbers=[NUMBER if is_known else "22 555 01 99"])
    call = connections.call(ACTOR, sip="101", phone_number="+48 225550101")

    place(call.pk)

    call.refresh_from_db()
    assert (call.state, call.customer_id) == ("originating", customer.pk if is_known else None)


def test_the_oldest_customer_with_a_number_is_chosen():
    oldest = CustomerFactory(phone_numbers=[NUMBER])
    CustomerFactory(phone_numbers=[NUMBER])

    assert customers_of([normalise(NUMBER)])[normalise(NUMBER)].id == oldest.pk


def test_a_hundred_numbers_are_one_query():
    numbers = [f"+4822{n:07}" for n in range(100)]
    known = CustomerFactory(phone_numbers=numbers[:50])

    with few_statements(1):
        found = customers_of(numbers)

    assert {customer.id for customer in found.values()} == {known.pk}
    assert len(found) == 50


def test_the_number_of_queries_does_not_depend_on_the_waiting_callers():
    queue = QueueFactory()
    for n in range(20):
        number = f"+4822{n:07}"
        CustomerFactory(name="Jan", surname=f"Kowal {n}", phone_numbers=[number])
        ConnectionFactory(waiting=True, queue=queue, src=number, src_number=number)

    with few_statements(2):
        found = callers(queue)

    assert {caller["customer_label"] for caller in found} == {f"Jan Kowal {n}" for n in range(20)}


def test_the_page_of_a_call_leads_to_its_customer():
    customer = CustomerFactory(name="Jan", surname="Kowal")
    call = ConnectionFactory(customer_id=customer.pk)

    page = superuser().page(reverse("admin:telephony_connection_change", args=[call.pk]))

    assert reverse("admin:tickets_customer_change", args=[customer.pk]) in page
    assert "Jan Kowal" in page
