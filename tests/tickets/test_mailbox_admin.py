"""Mailboxes in the admin: a stored password goes to no other server, and a worker makes the tests."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.backoffice import BackOffice, errors_of, page_of, staff, superuser
from tests.tickets.factories import MailboxTestFactory, MarketplaceFactory, TicketQueueFactory
from tests.tickets.imap_server import Mailbox, local_mailboxes, queue_of, serving  # noqa: F401  (a fixture)
from tickets.models import MailboxTest, Marketplace, TicketQueue
from tickets.tasks import test_mailbox as made_by_worker

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]
AGAIN = "Enter the password again: it would be sent to another server."


def save(client: BackOffice, queue: TicketQueue, **changes: Any) -> Any:
    """Return the inputs of the queue's form. The page has another input with the name of one: its language."""
    return client.submit(page_of(queue), language="en", **changes)


def progress_of(queue: TicketQueue) -> str:
    return reverse("admin:tickets_ticketqueue_test_progress", args=[queue.pk])


# Another server


@pytest.mark.parametrize(
    "change",
    [
        {"imap_host": "evil.example"},
        {"imap_port": "1993"},
        {"imap_uses_tls": None},
        {"imap_uses_tls": None, "imap_allows_plain": "on"},
        {"imap_host": "evil.example", "imap_user": "evil", "name": "Evil"},
    ],
)
def test_another_server_needs_the_password_again(change):
    queue = TicketQueueFactory(with_mailbox=True)
    before = TicketQueue.objects.filter(pk=queue.pk).values().get()

    response = save(superuser(), queue, expected=200, **change)

    assert errors_of(response) == {"new_password": [AGAIN]}
    assert TicketQueue.objects.filter(pk=queue.pk).values().get() == before


def test_a_page_that_claims_to_have_shown_the_other_server_changes_nothing():
    queue = TicketQueueFactory(with_mailbox=True)

    save(superuser(), queue, imap_host="evil.example", **{"initial-imap_host": "evil.example"})

    queue.refresh_from_db()
    assert queue.imap_host == "imap.callcentre.example"


def test_another_server_gets_the_password_that_was_entered_for_it_or_none():
    client, queues = superuser(), TicketQueueFactory.create_batch(3, with_mailbox=True)
    queues.append(TicketQueueFactory(with_mailbox=True, imap_password=""))

    save(client, queues[0], imap_host="other.example", new_password="of the other")
    save(client, queues[1], imap_host="other.example", forget_password="on")
    save(client, queues[2], imap_user="other", imap_folder="Other", name="Other")
    save(client, queues[3], imap_host="other.example")

    assert [TicketQueue.objects.values_list("imap_host", "imap_password").get(pk=queue.pk) for queue in queues] == [
        ("other.example", "of the other"),
        ("other.example", ""),
        ("imap.callcentre.example", "of the mailbox"),
        ("other.example", ""),
    ]


def test_tls_and_no_encryption_exclude_each_other():
    queue = TicketQueueFactory()

    response = save(superuser(), queue, expected=200, imap_allows_plain="on")

    assert errors_of(response) == {"imap_allows_plain": ["Choose TLS or no encryption, not both."]}


def test_another_address_of_a_marketplace_needs_its_password_again():
    marketplace = MarketplaceFactory(http_auth_user="us", http_auth_password="of the marketplace")
    client, page = superuser(), page_of(marketplace)

    response = client.submit(page, expected=200, url="https://evil.example/replies")
    client.submit(page, url="https://other.example/replies", new_password="of the other")

    assert errors_of(response) == {"new_password": [AGAIN]}
    kept = Marketplace.objects.get()
    assert (kept.url, kept.http_auth_password) == ("https://other.example/replies", "of the other")


# Tests


def test_a_test_is_made_by_a_worker_and_its_page_follows_it():
    with serving(Mailbox(tls=None)) as box:
        box.add(b"From: a@b.example\n\nx")
        queue = queue_of(box)
        client, page = superuser(), page_of(queue, "test_connection")

        assert client.submit(page)["Location"] == page
        waiting, asked = client.page(page), client.get(progress_of(queue)).json()
        assert box.connections == 0
        made_by_worker(queue.pk)
        done, answered = client.page(page), client.get(progress_of(queue)).json()

    assert progress_of(queue) in waiting
    assert (asked, answered) == ({"has_ended": False}, {"has_ended": True})
    assert "It works. Mails in the folder: 1, unread: 1." in done
    assert progress_of(queue) not in done


def test_a_failed_test_says_why():
    queue = TicketQueueFactory(with_mailbox=True, imap_host="127.0.0.1", imap_port=1)
    client = superuser()

    client.submit(page_of(queue, "test_connection"))
    made_by_worker(queue.pk)

    assert "No connection: the server cannot be reached" in client.page(page_of(queue, "test_connection"))


def test_a_test_that_lost_its_worker_can_be_made_again():
    long_ago = timezone.now() - timedelta(minutes=5)
    test = MailboxTestFactory(asked_at=long_ago, started_at=long_ago)
    client, page = superuser(), page_of(test.queue, "test_connection")

    assert "No worker finished the test." in client.page(page)
    client.submit(page)

    test.refresh_from_db()
    assert (test.started_at, test.has_ended) == (None, False)


@pytest.mark.parametrize(
    ("change", "is_kept"),
    [({"name": "Other"}, True), ({"imap_folder": "Other"}, False), ({"new_password": "x"}, False)],
)
def test_the_result_of_other_settings_is_not_shown(change, is_kept):
    test = MailboxTestFactory(finished_at=timezone.now(), mail_count=1, unseen_count=0)

    save(superuser(), test.queue, **change)

    assert MailboxTest.objects.exists() is is_kept


def test_viewers_cannot_test_a_mailbox():
    queue, client = TicketQueueFactory(with_mailbox=True), staff("view_ticketqueue")

    assert client.get(page_of(queue, "test_connection")).status_code == 403
    assert client.post(page_of(queue, "test_connection")).status_code == 403
    assert client.get(progress_of(queue)).status_code == 403
    assert not MailboxTest.objects.exists()
