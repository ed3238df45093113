"""The link in a mail with which a customer rates a reply, and its page."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.conftest import ACTOR
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import TicketFactory, TicketQueueFactory
from tickets.models import Message, Rating, Ticket
from tickets.rating_links import rating_url, token_of
from tickets.verbs.messages import receive_message, reply_to
from webhooks.models import Event

pytestmark = pytest.mark.django_db


@pytest.fixture
def message():
    ticket = TicketFactory(subject="<b>Lamp</b>", queue=TicketQueueFactory(sender_name="Desk", language="pl"))
    return reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="<p>Try again</p>")


@pytest.fixture
def path(message):
    return f"/ratings/{token_of(message)}"


def values() -> list[int]:
    return list(Rating.objects.values_list("value", flat=True))


def test_get_stores_nothing(client, path):
    with few_statements(2):
        page = client.get(f"{path}?value=5", headers={"Accept-Language": "en"})

    assert page.status_code == 200
    assert "Are you satisfied with our answer?" in page.content.decode()
    assert "&lt;b&gt;Lamp&lt;/b&gt;" in page.content.decode()
    assert page["Cache-Control"] == "no-store"
    assert "default-src 'none'" in page["Content-Security-Policy"]
    assert values() == []


def test_rating_is_stored_and_shown_with_its_message(client, api, message, path):
    before = Ticket.objects.get().updated_at

    with few_statements(16):
        answer = client.post(path, {"value": "4"})

    assert answer.status_code == 200
    assert values() == [4]
    ticket = api.get(f"/api/tickets/{message.ticket_id}").json()
    assert [each["ratings"] for each in ticket["messages"]] == [[4]]
    assert Ticket.objects.get().updated_at > before
    assert Event.objects.filter(action="TICKET_UPDATED").count() == 2


def test_rating_can_be_changed_for_a_week(client, message, path):
    client.post(path, {"value": "1"})
    assert 'value="1" required checked' in client.get(path).content.decode()

    client.post(path, {"value": "5"})
    Rating.objects.update(given_at=timezone.now() - timedelta(days=8))
    late = client.post(path, {"value": "2"})

    message.refresh_from_db()
    assert (values(), message.ratings, late.status_code) == ([5], [5], 410)


@pytest.mark.parametrize("value", ["", "0", "6", "x", "05", "5 "])
def test_only_the_five_answers_are_accepted(client, path, value):
    answer = client.post(path, {"value": value}, headers={"Accept-Language": "en"})

    assert (answer.status_code, values()) == (400, [])
    assert 'role="alert"' in answer.content.decode()


def test_forged_link_is_refused(client, message, path, settings):
    other = reply_to(TicketFactory(), ACTOR, agent_login=AgentFactory().login, body="x")
    forged = f"/ratings/{other.pk}.{path.partition('.')[2]}"

    statuses = [
        client.post(each, {"value": "1"}).status_code for each in (forged, f"{path}x", "/ratings/1", "/ratings/x")
    ]

    assert (statuses, values()) == ([404] * 4, [])


def test_link_is_a_full_address_and_stays_valid_after_a_change_of_keys(client, message, path, settings):
    settings.PUBLIC_URL = "https://desk.example"
    assert rating_url(message) == f"https://desk.example/ratings/{token_of(message)}"

    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-key-of-a-test-run-is-no-secret-and-long-enough"
    assert client.post(path, {"value": "3"}).status_code == 200


@pytest.mark.parametrize(
    ("accepted", "language"), [("en-GB,en;q=0.9", "en"), ("pl", "pl"), ("eo, en;q=0.5", "en"), ("eo", "pl"), ("", "pl")]
)
def test_page_is_in_the_language_of_the_browser_or_of_the_queue(client, path, accepted, language):
    page = client.get(path, headers={"Accept-Language": accepted} if accepted else {})

    assert (page["Content-Language"], f'<html lang="{language}">' in page.content.decode()) == (language, True)


def test_old_replies_and_other_messages_cannot_be_rated(client, message, path):
    Message.objects.update(created_at=timezone.now() - timedelta(days=61))
    mail = receive_message(TicketFactory(), ACTOR, body="Help!")

    assert [client.get(path).status_code, client.post(path, {"value": "5"}).status_code] == [410, 410]
    assert client.get(f"/ratings/{token_of(mail)}").status_code == 404
    assert values() == []
