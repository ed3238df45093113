"""The timeline on the page of a customer, and calls, mails and tickets from there."""

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse
from django.utils import timezone

from callcentre.models import User
from campaigns.models import Attempt
from telephony.models import Connection
from tests.backoffice import BackOffice, errors_of, inputs_of, messages_of, page_of, staff, superuser
from tests.campaigns.factories import CampaignFactory
from tests.telephony.factories import AgentFactory, RecordingFactory, TranscriptionFactory
from tests.tickets.factories import CustomerFactory, TicketQueueFactory
from tests.tickets.test_timeline_api import attempt_of, call_of, chat_of, note_of, rating_of, ticket_of
from tickets.admin import customer_pages
from tickets.models import Customer, Dispatch, Message, Ticket
from webhooks.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def timeline(client: BackOffice, customer: Customer, **query: Any) -> list[str]:
    """Return the kinds of the entries on the page."""
    return [kind.name for kind, _entry in client.values(page_of(customer), **query)["timeline"]]


def complete_customer() -> Customer:
    customer: Customer = CustomerFactory(email="jan@client.example", phone_numbers=["+48225550101"])
    at = timezone.now() - timedelta(days=1)
    note_of(customer, at, message="Calls in the morning.")
    ticket = ticket_of(customer, at + timedelta(minutes=1), subject="Where is my parcel?")
    chat_of(customer, at + timedelta(minutes=2))
    call = call_of(customer, at + timedelta(minutes=3))
    RecordingFactory(connection=call, ready=True)
    TranscriptionFactory(connection=call, finished=True)
    attempt_of(customer, at + timedelta(minutes=4), campaign=CampaignFactory(name="Autumn sale"))
    rating_of(ticket, at + timedelta(minutes=5), value=4)
    return customer


def agent_of(client: BackOffice, **values: Any) -> Any:
    return AgentFactory(user=User.objects.get(pk=client.session["_auth_user_id"]), **values)


def test_the_page_shows_entries_of_all_kinds_newest_first():
    customer, client = complete_customer(), superuser()

    assert timeline(client, customer) == ["rating", "attempt", "call", "chat", "ticket", "note"]
    page = unescape(client.page(page_of(customer)))
    for text in (
        "Calls in the morning.",
        "Where is my parcel?",
        "Autumn sale",
        "★★★★☆",
        "A question about an invoice.",
    ):
        assert text in page
    assert "<audio" in page
    # Links for a user who is no agent.
    assert 'href="tel:+48225550101"' in page
    assert 'href="mailto:jan@client.example"' in page
    # Recordings and summaries need their own permissions.
    page = staff("view_customer", "view_connection").page(page_of(customer))
    assert "<audio" not in page
    assert "A question about an invoice." not in page


@pytest.mark.parametrize(
    ("right", "seen"),
    [
        ("view_ticket", ["ticket", "note"]),
        ("view_chat", ["chat", "note"]),
        ("view_rating", ["rating", "note"]),
        ("view_connection", ["call", "call", "note"]),
        ("view_agent", ["note"]),
    ],
)
def test_a_kind_needs_the_permission_to_view_its_rows(right, seen):
    assert timeline(staff("view_customer", right), complete_customer()) == seen


def test_attempts_need_the_permission_to_view_attempts_of_campaigns():
    customer, client = complete_customer(), staff("view_customer")
    user = User.objects.get(pk=client.session["_auth_user_id"])
    user.user_permissions.add(Permission.objects.get(codename="view_attempt", content_type__app_label="campaigns"))

    assert timeline(client, customer) == ["attempt", "note"]


def test_a_kind_can_be_chosen_and_an_address_that_makes_no_sense_shows_the_newest_entries():
    customer, client = complete_customer(), superuser()

    assert timeline(client, customer, kind="chat") == ["chat"]
    assert timeline(staff("view_customer"), customer, kind="chat") == ["note"]
    for query in ({"kind": "film"}, {"before": "film"}, {"before": "1.film.2"}):
        assert len(timeline(client, customer, **query)) == 6


def test_older_entries_follow_on_further_pages(monkeypatch):
    monkeypatch.setattr(customer_pages, "PER_PAGE", 4)
    customer, client = complete_customer(), superuser()
    path = page_of(customer)

    first = client.values(path)
    second = client.values(f"{path}{first['timeline_older'].removesuffix('#timeline')}")

    assert [kind.name for kind, _entry in second["timeline"]] == ["ticket", "note"]
    assert (first["timeline_newest"], second["timeline_older"]) == ("", "")
    assert client.values(f"{path}{second['timeline_newest'].removesuffix('#timeline')}")["timeline_older"]


