"""The monitoring of mailboxes that are not read."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from tests.tickets.factories import TicketQueueFactory
from tickets.models import ReceivedMail, TicketQueue

# The probes use connections of their own.
pytestmark = pytest.mark.usefixtures("committed_db")


def test_the_health_page_does_not_name_an_unread_mailbox(client: Client) -> None:
    TicketQueueFactory()
    queue = TicketQueueFactory(imap_host="mail.us.example", read_at=timezone.now())
    assert client.get("/health/mail").status_code == 200

    TicketQueue.objects.filter(pk=queue.pk).update(read_at=timezone.now() - timedelta(minutes=20))
    response = client.get("/health/mail")

    assert response.status_code == 503
    assert response.json()["error"].startswith("A mailbox was not read for 2")
    assert set(response.json()) == {"status", "error"}


def test_mailboxes_and_the_quarantine_are_measured(client: Client) -> None:
    queue = TicketQueueFactory(imap_host="mail.us.example")
    for number, outcome in enumerate(["received", "quarantined", "quarantined", "stored"]):
        ReceivedMail.objects.create(sha256=str(number), size=1, outcome=outcome)

    text = client.get("/metrics").content.decode()

    assert f'callcentre_mailbox_unread_seconds{{queue="{queue.pk}"}}' in text
    assert "callcentre_mails_quarantined 2.0" in text
    assert "callcentre_mails_undecided 1.0" in text
