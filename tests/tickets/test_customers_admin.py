"""Customers in the admin: search, page, edit and merge."""

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse
from django.utils import timezone

from callcentre.core.errors import Conflict, ErrorCode
from callcentre.core.scope import DIMENSIONS
from tests.backoffice import errors_of, inputs_of, messages_of, page_of, shown, superuser
from tests.callcentre.factories import UserFactory
from tests.conftest import ACTOR
from tests.rights.people import client_of
from tests.statements import few_statements
from tests.telephony.factories import ConnectionFactory
from tests.tickets.factories import (
    ChatFactory,
    CompanyFactory,
    CustomerFactory,
    CustomerNoteFactory,
    CustomFieldFactory,
    TicketFactory,
)
from tickets.models import Customer
from tickets.verbs.customers import edit_customer, merge_customers
from webhooks.models import Event

LIST = reverse("admin:tickets_customer_changelist")
ADD = reverse("admin:tickets_customer_add")
CHANGES = reverse("admin:tickets_customerchange_changelist")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


# The list


@pytest.mark.parametrize(
    "term",
    ["kowal", "JAN KOWAL", "kowal jan", "ja kow", "22 555 01 01", "+48-225550101", "JAN@client.example", "ERP-7"],
)
def test_a_customer_is_found_by_each_searched_column(term):
    jan = CustomerFactory(
        name="Jan", surname="Kowalski", email="jan@client.example", identifier="ERP-7", phone_numbers=["+48225550101"]
    )
    other = CustomerFactory(name="Ewa", surname="Nowak", phone_numbers=["+48225550102"])

    assert shown(superuser().page(LIST, q=term), jan, other) == [jan]


@pytest.mark.parametrize("term", ["%", "_", "\\", "'; --"])
def test_special_characters_are_searched_literally(term):
    customer = CustomerFactory(surname="Kowal")

    assert shown(superuser().page(LIST, q=term), customer) == []


def test_merged_customers_are_not_in_the_list():
    source, target = CustomerFactory(), CustomerFactory()
    merge_customers(source, target, ACTOR)

    assert shown(superuser().page(LIST), source, target) == [target]


def test_the_query_count_of_a_search_is_constant():
    CustomerFactory.create_batch(40, surname="Kowal", of_company=True)
    client = superuser()

    with few_statements(5):
        client.page(LIST, q="Kowal")


def test_the_query_count_of_a_customers_page_is_constant():
    customer = CustomerFactory(of_company=True, email="jan@client.example", phone_numbers=["+48225550101"])
    for number in range(15):
        TicketFactory(customer=customer, assigned=True)
        ConnectionFactory(customer_id=customer.pk, created_at=timezone.now())
        CustomerNoteFactory(customer=customer)
        ChatFactory(client_email="jan@client.example", assigned=True)
        CustomerFactory(of_company=True, phone_numbers=["+48225550101"])
        CustomFieldFactory(of_customers=True)
        edit_customer(customer, ACTOR, surname=f"Kowal {number}")
    client = superuser()

    with few_statements(19):
        client.page(page_of(customer))


def test_customers_with_the_same_number_or_address_are_offered_for_a_merge():
    customer = CustomerFactory(email="jan@client.example", phone_numbers=["+48225550101"])
    same = [CustomerFactory(email="JAN@client.example"), CustomerFactory(phone_numbers=["22 555 01 01"])]
    other = CustomerFactory(email="ewa@client.example", phone_numbers=["+48225550102"])
    without, nothing = CustomerFactory.create_batch(2)
    client = superuser()

    assert shown(client.page(page_of(customer)), *same, other, without) == same
    assert shown(client.page(page_of(without)), customer, nothing) == []


# Adding and editing


def test_a_customer_is_added_by_the_verb():
    field = CustomFieldFactory(of_customers=True, name="loyalty")
    company = CompanyFactory()

    superuser().submit(
        ADD,
        name="Jan",
        surname="Kowal",
        company=str(company.pk),
        phone_numbers="22 555 01 01\n+48 22 555 01 02",
        **{f"field_{field.pk}": "gold"},
    )

    customer = Customer.objects.get()
    assert (str(customer), customer.company) == ("Jan Kowal", company)
    assert customer.phone_numbers == ["22 555 01 01", "+48 22 555 01 02"]
    assert customer.custom_fields == {str(field.pk): "gold"}
    assert Event.objects.filter(action="CUSTOMER_CREATED").count() == 1
    assert customer.history.get().actor_kind == "user"


def test_an_edit_changes_only_the_changed_fields_and_without_any_leaves_no_trace():
    field = CustomFieldFactory(of_customers=True, choice=True, name="loyalty")
    customer = CustomerFactory(of_company=True, surname="Kowal", phone_numbers=["22 555 01 01"])
    client = superuser()

    client.submit(page_of(customer))
    assert not customer.history.exists()
    client.submit(page_of(customer), surname="Kowalska", **{f"field_{field.pk}": "high"})

    customer.refresh_from_db()
    page = client.page(page_of(customer))
    assert (customer.surname, customer.phone_numbers) == ("Kowalska", ["22 555 01 01"])
    assert customer.custom_fields == {str(field.pk): "high"}
    assert inputs_of(page)[f"field_{field.pk}"] == "high"
    assert "<del>Kowal</del>" in page