def test_an_agent_calls_a_number_from_the_page():
    customer, client = complete_customer(), staff("view_customer")
    agent = agent_of(client, number="101")
    number = customer.numbers.get()
    assert f'name="number" value="{number.pk}"' in client.page(page_of(customer))

    path = reverse("admin:tickets_customer_call", args=[customer.pk])
    response: Any = client.post(path, {"number": number.pk}, follow=True)

    assert response.redirect_chain[-1][0] == page_of(customer)
    assert any("101" in said and "+48225550101" in said for said in messages_of(response))
    call = Connection.objects.latest("id")
    assert (call.agent, call.src, call.dst, call.customer_id) == (agent, "101", "+48225550101", customer.pk)
    assert (call.direction, call.state) == ("OUTBOUND", "queued")


def test_an_agent_calls_only_numbers_of_the_customer_and_sees_the_customer():
    customer, other, client = complete_customer(), CustomerFactory(phone_numbers=["+48225550102"]), superuser()
    agent_of(client, number="101")
    path = reverse("admin:tickets_customer_call", args=[customer.pk])

    for number in (other.numbers.get().pk, "x", ""):
        assert client.post(path, {"number": number}).status_code == 404
    assert client.get(path).status_code == 403
    stranger = staff("view_ticket")
    agent_of(stranger, number="102")
    assert stranger.post(path, {"number": customer.numbers.get().pk}).status_code == 403


@pytest.mark.parametrize("values", [None, {"number": ""}, {"is_active": False, "number": "101"}])
def test_a_user_without_a_phone_cannot_call(values):
    customer, client = complete_customer(), superuser()
    if values is not None:
        agent_of(client, **values)

    path = reverse("admin:tickets_customer_call", args=[customer.pk])

    assert client.post(path, {"number": customer.numbers.get().pk}).status_code == 403
    assert path not in client.page(page_of(customer))


def test_an_agent_writes_to_a_customer():
    customer, client = complete_customer(), superuser()
    agent = agent_of(client, name="Anna", surname="Nowak")
    queue = TicketQueueFactory()
    path = reverse("admin:tickets_customer_write", args=[customer.pk])
    Event.objects.all().delete()

    sent = client.submit(path, subject="Your parcel", body="It comes tomorrow.", queue=queue.pk)

    ticket = Ticket.objects.latest("id")
    assert sent.url == page_of(ticket)
    assert (ticket.subject, ticket.customer, ticket.queue, ticket.agent) == ("Your parcel", customer, queue, agent)
    assert ticket.status.kind == "waiting_for_customer"
    message = ticket.messages.get()
    assert (message.type, message.body, message.agent) == (Message.Type.REPLY, "It comes tomorrow.", agent)
    assert Dispatch.objects.get().recipients == ["jan@client.example"]
    assert ticket.response_due_at is None
    actions = list(Event.objects.order_by("id").values_list("action", flat=True))
    assert actions == ["TICKET_CREATED", "TICKET_AGENT_RESPONDED", "TICKET_UPDATED"]


def test_a_mail_without_text_is_refused_and_opens_no_ticket():
    customer, client = complete_customer(), superuser()
    agent_of(client)
    before = Ticket.objects.count()

    write = reverse("admin:tickets_customer_write", args=[customer.pk])
    answer = client.submit(write, expected=200, subject="Your parcel", body=" ")

    assert errors_of(answer)
    without_address = reverse("admin:tickets_customer_write", args=[CustomerFactory().pk])
    assert client.get(without_address).status_code == 404
    assert Ticket.objects.count() == before


def test_a_new_ticket_begins_with_the_customer_and_the_address():
    customer, client = complete_customer(), superuser()
    path = client.values(page_of(customer))["new_ticket_url"]

    given = inputs_of(client.page(path))

    assert (given["customer"], given["sender"]) == (str(customer.pk), "jan@client.example")
    assert "sender" in inputs_of(client.page(f"{reverse('admin:tickets_ticket_add')}?customer=film"))


def test_the_result_of_an_attempt_and_its_record_are_shown():
    campaign, customer = CampaignFactory(name="Autumn sale"), CustomerFactory()
    status = campaign.statuses.order_by("id").last()
    attempt: Attempt = attempt_of(
        customer, timezone.now(), campaign=campaign, result={"values": {"status_id": status.pk, "last_note": "In May."}}
    )

    page = superuser().page(page_of(customer))

    assert "In May." in page
    assert status.name in page
    assert reverse("admin:campaigns_record_change", args=[attempt.record_id]) in page
