"""Tables from which more follows: each column of a customer, and each kind of a status, has its place."""

import pytest

from tests.conftest import ACTOR
from tests.tickets.factories import CompanyFactory, CustomerFactory
from tickets.models import Customer, TicketStatus
from tickets.models.customer_fields import FORM_FIELDS
from tickets.verbs.customer_merges import merge_customers

# Columns that people do not write one by one, or that have an input of their own.
OTHERS = {"id", "created_at", "updated_at", "custom_fields", "merged_into_id"}


def test_each_column_of_a_customer_is_in_the_table_of_fields() -> None:
    columns = {field.attname for field in Customer._meta.concrete_fields}

    assert columns == {field.name for field in FORM_FIELDS} | OTHERS


@pytest.mark.django_db
def test_a_merge_takes_over_every_column_that_is_empty_at_the_target() -> None:
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


def test_each_kind_of_a_status_has_a_meaning() -> None:
    assert set(TicketStatus.MEANINGS) == set(TicketStatus.Kind)
