"""The settings of tickets: statuses, categories, custom fields, companies, queues, replies, marketplaces."""

import pytest
from django.urls import reverse

from callcentre.core.encryption import decrypt
from tests.backoffice import errors_of, inputs_of, messages_of, page_of, staff, superuser
from tests.statements import few_statements
from tests.tickets.factories import (
    CannedReplyFactory,
    CompanyFactory,
    CustomerFactory,
    CustomFieldFactory,
    MarketplaceFactory,
    TicketFactory,
    TicketQueueFactory,
    TicketStatusFactory,
    TicketSubstatusFactory,
)
from tickets.models import Company, CustomField, Marketplace, TicketQueue, TicketStatus

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def list_of(model):
    return reverse(f"admin:tickets_{model}_changelist")


def add(model):
    return reverse(f"admin:tickets_{model}_add")


def raw(row, column):
    """Return the row as stored."""
    return type(row).objects.extra(select={"raw": column}).get(pk=row.pk).raw


# Statuses


def test_the_last_status_of_a_kind_is_not_deleted():
    status = TicketStatus.objects.get(kind="new")

    assert superuser().post(page_of(status, "delete"), {"post": "yes"}).status_code == 403


def test_a_further_status_of_a_kind_is_deleted():
    status = TicketStatusFactory(kind="new")

    superuser().post(page_of(status, "delete"), {"post": "yes"})

    assert TicketStatus.objects.filter(kind="new").count() == 1


def test_a_used_status_is_not_deleted_and_the_page_says_why():
    ticket = TicketFactory(status=TicketStatusFactory())

    response = superuser().post(page_of(ticket.status, "delete"), {"post": "yes"})

    assert str(ticket) in response.content.decode()
    assert TicketStatus.objects.filter(pk=ticket.status_id).exists()


def test_a_sub_status_is_added_on_the_page_of_its_status():
    status = TicketStatus.objects.get(kind="closed")

    superuser().submit(
        page_of(status), **{"substatuses-TOTAL_FORMS": "1", "substatuses-0-name": "Refused", "substatuses-0-order": "1"}
    )

    assert status.substatuses.get().name == "Refused"


def test_a_used_sub_status_is_not_deleted():
    substatus = TicketSubstatusFactory()
    TicketFactory(status=substatus.status, substatus=substatus)

    superuser().submit(page_of(substatus.status), expected=200, **{"substatuses-0-DELETE": "on"})

    assert substatus.status.substatuses.count() == 1


def test_the_kind_of_a_status_stays():
    status = TicketStatusFactory(kind="in_progress")

    superuser().submit(page_of(status), kind="closed", name="Working")

    status.refresh_from_db()
    assert (status.kind, status.name) == ("in_progress", "Working")


# Custom fields


def test_options_are_written_one_a_line():
    superuser().submit(
        add("customfield"), owner="ticket", name="priority", type="choice", options="low, or lower\nhigh\n\nhigh"
    )

    field = CustomField.objects.get()
    assert field.options == ["low, or lower", "high"]
    assert inputs_of(superuser().page(page_of(field)))["options"] == "low, or lower\nhigh"


def test_a_choice_without_options_is_refused():
    field = CustomFieldFactory()
    client = superuser()

    added = client.submit(add("customfield"), expected=200, owner="ticket", name="priority", type="choice")
    changed = client.submit(page_of(field), expected=200, type="choice")

    assert errors_of(added) == errors_of(changed) == {"options": ["A choice needs options."]}
    assert CustomField.objects.get().type == "text"


@pytest.mark.parametrize(
    ("owner", "factory"), [("ticket", TicketFactory), ("customer", CustomerFactory)], ids=["tickets", "customers"]
)
def test_a_field_that_has_values_keeps_its_type(owner, factory):
    field = CustomFieldFactory(owner=owner)
    factory(custom_fields={str(field.pk): "12"})

    response = superuser().submit(page_of(field), expected=200, type="number")

    assert errors_of(response) == {"type": ["The field has values: its type stays. Add another field instead."]}
    field.refresh_from_db()
    assert field.type == "text"


