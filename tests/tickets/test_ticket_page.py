"""The page of a ticket: its content, for agents, viewers and other users."""

from datetime import timedelta

import pytest
import redis
from django.urls import reverse
from django.utils import timezone
from redis.backoff import NoBackoff
from redis.retry import Retry

from callcentre.core import redis_client
from tests.backoffice import BackOffice, page_of, staff, superuser
from tests.callcentre.factories import UserFactory
from tests.conftest import ACTOR
from tests.statements import few_statements
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import CustomerFactory, CustomFieldFactory, StoredFileFactory, TicketFactory
from tickets.file_storage import type_of
from tickets.models import CannedReply, Dispatch, Message, StoredFile
from tickets.verbs.merges import merge_tickets
from tickets.verbs.messages import comment_on, receive_message, reply_to
from tickets.verbs.tickets import edit_ticket

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_static")]


def said(ticket, body="<p>Help</p>", **values):
    return Message.objects.create(ticket=ticket, **{"type": "MAIL", "author_name": "Jan", "body": body, **values})


def test_a_conversation_shows_authors_times_and_texts_that_cannot_run():
    ticket = TicketFactory(subject="Broken kettle", response_due_at=timezone.now() - timedelta(hours=3))
    agent = AgentFactory(name="Anna", surname="Nowak")
    said(ticket, "<p>It does not boil</p><script>alert(1)</script>", author_address="jan@client.example")
    said(ticket, "")
    said(ticket, "<b>1 & 2</b> see https://shop.example/a?b=1&c=2.", body_type="PLAIN", quoted="> earlier")
    overdue = superuser().page(page_of(ticket))
    reply_to(ticket, ACTOR, agent_login=agent.login, body="<p>Is it plugged in?</p>")
    comment_on(ticket, ACTOR, agent_login=agent.login, text="He is cross", text_type="PLAIN")

    page = superuser().page(page_of(ticket))

    assert "first response: overdue by 3\xa0hours" in overdue
    for text in ("Broken kettle", "It does not boil", "Is it plugged in?", "Anna Nowak", "internal comment"):
        assert text in page
    assert "New → <strong>Waiting for customer" in page
    assert page.index("He is cross") < page.index("It does not boil")
    # HTML is shown in a frame.
    assert "<script>alert(1)" not in page
    assert 'sandbox="allow-same-origin allow-popups allow-popups-to-escape-sandbox"' in page
    assert "default-src &#x27;none&#x27;" in page
    # Plain text is escaped and gets links, and an empty one says so.
    assert "&lt;b&gt;1 &amp; 2&lt;/b&gt;" in page
    assert 'href="https://shop.example/a?b=1&amp;c=2"' in page
    assert "&gt; earlier" in page
    assert "(no text)" in page


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({"state": "queued"}, "queued"),
        ({"state": "written", "next_attempt_at": None}, "written to a file"),
        ({"state": "sent", "error": "a@x.example: 550", "refused": {"a@x.example": "550"}}, "but not to a@x.example"),
        (
            {
                "state": "queued",
                "attempt_count": 1,
                "error": "451",
                "accepted": ["jan@client.example"],
                "copies": ["b@x"],
            },
            "but not yet to b@x",
        ),
        ({"state": "queued", "attempt_count": 2, "error": "451 busy"}, "451 busy"),
        ({"state": "sent"}, "sent"),
        ({"state": "failed", "error": "550 no such user"}, "550 no such user"),
        ({"state": "failed", "is_unknown": True}, "It is not known whether it arrived"),
        ({"state": "sent", "bounced": True}, "bounced"),
    ],
)
def test_the_state_of_a_sent_message_is_shown(values, shown):
    ticket = TicketFactory()
    message = reply_to(ticket, ACTOR, agent_login=AgentFactory().login, body="<p>Hi</p>")
    may_be_resent = values["state"] == "failed" or bool({"bounced", "attempt_count", "refused"} & values.keys())
    if values.pop("bounced", False):
        values["bounced_at"] = timezone.now()
    Dispatch.objects.filter(message=message).update(**values)

    page = superuser().page(page_of(ticket))

    assert shown in page
    assert ("Send again" in page) == may_be_resent


def test_viewers_see_no_form():
    ticket = TicketFactory(customer=CustomerFactory(surname="Kowalska"))
    said(ticket)

    page = staff("view_ticket").page(page_of(ticket))

    assert "Kowalska" in page
    assert 'name="do"' not in page
    assert staff("view_ticket").post(page_of(ticket), {"do": "take"}).status_code == 403
    assert staff("view_agent").get(page_of(ticket)).status_code == 403


def test_a_user_without_an_agent_sees_why_there_is_no_reply():
    client, ticket = superuser(), TicketFactory()

    page = client.page(page_of(ticket))

    assert "You are no agent" in page
    assert 'value="comment"' in page
    assert 'value="reply"' not in page


def test_a_merged_ticket_links_to_the_target():
    ticket, other = TicketFactory(), TicketFactory()
    merge_tickets(ticket, other, ACTOR)

    page = superuser().page(page_of(ticket))

    assert page_of(other) in page
    assert 'name="do"' not in page


