"""The settings of tickets: statuses, categories, custom fields, companies, queues, replies, marketplaces."""

import pytest
from django.urls import reverse

from callcentre.core.encryption import decrypt
from tests.backoffice import errors_of, inputs_of, page_of, staff, superuser
from tests.tickets.factories import (
    CannedReplyFactory,
    CustomerFactory,
    CustomFieldFactory,
    MarketplaceFactory,
    TicketFactory,
    TicketQueueFactory,
    TicketStatusFactory,
)
from tickets.models import Company, CustomField, Marketplace, TicketStatus

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def list_of(model):
    return reverse(f"admin:tickets_{model}_changelist")


def add(model):
    return reverse(f"admin:tickets_{model}_add")


def raw(row, column):
    """Return the row as stored."""
    return type(row).objects.extra(select={"raw": column}).get(pk=row.pk).raw


def test_a_status_is_deleted_unless_it_is_used_or_the_last_of_its_kind():
    last, further, used = TicketStatus.objects.get(kind="new"), TicketStatusFactory(kind="new"), TicketStatusFactory()
    ticket, client = TicketFactory(status=used), superuser()

    client.post(page_of(further, "delete"), {"post": "yes"})
    refused = client.post(page_of(used, "delete"), {"post": "yes"})

    assert client.post(page_of(last, "delete"), {"post": "yes"}).status_code == 403
    assert str(ticket) in refused.content.decode()
    assert set(TicketStatus.objects.filter(pk__in=[last.pk, further.pk, used.pk])) == {last, used}


def test_sub_statuses_are_on_the_page_of_their_status_and_stay_while_they_are_used():
    status, client = TicketStatus.objects.get(kind="closed"), superuser()

    added = {"substatuses-0-name": "Refused", "substatuses-0-order": "1"}
    client.submit(page_of(status), **{"substatuses-TOTAL_FORMS": "1", **added})
    TicketFactory(status=status, substatus=status.substatuses.get())
    client.submit(page_of(status), expected=200, **{"substatuses-0-DELETE": "on"})

    assert status.substatuses.get().name == "Refused"


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


@pytest.mark.parametrize(("owner", "factory"), [("ticket", TicketFactory), ("customer", CustomerFactory)])
def test_a_field_that_has_values_keeps_its_type(owner, factory):
    field = CustomFieldFactory(owner=owner)
    factory(custom_fields={str(field.pk): "12"})

    response = superuser().submit(page_of(field), expected=200, type="number")

    assert errors_of(response) == {"type": ["The field has values: its type stays. Add another field instead."]}
    field.refresh_from_db()
    assert field.type == "text"


def test_a_field_without_values_gets_another_type_and_is_not_deleted():
    field, client = CustomFieldFactory(), superuser()
    TicketFactory(custom_fields={str(field.pk + 1): "12"})

    client.submit(page_of(field), type="number", name="points")

    field.refresh_from_db()
    assert (field.type, field.name) == ("number", "points")
    twin = client.submit(add("customfield"), expected=200, owner="ticket", name="points", type="text")
    assert errors_of(twin) == {"": ["Another field has this name."]}
    assert client.post(page_of(field, "delete"), {"post": "yes"}).status_code == 403


def test_a_company_is_added_renamed_and_found():
    client = superuser()

    client.submit(add("company"), name="Akme")
    company = Company.objects.get()
    client.submit(page_of(company), name="Acme 100% Ltd")
    CustomerFactory.create_batch(3, company=company)

    assert page_of(company) in client.page(list_of("company"), q="e 100%")
    assert page_of(company) not in client.page(list_of("company"), q="e 100_")
    assert ">3<" in client.page(list_of("company"))


# Ticket queues


def save(client, queue, **changes):
    """Return the inputs of the queue's form. The page has another input with the name of one: its language."""
    return client.submit(page_of(queue), language="en", **changes)


def test_the_password_of_a_mailbox_is_kept_encrypted_and_never_shown_until_it_is_removed():
    queue, client = TicketQueueFactory(imap_host="imap.callcentre.example"), superuser()

    save(client, queue, new_password="of the mailbox", imap_user="support")
    stored = raw(queue, "imap_password")
    save(client, queue, name="Support")
    queue.refresh_from_db()
    page = client.page(page_of(queue))
    assert (queue.imap_password, queue.name) == ("of the mailbox", "Support")
    save(client, queue, forget_password="on")

    queue.refresh_from_db()
    assert decrypt(stored.encode()) == b"of the mailbox"
    assert "of the mailbox" not in page
    assert queue.imap_password == ""


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


# Canned replies and marketplaces


def test_a_canned_reply_is_of_one_queue_or_of_any():
    CannedReplyFactory(name="Thanks", queue=TicketQueueFactory(name="Returns"))
    CannedReplyFactory(name="Sorry")

    page = superuser().page(list_of("cannedreply"))

    assert "Returns" in page
    assert "any queue" in page


def test_a_marketplace_keeps_its_source_and_never_shows_its_password():
    client, url = superuser(), "https://marketplace.example/replies"
    values = {"http_auth_user": "us", "new_password": "of the marketplace", "is_active": "on"}

    form = client.page(add("marketplace"))
    client.submit(add("marketplace"), source="marketplace_message", url=url, **values)
    marketplace = Marketplace.objects.get()
    client.submit(page_of(marketplace), source="marketplace_dispute", is_active=None)

    marketplace.refresh_from_db()
    assert (marketplace.source, marketplace.url, marketplace.is_active) == ("marketplace_message", url, False)
    assert marketplace.http_auth_password == "of the marketplace"
    assert "of the marketplace" not in client.page(page_of(marketplace))
    # Only marketplaces are sources.
    assert "marketplace_dispute" in form
    assert 'value="email"' not in form


def test_the_secret_of_a_marketplace_is_shown_and_replaced():
    marketplace = MarketplaceFactory()
    client, viewer, secret = superuser(), staff("view_marketplace"), marketplace.secret

    shown = client.submit(page_of(marketplace, "show_secret"), expected=200).content.decode()
    client.submit(page_of(marketplace, "new_secret"), expected=200)

    marketplace.refresh_from_db()
    assert secret in shown
    assert secret not in client.page(page_of(marketplace))
    assert marketplace.secret != secret
    assert {viewer.post(page_of(marketplace, page)).status_code for page in ("show_secret", "new_secret")} == {403}