def test_a_field_without_values_gets_another_type():
    field = CustomFieldFactory()
    TicketFactory(custom_fields={str(field.pk + 1): "12"})

    superuser().submit(page_of(field), type="number", name="points")

    field.refresh_from_db()
    assert (field.type, field.name) == ("number", "points")


def test_a_name_that_another_field_has_is_refused():
    CustomFieldFactory(name="priority")

    response = superuser().submit(add("customfield"), expected=200, owner="ticket", name="priority", type="text")

    assert errors_of(response) == {"": ["Another field has this name."]}


def test_a_custom_field_is_not_deleted():
    assert superuser().post(page_of(CustomFieldFactory(), "delete"), {"post": "yes"}).status_code == 403


# Companies


def test_a_company_is_added_renamed_and_found():
    client = superuser()

    client.submit(add("company"), name="Akme")
    company = Company.objects.get()
    client.submit(page_of(company), name="Acme 100% Ltd")

    assert page_of(company) in client.page(list_of("company"), q="e 100%")
    assert page_of(company) not in client.page(list_of("company"), q="e 100_")


def test_the_list_of_companies_counts_customers_in_one_query():
    for company in CompanyFactory.create_batch(30):
        CustomerFactory.create_batch(3, company=company)
    client = superuser()

    with few_statements(4):
        page = client.page(list_of("company"))

    assert ">3<" in page


# Ticket queues


def save(client, queue, **changes):
    """Return the inputs of the queue's form. The page has another input with the name of one: its language."""
    return client.submit(page_of(queue), language="en", **changes)


def test_a_new_queue_leads_to_its_page_for_its_hours():
    client = superuser()
    path = reverse("admin:tickets_ticketqueue_add")

    answer = client.submit(path, name="Support", language="en")

    queue = TicketQueue.objects.get(name="Support")
    assert answer.status_code == 302
    assert answer["Location"] == page_of(queue)


def test_the_password_of_a_mailbox_is_kept_encrypted_and_never_shown():
    queue = TicketQueueFactory(imap_host="imap.callcentre.example")
    client = superuser()

    save(client, queue, new_password="of the mailbox", imap_user="support")

    queue.refresh_from_db()
    assert queue.imap_password == "of the mailbox"
    assert decrypt(raw(queue, "imap_password").encode()) == b"of the mailbox"
    assert "of the mailbox" not in client.page(page_of(queue))


def test_a_password_that_is_not_typed_stays_until_it_is_removed():
    queue = TicketQueueFactory(with_mailbox=True)
    client = superuser()

    save(client, queue, name="Support")
    queue.refresh_from_db()
    kept = queue.imap_password
    save(client, queue, forget_password="on")

    queue.refresh_from_db()
    assert (kept, queue.imap_password, queue.name) == ("of the mailbox", "", "Support")


def test_another_mailbox_is_read_from_its_beginning():
    queue = TicketQueueFactory(polled=True, imap_validity=7, imap_last_uid=1200)
    client = superuser()

    save(client, queue, name="Support")
    queue.refresh_from_db()
    before = queue.imap_last_uid
    save(client, queue, imap_host="mail.callcentre.example", new_password="of the other mailbox")

    queue.refresh_from_db()
    assert (before, queue.imap_validity, queue.imap_last_uid, queue.polled_at) == (1200, None, 0, None)


def test_the_state_of_the_mailbox_is_shown():
    TicketQueueFactory(polled=True, poll_error="LOGIN failed")
    queue = TicketQueueFactory(polled=True)
    client = superuser()

    assert "not read" in client.page(list_of("ticketqueue"))
    assert "Read at" in client.page(page_of(queue))


