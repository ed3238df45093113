"""What operators see of messages that do not leave, and of mailboxes that are not read."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import TicketFactory, TicketQueueFactory
from tickets.models import Dispatch, ReceivedMail, TicketQueue
from tickets.verbs.messages import reply_to

# The probes ask on connections of their own.
pytestmark = pytest.mark.usefixtures("committed_db")


def a_reply() -> Dispatch:
    message = reply_to(TicketFactory(), ACTOR, agent_login=AgentFactory().login, body="<p>Hello</p>")
    return Dispatch.objects.get(message=message)


def test_a_message_that_waits_for_long_is_said_unless_some_have_got_it(client):
    assert client.get("/health/mail").json()["status"] == "ok"
    row = a_reply()
    assert client.get("/health/mail").status_code == 200

    row.queued_at -= timedelta(minutes=20)
    row.save()
    response = client.get("/health/mail")

    assert (response.status_code, response.json()["status"]) == (503, "failed")
    assert response.json()["error"].startswith("A message has waited for 2")
    assert client.get("/health/ready").status_code == 200
    row.accepted = ["eva@client.example"]
    row.save()
    assert client.get("/health/mail").status_code == 200


@pytest.mark.slow("reads all metrics of the process")
def test_messages_that_wait_and_that_failed_are_counted(client):
    a_reply()
    failed = a_reply()
    Dispatch.objects.filter(pk=failed.pk).update(state="failed", next_attempt_at=None)

    text = client.get("/metrics").content.decode()

    assert 'callcentre_messages_waiting{way="mail"} 1.0' in text
    assert 'callcentre_messages_failed{way="mail"} 1.0' in text
    assert 'callcentre_messages_waiting{way="marketplace"} 0.0' in text


def test_the_health_page_does_not_name_an_unread_mailbox(client):
    TicketQueueFactory()
    queue = TicketQueueFactory(imap_host="mail.us.example", read_at=timezone.now())
    assert client.get("/health/mail").status_code == 200

    TicketQueue.objects.filter(pk=queue.pk).update(read_at=timezone.now() - timedelta(minutes=20))
    response = client.get("/health/mail")

    assert response.status_code == 503
    assert response.json()["error"].startswith("A mailbox was not read for 2")
    assert set(response.json()) == {"status", "error"}


@pytest.mark.slow("reads all metrics of the process")
def test_mailboxes_and_the_quarantine_are_measured(client):
    queue = TicketQueueFactory(imap_host="mail.us.example")
    for number, outcome in enumerate(["received", "quarantined", "quarantined", "stored"]):
        ReceivedMail.objects.create(sha256=str(number), size=1, outcome=outcome)

    text = client.get("/metrics").content.decode()

    assert f'callcentre_mailbox_unread_seconds{{queue="{queue.pk}"}}' in text
    assert "callcentre_mails_quarantined 2.0" in text
    assert "callcentre_mails_undecided 1.0" in text