def test_unknown_tickets_are_404_for_people_who_may_see_tickets():
    client = superuser()

    for number in ("999999999", "x", "9" * 30):
        path = reverse("admin:tickets_ticket_change", args=[number])
        assert client.get(path).status_code == 404
        assert staff("view_agent").get(path).status_code == 403


def test_an_attachment_is_downloaded_and_not_shown(own_storage):
    message = said(TicketFactory())
    responses = {}
    for name in ("a.png", "a.svg", "a.html"):
        (own_storage / name).write_bytes(b"<svg/>")
        values = {"content_type": type_of(name), "size": 6, "sha256": "", "path": name, "message": message}
        StoredFile.objects.create(token=name, filename=name, **values)
        responses[name] = superuser().get(reverse("admin:tickets_ticket_file", args=[name]), {"inline": "1"})

    kinds = {name: response["Content-Disposition"].split(";")[0] for name, response in responses.items()}
    assert kinds == {"a.png": "inline", "a.svg": "attachment", "a.html": "attachment"}
    assert all(response["X-Content-Type-Options"] == "nosniff" for response in responses.values())
    assert responses["a.html"]["Content-Type"] == "application/octet-stream"
    assert staff("view_agent").get(reverse("admin:tickets_ticket_file", args=["a.png"])).status_code == 403


@pytest.mark.slow("writes many rows")
def test_the_query_count_of_a_tickets_page_is_constant():
    customer, agent = CustomerFactory(), AgentFactory()
    ticket = TicketFactory(customer=customer, agent=agent, connected_ids=[TicketFactory().pk])
    CustomFieldFactory(name="order")
    for number in range(70):
        CannedReply.objects.create(name=f"Canned {number}", body="<p>Hi</p>")
        TicketFactory(customer=customer)
        message = said(ticket, f"<p>{number}</p>")
        StoredFileFactory(message=message)
        reply_to(ticket, ACTOR, agent_login=agent.login, body="<p>x</p>")
    client = superuser()
    client.page(page_of(ticket))

    with few_statements(28):
        client.page(page_of(ticket))


def test_earlier_messages_are_on_further_pages():
    ticket = TicketFactory()
    start = timezone.now() - timedelta(days=1)
    messages = [said(ticket, f"<p>number-{n}.</p>", created_at=start + timedelta(minutes=n // 2)) for n in range(70)]
    client, path = superuser(), page_of(ticket)

    shown: list[int] = []
    query: dict[str, int] = {}
    while True:
        response = client.get(path, query)
        thread = response.context["thread"]
        shown += [entry.pk for entry in thread.entries]
        if thread.earlier is None:
            break
        query = {"before": thread.earlier}

    assert shown == [message.pk for message in reversed(messages)]


def test_other_visitors_of_the_ticket_are_named():
    ticket = TicketFactory()
    anna, jan = superuser(), superuser()
    user = UserFactory._meta.model.objects.get(pk=anna.session["_auth_user_id"])
    presence = reverse("admin:tickets_ticket_presence", args=[ticket.pk])
    redis_client.client().delete(f"cc:ticket:{ticket.pk}:open")

    anna.post(presence, {"writing": "1"})
    page = jan.page(page_of(ticket))
    told = jan.post(presence, {"writing": "0"}).json()
    anna.post(presence, {"leaving": "1"})

    assert f"{user.username} is writing here." in page
    assert told["visitors"] == [f"{user.username} is writing here."]
    assert jan.post(presence, {"writing": "0"}).json()["visitors"] == []


def test_without_redis_no_visitors_are_named(monkeypatch):
    monkeypatch.setattr(
        redis_client, "client", lambda: redis.Redis(host="127.0.0.1", port=1, retry=Retry(NoBackoff(), 0))
    )
    client, ticket = superuser(), TicketFactory()

    assert client.get(page_of(ticket)).status_code == 200
    assert client.post(page_of(ticket, "presence"), {"writing": "1"}).json()["visitors"] == []


def test_an_open_page_gets_news():
    ticket, client = TicketFactory(), superuser()

    def told(seen):
        return client.post(page_of(ticket, "presence"), {"version": seen.version, "seen": seen.message}).json()["news"]

    first = client.get(page_of(ticket)).context["seen"]
    unchanged = told(first)
    receive_message(ticket, ACTOR, body="<p>And?</p>")
    written = told(first)
    second = client.get(page_of(ticket)).context["seen"]
    edit_ticket(ticket, ACTOR, tags=["a"])
    edited = told(second)

    expected = ("", "1 new entry in the conversation.", "The ticket was changed.")
    assert (unchanged, written, edited) == expected


@pytest.mark.parametrize(("kind", "label"), [("reply", "Send"), ("comment", "Add comment")])
def test_the_button_shows_whether_the_text_is_sent(kind, label):
    agent, ticket = AgentFactory(user=UserFactory(admin=True)), TicketFactory()
    client = BackOffice()
    client.force_login(agent.user)

    response = client.post(page_of(ticket), {"do": "write", "m-kind": kind, "m-body": "", "m-body_type": "PLAIN"})

    assert f">{label}</button>" in response.content.decode()