@pytest.mark.parametrize("email", ["a..b@mobile.example", "jóźef@client.example"])
def test_a_customer_with_an_unusual_address_is_added_and_edited(email):
    client = superuser()
    client.submit(ADD, surname="Kowal", email=email)
    customer = Customer.objects.get()

    client.submit(page_of(customer), surname="Kowalska")

    customer.refresh_from_db()
    assert (customer.surname, customer.email) == ("Kowalska", email)


def test_each_wrong_value_is_refused_at_its_field():
    number = CustomFieldFactory(of_customers=True, type="number", name="points")
    CustomerFactory(identifier="ERP-7")

    response = superuser().submit(
        ADD,
        expected=200,
        surname="Kowal",
        email="jan at client.example",
        identifier="ERP-7",
        phone_numbers="22 555 01 01\nABC",
        **{f"field_{number.pk}": "many"},
    )

    errors = errors_of(response)
    assert errors["email"] == ["This is no e-mail address."]
    assert errors["identifier"] == ["Another customer has this identifier."]
    assert errors[f"field_{number.pk}"] == ["This is no number."]
    assert "phone_numbers" in errors
    assert Customer.objects.count() == 1


def test_concurrent_edits_of_different_fields_are_both_kept():
    customer = CustomerFactory(name="Jan", surname="Kowal")
    client = superuser()
    data = inputs_of(client.page(page_of(customer)))
    edit_customer(Customer.objects.get(pk=customer.pk), ACTOR, name="Adam")

    client.post(page_of(customer), {**data, "surname": "Nowak"})

    customer.refresh_from_db()
    assert str(customer) == "Adam Nowak"


def test_a_note_is_added():
    customer, client = CustomerFactory(), superuser()

    client.submit(page_of(customer, "add_note"), message="Prefers mail.")

    assert customer.notes.get().message == "Prefers mail."
    assert "Prefers mail." in client.page(page_of(customer))


# Merging


def test_a_merge_shows_a_preview_and_is_done_after_confirmation():
    source = CustomerFactory(surname="Kowal", email="jan@home.example", phone_numbers=["+48225550101"])
    target = CustomerFactory(surname="Kowalski", phone_numbers=["+48225550102"])
    tickets, client = TicketFactory.create_batch(3, customer=source), superuser()

    page = client.submit(page_of(source, "merge"), expected=200, target=str(target.pk)).content.decode()

    assert "+48225550102, +48225550101" in page
    assert "<del>Kowal</del>" in page
    assert '<span class="cc-number">3</span>' in page
    assert Customer.objects.current().count() == 2
    response = client.post(page_of(source, "merge"), inputs_of(page))
    assert response["Location"] == page_of(target)
    assert target.tickets.count() == len(tickets)
    # A merged customer is shown read-only.
    page = client.page(page_of(source))
    assert ("Kowal" in page, page_of(target) in page, "Perhaps the same person" in page) == (True, True, False)
    assert 'name="surname"' not in page
    assert client.post(page_of(source), {"surname": "Nowak"}).status_code == 403


def test_a_merge_with_a_merged_customer_or_itself_is_refused_at_its_field():
    source, target = CustomerFactory(), CustomerFactory()
    client = superuser()
    data = inputs_of(client.submit(page_of(source, "merge"), expected=200, target=str(target.pk)).content.decode())
    merge_customers(target, CustomerFactory(), ACTOR)

    response = client.post(page_of(source, "merge"), data)
    itself = client.submit(page_of(source, "merge"), expected=200, target=str(source.pk))

    assert list(errors_of(response)) == ["target"]
    assert errors_of(itself) == {"target": ["This is the same customer."]}
    source.refresh_from_db()
    assert source.merged_into is None


def test_a_refusal_of_the_merge_is_shown(monkeypatch):
    def refuse(*args):
        raise Conflict(ErrorCode.CUSTOMER_BUSY)

    monkeypatch.setattr("tickets.admin.customers.merge_customers", refuse)
    source, target = CustomerFactory(), CustomerFactory()

    response = superuser().post(page_of(source, "merge"), {"target": target.pk, "shown": target.pk})

    assert messages_of(response) == [str(ErrorCode.CUSTOMER_BUSY.text)]


@pytest.mark.parametrize("column", DIMENSIONS)
def test_a_person_with_a_scope_merges_no_customers(column):
    """A merge moves tickets and calls of all queues."""
    first, second = CustomerFactory.create_batch(2, email="jan@client.example")
    url = reverse("admin:tickets_customer_merge", args=[first.pk])
    user = UserFactory(staff=True, **{column: [TicketFactory().queue_id]})
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_customer", "change_customer"]))
    client = client_of(user)

    page = client.page(page_of(second))
    response = client.post(url, {"target": second.pk, "confirmed": "yes"})

    assert response.status_code == 403
    assert url not in page
    assert reverse("admin:tickets_customer_merge", args=[second.pk]) not in page
    first.refresh_from_db()
    assert not first.merged_into_id
