"""The page of the first steps: what each step finds, and the test call."""

from typing import Any

import pytest
from django.urls import reverse

from callcentre.models import User
from callcentre.web import first_steps
from callcentre.web.first_steps import DONE, FAILING, OPEN, STEPS
from telephony.models import Connection
from tests.backoffice import messages_of, staff, superuser
from tests.callcentre.factories import ApiUserFactory, UserFactory
from tests.campaigns.factories import CampaignFactory, RecordFactory
from tests.telephony.factories import AgentFactory, ConnectionFactory, QueueFactory
from tests.tickets.factories import DispatchFactory, TicketQueueFactory
from tests.webhooks.factories import DeliveryFactory, WebhookFactory
from tickets.models import Dispatch, MailboxTest

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]

PAGE = reverse("first-steps")


def states() -> dict[str, str]:
    return {find.__name__.strip("_"): find().state for find in STEPS}


def test_an_empty_installation_has_everything_to_do():
    found = states()

    assert found.pop("switch") == FAILING
    assert set(found.values()) == {OPEN}


def test_each_step_is_done_by_what_is_there(monkeypatch, settings):
    settings.SWITCH_BACKEND = "asterisk"
    monkeypatch.setattr(first_steps, "is_connected", lambda: True)
    UserFactory(is_staff=True)
    agent = AgentFactory(number="101")
    QueueFactory().members.create(agent=agent, priority=1)
    ConnectionFactory(state="ended", disposition="ANSWERED")
    queue = TicketQueueFactory(imap_host="mail.example")
    MailboxTest.objects.create(queue=queue, asked_by="a", asked_at=queue.created_at, finished_at=queue.created_at)
    DispatchFactory(state="sent")
    campaign = CampaignFactory()
    campaign.agents.add(agent)
    RecordFactory(campaign=campaign)
    ApiUserFactory(last_used_at=queue.created_at)
    DeliveryFactory(webhook=WebhookFactory(), state="succeeded")

    assert set(states().values()) == {DONE}
    assert "10 of 10 steps are done" in superuser().get(PAGE).content.decode()


def test_what_fails_is_said():
    queue = TicketQueueFactory(imap_host="mail.example")
    MailboxTest.objects.create(
        queue=queue, asked_by="a", asked_at=queue.created_at, finished_at=queue.created_at, error="refused"
    )
    ConnectionFactory(state="ended", disposition="FAILED")
    DispatchFactory(state="failed")
    DeliveryFactory(webhook=WebhookFactory(), state="failed")

    found = states()

    assert [found[name] for name in ("mailbox", "test_call", "test_mail", "test_event")] == [FAILING] * 4


def test_a_test_call_is_placed():
    agent = AgentFactory(number="101")
    client = superuser()

    response = client.post(PAGE, {"test": "call", "agent": agent.pk, "number": "22 555 01 07"})

    call = Connection.objects.get()
    assert response["Location"] == PAGE
    assert (call.agent, call.dst_number) == (agent, "+48225550107")
    assert "The phone of" in messages_of(client.get(PAGE))[0]


@pytest.mark.parametrize(("number", "address"), [("", ""), ("nonsense", "nonsense"), ("abc", "a@b@c.example")])
def test_a_test_call_to_no_number_and_a_test_mail_to_no_address_are_refused(number, address):
    client, agent, queue = superuser(), AgentFactory(number="101"), TicketQueueFactory()

    call = client.post(PAGE, {"test": "call", "agent": agent.pk, "number": number})
    mail = client.post(PAGE, {"test": "mail", "recipient": address, "queue": queue.pk})

    assert _form_of(call, "call").errors["number"]
    assert _form_of(mail, "mail").errors["recipient"]
    assert not Connection.objects.exists()
    assert not Dispatch.objects.exists()


def test_a_test_mail_needs_a_ticket_queue_and_goes_to_the_person_by_default():
    client = superuser()
    User.objects.update(email="boss@firm.example")

    assert _form_of(client.get(PAGE), "mail") is None
    TicketQueueFactory()
    assert _form_of(client.get(PAGE), "mail")["recipient"].value() == "boss@firm.example"


def test_a_test_mail_goes_out_as_a_reply_of_a_ticket_does():
    TicketQueueFactory()
    queue = TicketQueueFactory(name="Complaints")
    client = superuser()

    response = client.post(PAGE, {"test": "mail", "recipient": "boss@firm.example", "queue": queue.pk})

    sent = Dispatch.objects.select_related("message__ticket").get()
    assert response["Location"] == PAGE
    assert (sent.recipients, sent.state, sent.source) == (["boss@firm.example"], "queued", "email")
    assert (sent.message.ticket.queue, sent.message.ticket.customer) == (queue, None)
    assert str(sent.message.ticket.pk) in sent.message.body
    page = client.get(PAGE)
    assert "waits to be sent" in messages_of(page)[0]
    assert page.content.decode().count("waits to be sent") == 1
    assert "The last mail, to boss@firm.example: queued." in page.content.decode()


def _form_of(response: Any, name: str) -> Any:
    return {step.form: form for step, form in response.context["steps"]}.get(name)


def test_only_superusers_see_the_page():
    assert staff("add_agent", "add_queue").get(PAGE).status_code == 403
    assert staff().post(PAGE, {}).status_code == 403
