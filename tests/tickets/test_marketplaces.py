"""Replies to the endpoint of a marketplace: a real receiver on a socket, with each of its answers."""

import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone
from standardwebhooks import Webhook as Verifier

from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import CustomFieldFactory, TicketFactory, TicketQueueFactory
from tests.tickets.mail_servers import due_now
from tests.webhooks.receivers import Peer, Receiver, always, receiver, silent
from tickets.mail import marketplaces
from tickets.mail.dispatcher import dispatch
from tickets.models import Dispatch, Marketplace, Ticket
from tickets.verbs.dispatches import resend
from tickets.verbs.messages import reply_to
from webhooks.transport.sender import Sender

pytestmark = pytest.mark.django_db
SOURCE = "marketplace_message"


@pytest.fixture(autouse=True)
def _local(settings, monkeypatch):
    settings.WEBHOOK_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    monkeypatch.setattr(marketplaces, "sender", Sender(timeout=60))


def at(running: Receiver, **values: Any) -> Marketplace:
    return Marketplace.objects.create(source=SOURCE, url=running.url, **values)


def a_reply(ticket: Ticket | None = None) -> Dispatch:
    ticket = ticket or TicketFactory(source=SOURCE, sender="buyer-17")
    agent = AgentFactory()
    message = reply_to(ticket, ACTOR, agent_login=agent.login, body="It is on its way.", body_type="PLAIN")
    return Dispatch.objects.get(message=message)


def sent(row: Dispatch) -> Dispatch:
    dispatch(row.pk)
    row.refresh_from_db()
    return row


def outcome(row: Dispatch) -> tuple[str, bool, str]:
    return row.state, row.is_unknown, row.error


def test_a_reply_reaches_the_marketplace_signed(api):
    field = CustomFieldFactory(name="order_number")
    ticket = TicketFactory(source=SOURCE, sender="buyer-17", custom_fields={str(field.pk): "A-1"})
    agent = AgentFactory()
    with receiver(always(204, b"")) as running:
        endpoint = at(running, http_auth_user="desk", http_auth_password="pass")
        answer = api.post(
            f"/api/tickets/{ticket.pk}/agent_response",
            {"body": "It is on its way.", "body_type": "PLAIN", "user_login": agent.login},
        )
        row = sent(Dispatch.objects.get())

    (request,) = running.requests
    assert (answer.status_code, answer.json(), outcome(row)) == (201, [], ("sent", False, ""))
    payload = Verifier(endpoint.secret).verify(request.body, dict(request.headers))
    assert payload == {
        "ticket_id": str(ticket.pk),
        "message_id": row.message_id,
        "source": SOURCE,
        "from": "buyer-17",
        "subject": ticket.subject,
        "customer_id": None,
        "user_login": agent.login,
        "created_at": timezone.localtime(row.message.created_at).strftime("%Y-%m-%d %H:%M"),
        "body": "It is on its way.",
        "attachments": [],
        "custom_fields": {"order_number": "A-1"},
    }
    assert request.headers["authorization"] == "Basic ZGVzazpwYXNz"


def test_a_customers_message_comes_in_by_the_api(api):
    TicketQueueFactory()
    opened = api.post("/api/tickets", {"subject": "S", "body": "Where is it?", "from": "buyer-17", "source": SOURCE})
    ticket_id = opened.json()["ticket_id"]

    answer = api.post(f"/api/tickets/{ticket_id}/customer_response", {"body": "Still waiting", "body_type": "PLAIN"})

    assert answer.status_code == 204
    ticket = api.get(f"/api/tickets/{ticket_id}").json()
    assert (ticket["source"], [message["type"] for message in ticket["messages"]]) == (SOURCE, ["MAIL", "MAIL"])


@pytest.mark.parametrize(
    ("status", "state"),
    [(400, "failed"), (404, "failed"), (302, "failed"), (429, "queued"), (408, "queued"), (500, "queued")],
)
def test_the_answer_of_a_marketplace_decides(status, state):
    with receiver(always(status, b"reason")) as running:
        at(running)
        row = sent(a_reply())

    assert outcome(row) == (state, False, f"HTTP {status} reason")
    assert len(running.requests) == 1


def test_a_marketplace_can_ask_for_a_later_attempt_with_the_same_id():
    with receiver(always(503, Retry_After="7200")) as running:
        at(running)
        row = sent(a_reply())
        assert row.next_attempt_at is not None
        assert (row.next_attempt_at - timezone.now()).total_seconds() > 7000
        Dispatch.objects.update(next_attempt_at=timezone.now())
        sent(row)

    assert len({request.headers["webhook-id"] for request in running.requests}) == 1
    assert [json.loads(request.body) for request in running.requests] == [json.loads(running.requests[0].body)] * 2


def hangs_up(peer: Peer) -> None:
    peer.request()


@pytest.mark.parametrize("behaviour", [hangs_up, silent])
def test_a_marketplace_that_does_not_answer_leaves_the_outcome_unknown(behaviour, monkeypatch):
    monkeypatch.setattr(marketplaces, "sender", Sender(timeout=3))
    with receiver(behaviour) as running:
        at(running)
        row = sent(a_reply())

    assert (row.state, row.is_unknown) == ("failed", True)
    assert row.error.startswith("outcome unknown: ")
    assert behaviour is hangs_up or row.error == "outcome unknown: timeout"
    assert due_now() == []


def test_an_unreachable_marketplace_is_retried():
    with receiver(always()) as running:
        at(running)
    row = sent(a_reply())

    assert outcome(row) == ("queued", False, "refused")


def test_a_marketplace_inside_our_network_is_sent_nothing(settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    with receiver(always()) as running:
        at(running)
        row = sent(a_reply())

    assert outcome(row) == ("queued", False, "forbidden address")
    assert not running.connections


def test_replies_wait_until_their_marketplace_is_configured():
    row = sent(a_reply())

    assert outcome(row) == ("queued", False, "there is no active endpoint for marketplace_message")

    with receiver(always()) as running:
        at(running)
        resend(row, ACTOR)
        assert outcome(sent(row)) == ("sent", False, "")


def test_a_reply_of_a_merged_ticket_is_still_sent():
    row = a_reply()
    row.message.ticket = TicketFactory(source="email")
    row.message.save()
    with receiver(always()) as running:
        at(running)
        sent(row)

    assert (row.state, len(running.requests)) == ("sent", 1)


@pytest.mark.parametrize("url", ["ftp://a.example/x", "http://10.0.0.1/x", "http://user:pass@a.example/"])
def test_an_endpoint_must_be_an_allowed_address(settings, url):
    settings.WEBHOOK_ALLOWED_NETWORKS = []

    with pytest.raises(ValidationError) as refusal:
        Marketplace(source=SOURCE, url=url).full_clean()

    assert list(refusal.value.message_dict) == ["url"]