def test_opening_hours_are_set_with_their_queue():
    queue = TicketQueueFactory()

    save(
        superuser(),
        queue,
        first_response_minutes="120",
        **{
            "opening_hours-TOTAL_FORMS": "1",
            "opening_hours-0-weekday": "1",
            "opening_hours-0-opens_at": "08:00",
            "opening_hours-0-closes_at": "16:00",
        },
    )

    queue.refresh_from_db()
    assert str(queue.opening_hours.get()) == "Monday 08:00–16:00"
    assert queue.first_response_minutes == 120


def test_a_template_without_a_place_for_the_text_is_refused():
    response = save(superuser(), TicketQueueFactory(), expected=200, template="<p>Hello</p>")

    assert list(errors_of(response)) == ["template"]


@pytest.mark.parametrize(("action", "expected"), [("activate", True), ("deactivate", False)])
def test_queues_are_switched_from_the_list(action, expected):
    queues = [TicketQueueFactory(is_active=not expected), TicketQueueFactory(is_active=expected)]

    response = superuser().act(list_of("ticketqueue"), action, *queues, apply="1")

    assert messages_of(response) == [f"1 queue {action}d."]
    assert set(TicketQueue.objects.values_list("is_active", flat=True)) == {expected}


def test_viewers_cannot_test_or_change_queues():
    queue = TicketQueueFactory(with_mailbox=True)
    client = staff("view_ticketqueue")

    assert "new_password" not in client.page(page_of(queue))
    assert client.post(page_of(queue, "test_connection")).status_code == 403
    assert client.post(page_of(queue), {"name": "Other"}).status_code == 403


# Canned replies and marketplaces


def test_a_canned_reply_is_of_one_queue_or_of_any():
    CannedReplyFactory(name="Thanks", queue=TicketQueueFactory(name="Returns"))
    CannedReplyFactory(name="Sorry")

    page = superuser().page(list_of("cannedreply"))

    assert "Returns" in page
    assert "any queue" in page


def test_the_password_of_a_marketplace_is_never_shown():
    client = superuser()

    client.submit(
        add("marketplace"),
        source="marketplace_message",
        url="https://marketplace.example/replies",
        http_auth_user="us",
        new_password="of the marketplace",
        is_active="on",
    )

    marketplace = Marketplace.objects.get()
    assert marketplace.http_auth_password == "of the marketplace"
    assert "of the marketplace" not in client.page(page_of(marketplace))


def test_the_secret_of_a_marketplace_is_shown_and_replaced():
    marketplace = MarketplaceFactory()
    client, secret = superuser(), marketplace.secret

    shown = client.submit(page_of(marketplace, "show_secret"), expected=200).content.decode()
    client.submit(page_of(marketplace, "new_secret"), expected=200)

    marketplace.refresh_from_db()
    assert secret in shown
    assert secret not in client.page(page_of(marketplace))
    assert marketplace.secret != secret


def test_viewers_see_no_secret():
    marketplace = MarketplaceFactory()

    for page in ("show_secret", "new_secret"):
        assert staff("view_marketplace").post(page_of(marketplace, page)).status_code == 403


def test_only_marketplaces_are_sources_of_marketplaces():
    page = superuser().page(add("marketplace"))

    assert "marketplace_dispute" in page
    assert 'value="email"' not in page


@pytest.mark.parametrize(
    ("model", "factory", "queries"),
    [
        ("ticketstatus", TicketStatusFactory, 5),
        ("customfield", CustomFieldFactory, 5),
        ("ticketqueue", TicketQueueFactory, 5),
        ("cannedreply", CannedReplyFactory, 6),
    ],
)
def test_the_query_counts_of_lists_are_constant(model, factory, queries):
    factory.create_batch(30)
    client = superuser()

    with few_statements(queries):
        client.page(list_of(model))


def test_a_marketplace_keeps_its_source():
    marketplace = MarketplaceFactory()

    superuser().submit(page_of(marketplace), source="marketplace_dispute", url="https://other.example/replies")

    marketplace.refresh_from_db()
    assert (marketplace.source, marketplace.url) == ("marketplace_message", "https://other.example/replies")
