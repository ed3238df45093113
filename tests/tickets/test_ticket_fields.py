"""The tables of fields of tickets, messages and customers; ticket_fields.sql has the statements composed of them.

Each column of a customer, and each kind of a status, has its place in a table.
"""

from pathlib import Path

import pytest
from django.conf import settings

from tests.conftest import ACTOR
from tests.tickets.factories import CompanyFactory, CustomerFactory
from tickets.api.customers import CustomerInput
from tickets.api.serializers import TicketEditInput, TicketInput
from tickets.models import Customer, TicketStatus, api_rows
from tickets.models.customer_fields import FORM_FIELDS
from tickets.verbs.customers import merge_customers


def test_composed_statements():
    statements = {
        "Read tickets": api_rows.TICKETS,
        "Read their messages": api_rows.MESSAGES,
        "Read customers": api_rows.CUSTOMERS,
    }
    composed = "\n\n".join(f"-- {title}\n{sql.strip()}" for title, sql in statements.items())
    print(composed)
    assert (
        f"{composed}\n".replace(settings.TIME_ZONE, "[zone]")
        == Path(__file__).with_name("ticket_fields.sql").read_text()
    )


def test_accepted_names_of_each_input():
    choices = {"user_login", "customer_id", "ticket_queue_id", "category_id", "status_id", "substatus_id"}
    both = choices | {"type_id", "team_id", "priority", "subject", "from", "tags", "custom_fields"}
    assert TicketEditInput.plan().keys() == both | {"postponed_until"}
    assert TicketInput.plan().keys() == both | {"source", "body", "body_type", "attachments"}
    names = {"name", "surname", "email", "phone_numbers", "company_id", "identifier", "time_zone", "custom_fields"}
    assert CustomerInput.plan().keys() == names


# Columns that people do not write one by one, or that have an input of their own.
OTHERS = {"id", "created_at", "updated_at", "custom_fields", "merged_into_id"}


def test_each_column_of_a_customer_is_in_the_table_of_fields():
    columns = {field.attname for field in Customer._meta.concrete_fields}

    assert columns == {field.name for field in FORM_FIELDS} | OTHERS


@pytest.mark.django_db
def test_a_merge_takes_over_every_column_that_is_empty_at_the_target():
    written = {field.name: f"of the source {field.row}" for field in FORM_FIELDS if field.name != "company_id"}
    written |= {"time_zone": "Europe/Warsaw", "company_id": CompanyFactory().pk}
    source = CustomerFactory(**written)
    target = CustomerFactory(surname="Kowal")
    Customer.objects.filter(pk=target.pk).update(name="", email="", identifier="", time_zone="", company=None)

    merge_customers(source, Customer.objects.get(pk=target.pk), ACTOR)

    merged = Customer.objects.get(pk=target.pk)
    assert {name: getattr(merged, name) for name in written} == written | {"surname": "Kowal"}
    assert [merged.surname, source.surname] in [
        list(reversed(entry.changes["surname"])) for entry in merged.history.all() if "surname" in entry.changes
    ]


def test_each_kind_of_a_status_has_a_meaning():
    assert set(TicketStatus.MEANINGS) == set(TicketStatus.Kind)
