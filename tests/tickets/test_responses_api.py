"""The API of comments, agent responses, customer responses and notes: valid and refused values of each field."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from time_machine import travel

from callcentre.models import ApiUser
from tests.conftest import ApiClient
from tests.contract import faults
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import CustomerFactory, MessageFactory, StoredFileFactory, TicketFactory
from tickets.models import CustomerNote, Dispatch, Message, Source, StoredFile, Ticket, TicketStatus, TicketSubstatus
from webhooks.models import Event

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 7, 1, 10, 0, 30, tzinfo=UTC)  # 12:00 on the wall
BORN = NOW - timedelta(days=1)
KINDS = TicketStatus.Kind


@pytest.fixture(autouse=True)
def _noon():
    with travel(NOW, tick=False):
        yield


@pytest.fixture
def anna(db):
    return AgentFactory(login="anna", name="Anna", surname="Nowak")


def post(api: ApiClient, ticket: Ticket, action: str, **body: Any) -> Any:
    return api.post(f"/api/tickets/{ticket.pk}/{action}", body)


def ticket_of_kind(kind: str, **values: Any) -> Ticket:
    ticket: Ticket = TicketFactory(status=TicketStatus.objects.get(kind=kind), created_at=BORN, **values)
    return ticket


TEXTS = [
    ({}, [(100001, "TEXT")]),
    ({"TEXT": "  \n "}, [(100001, "TEXT")]),
    ({"TEXT": "<p> </p>"}, [(100001, "TEXT")]),
    ({"TEXT": "<script>alert(1)</script>"}, [(100001, "TEXT")]),
    ({"TEXT": ["x"]}, [(100002, "TEXT")]),
    ({"TEXT": "a\0b"}, [(100016, "TEXT")]),
    ({"TEXT": "x" * 2_000_001}, [(100003, "TEXT")]),
    ({"TEXT": "x", "TYPE": "MARKDOWN"}, [(100011, "TYPE")]),
]
AUTHORS = [
    ({"TEXT": "x", "user_login": ""}, [(100001, "user_login")]),
    ({"TEXT": "x", "user_login": "nobody"}, [(110001, "user_login")]),
    ({"TEXT": "x", "user_login": "left"}, [(110001, "user_login")]),
    ({"TEXT": "x", "user_login": "ANNA"}, [(110001, "user_login")]),
]
DATES = [
    ({"TEXT": "x", "date": "now"}, [(100009, "date")]),
    ({"TEXT": "x", "date": "2026-07-01T10:00"}, [(100009, "date")]),
    ({"TEXT": "x", "date": "2026-06-30 11:59"}, [(150002, "date")]),
    ({"TEXT": "x", "date": "2036-07-01"}, [(150002, "date")]),
]
ATTACHMENTS = [
    ({"TEXT": "x", "attachments": "t"}, [(100013, "attachments")]),
    ({"TEXT": "x", "attachments": [1, {}]}, [(100002, "attachments.1"), (152001, "attachments.0")]),
    (
        {"TEXT": "x", "attachments": ["", {}, "mine", "t"]},
        [(100001, "attachments.0"), (100002, "attachments.1"), (152001, "attachments.3")],
    ),
    ({"TEXT": "x", "attachments": ["mine", "unknown"]}, [(152001, "attachments.1")]),
    ({"TEXT": "x", "attachments": ["mine", "mine"]}, [(152001, "attachments.1")]),
    ({"TEXT": "x", "attachments": ["used"]}, [(152001, "attachments.0")]),
    ({"TEXT": "x", "attachments": ["of another"]}, [(152001, "attachments.0")]),
    ({"TEXT": "x", "attachments": ["t"] * 101}, [(100014, "attachments")]),
]
FROM_NAMES = [
    ({"TEXT": "x", "from_name": "x" * 201}, [(100003, "from_name")]),
    ({"TEXT": "x", "from_name": []}, [(100002, "from_name")]),
    ({"TEXT": "x", "from_name": "Jan\r\nBcc: eva@client.example"}, [(100017, "from_name")]),
]
REFUSED = [
    *[("comment", *row) for row in TEXTS + AUTHORS],
    *[("agent_response", *row) for row in TEXTS + AUTHORS + DATES + ATTACHMENTS],
    *[("customer_response", *row) for row in TEXTS + DATES + FROM_NAMES],
]


@pytest.mark.parametrize(("action", "body", "expected"), REFUSED)
def test_refused_body_stores_nothing(action, body, expected, api, anna):
    ticket = ticket_of_kind(KINDS.NEW)
    AgentFactory(login="left", is_active=False)
    me = ApiUser.objects.get(login="all")
    StoredFileFactory(token="mine", api_user=me)
    StoredFileFactory(token="used", api_user=me, message=MessageFactory())
    StoredFileFactory(token="of another")
    before = Message.objects.count()
    of_comments = {"TEXT": "comment", "TYPE": "comment_type"}
    names = of_comments if action == "comment" else {"TEXT": "body", "TYPE": "body_type"}
    author = {} if action == "customer_response" else {"user_login": "anna"}

    response = post(api, ticket, action, **author | {names.get(name, name): value for name, value in body.items()})

    assert faults(response) == [(code, names.get(field, field)) for code, field in expected]
    assert (Message.objects.count(), Event.objects.count(), Dispatch.objects.count()) == (before, 0, 0)
    assert StoredFile.objects.get(token="mine").message is None
    ticket.refresh_from_db()
    assert (ticket.status.kind, ticket.first_agent_responded_at) == (KINDS.NEW, None)


@pytest.mark.parametrize("action", ["comment", "agent_response", "customer_response"])
@pytest.mark.parametrize(("body", "code"), [("[]", 100102), ("{", 100101), ('"x"', 100102)])
def test_body_must_be_an_object(action, body, code, api):
    path = f"/api/tickets/{ticket_of_kind(KINDS.NEW).pk}/{action}"

    assert faults(api.generic("POST", path, body, "application/json")) == [(code, None)]


@pytest.mark.parametrize("action", ["comment", "agent_response"])
def test_agents_cannot_write_in_a_merged_ticket(action, api, anna):
    target = TicketFactory()
    ticket = ticket_of_kind(KINDS.MERGED, merged_into=target)

    response = post(api, ticket, action, body="x", comment="x", user_login="anna")

    assert faults(response) == [(150004, None)]
    assert str(target.pk) in response.json()["errors"][0]["message"]


# agent_response


@pytest.mark.parametrize("source", [Source.PHONE, Source.SMS, Source.CHAT, Source.WWW])
@pytest.mark.parametrize("body_type", ["HTML", "PLAIN"])
def test_reply_to_another_source_is_refused(source, body_type, api, anna):
    ticket = ticket_of_kind(KINDS.NEW, source=source)

    response = post(api, ticket, "agent_response", body="x", body_type=body_type, user_login="anna")
    assert faults(response) == [(150001, None)]
    assert not Message.objects.exists()


def test_all_faults_of_a_reply_are_reported_together(api):
    ticket = ticket_of_kind(KINDS.NEW, source=Source.PHONE)
    body = {"body": "<script>x</script>", "user_login": "nobody", "date": "2026-07-02 12:00", "attachments": ["t"]}

    assert faults(post(api, ticket, "agent_response", **body)) == [
        *((110001, "user_login"), (150002, "date"), (100001, "body"), (150001, None), (152001, "attachments.0"))
    ]


@pytest.mark.parametrize("source", [Source.MARKETPLACE_MESSAGE, Source.MARKETPLACE_DISPUTE])
def test_marketplaces_accept_plain_text_only(source, api, anna):
    ticket = ticket_of_kind(KINDS.NEW, source=source, sender="buyer-17")

    for body in ({}, {"body_type": "HTML"}, {"body_type": None}):
        response = post(api, ticket, "agent_response", body="x", user_login="anna", **body)
        assert faults(response) == [(900029, "body_type")]
    assert post(api, ticket, "agent_response", body="x", user_login="anna", body_type="PLAIN").status_code == 201
    assert Message.objects.count() == 1


def test_reply_needs_a_recipient(api, anna):
    nowhere = ticket_of_kind(KINDS.NEW, sender="")
    known = ticket_of_kind(KINDS.NEW, sender="", customer=CustomerFactory(email="jan@client.example"))

    assert faults(post(api, nowhere, "agent_response", body="x", user_login="anna")) == [(150003, None)]
    assert post(api, known, "agent_response", body="x", user_login="anna").status_code == 201


@pytest.mark.parametrize(
    ("kind", "after"),
    [
        (KINDS.NEW, KINDS.WAITING_FOR_CUSTOMER),
        (KINDS.IN_PROGRESS, KINDS.WAITING_FOR_CUSTOMER),
        (KINDS.WAITING_FOR_CUSTOMER, KINDS.WAITING_FOR_CUSTOMER),
        (KINDS.POSTPONED, KINDS.POSTPONED),
        (KINDS.CLOSED, KINDS.CLOSED),
    ],
)
def test_status_after_a_reply(kind, after, api, anna):
    ticket = ticket_of_kind(kind, closed_at=NOW if kind == KINDS.CLOSED else None)

    assert post(api, ticket, "agent_response", body="x", user_login="anna").status_code == 201

    ticket.refresh_from_db()
    name = TicketStatus(kind=kind).get_kind_display().capitalize()
    note = "" if kind == after else f"Changed status from [{name}] to [Waiting for customer]"
    assert (ticket.status.kind, ticket.messages.get().system_comment) == (after, note)
    assert ticket.updated_at == NOW
    assert (ticket.closed_at is None) == (kind != KINDS.CLOSED)


def test_first_response_is_set_once(api, anna):
    ticket = ticket_of_kind(KINDS.NEW)

    post(api, ticket, "comment", comment="x", user_login="anna")
    ticket.refresh_from_db()
    assert ticket.first_agent_responded_at is None
    post(api, ticket, "agent_response", body="x", user_login="anna", date="2026-07-01 11:00")
    post(api, ticket, "agent_response", body="x", user_login="anna")
    post(api, ticket, "agent_response", body="x", user_login="anna", date="2026-07-01 10:00")

    ticket.refresh_from_db()
    assert ticket.first_agent_responded_at == datetime(2026, 7, 1, 9, 0, tzinfo=UTC)
    shown = api.get(f"/api/tickets/{ticket.pk}").json()
    assert (shown["first_agent_responded_at"], shown["first_agent_response_time"]) == ("2026-07-01 11:00", "22:59:30")


def test_attachments_of_a_reply_keep_their_order(api, anna):
    ticket = ticket_of_kind(KINDS.NEW)
    for token in ("t1", "t2"):
        StoredFileFactory(token=token, api_user=ApiUser.objects.get(login="all"))

    post(api, ticket, "agent_response", body="x", user_login="anna", attachments=["t2", "t1"])

    message = ticket.messages.get()
    assert message.attachments == ["t2", "t1"]
    assert set(StoredFile.objects.values_list("message", flat=True)) == {message.pk}
    again = post(api, ticket, "agent_response", body="x", user_login="anna", attachments=["t2"])
    assert faults(again) == [(152001, "attachments.0")]


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values if kind != KINDS.MERGED])
def test_customer_response_makes_any_ticket_new(kind, api):
    closing = {"closed_at": NOW - timedelta(hours=1), "closed_by": AgentFactory()} if kind == KINDS.CLOSED else {}
    ticket = ticket_of_kind(kind, **closing)
    substatus = TicketSubstatus.objects.create(status=ticket.status, name="Finer")
    if kind != KINDS.NEW:
        Ticket.objects.filter(pk=ticket.pk).update(substatus=substatus)

    response = post(api, ticket, "customer_response", body="x")

    assert (response.status_code, response.content) == (204, b"")
    ticket.refresh_from_db()
    name = ticket.status.name if kind == KINDS.NEW else f"{substatus.status.name} - Finer"
    note = "" if kind == KINDS.NEW else f"Changed status from [{name}] to [New]"
    assert (ticket.status.kind, ticket.substatus, ticket.closed_at, ticket.closed_by) == (KINDS.NEW, None, None, None)
    assert (ticket.messages.get().system_comment, ticket.updated_at) == (note, NOW)


def test_from_name_is_shown_as_the_author(api):
    ticket = ticket_of_kind(KINDS.NEW, customer=CustomerFactory(name="Jan", surname="Kowal"))

    post(api, ticket, "customer_response", body="x", from_name="Żona Jana")

    message = ticket.messages.get()
    assert (message.author_name, message.agent, message.type) == ("Żona Jana", None, "MAIL")


# All three operations


@pytest.mark.parametrize(
    ("action", "text", "kind"),
    [
        ("comment", "comment", "comment_type"),
        ("agent_response", "body", "body_type"),
        ("customer_response", "body", "body_type"),
    ],
)
def test_html_is_sanitised_and_plain_text_is_kept(action, text, kind, api, anna):
    wild = '<p onclick="x()">Hi <b>you</b><script>alert(1)</script><a href="javascript:x">l</a></p>'
    ticket = ticket_of_kind(KINDS.NEW)

    for value, kinds in (
        (wild, {}),
        (wild, {kind: ""}),
        (wild, {kind: "HTML"}),
        (f"  {wild}\n a < b\r\n", {kind: "PLAIN"}),
    ):
        assert post(api, ticket, action, **{text: value, "user_login": "anna"}, **kinds).status_code in (201, 204)

    *cleaned, plain = [message[text] for message in api.get(f"/api/tickets/{ticket.pk}").json()["messages"]]
    assert plain == f"  {wild}\n a < b\r\n"
    for body in cleaned:
        assert "<b>you</b>" in body
        assert not any(word in body for word in ("script", "onclick", "alert"))


@pytest.mark.parametrize("action", ["agent_response", "customer_response"])
@pytest.mark.parametrize(
    ("date", "shown"),
    [
        ("2026-06-30 12:00", "2026-06-30 12:00"),  # the minute of the creation
        ("2026-07-01 12:00", "2026-07-01 12:00"),  # the present minute
        ("2026-07-01 09:15:59", "2026-07-01 09:15"),
        (None, "2026-07-01 12:00"),
    ],
)
def test_given_date_of_a_message(action, date, shown, api, anna):
    ticket = ticket_of_kind(KINDS.NEW)

    assert post(api, ticket, action, body="x", user_login="anna", date=date).status_code in (201, 204)

    answer = api.get(f"/api/tickets/{ticket.pk}").json()
    assert (answer["messages"][0]["created_at"], answer["updated_at"]) == (shown, "2026-07-01 12:00")


@pytest.mark.parametrize("action", ["agent_response", "customer_response"])
def test_message_dated_in_the_minute_of_the_creation_is_later(action, api, anna):
    ticket = ticket_of_kind(KINDS.NEW)
    MessageFactory(ticket=ticket, body="first", created_at=BORN)

    post(api, ticket, action, body="second", user_login="anna", date="2026-06-30 12:00")

    shown = api.get(f"/api/tickets/{ticket.pk}").json()
    assert [message["body"] for message in shown["messages"]] == ["first", "second"]
    assert shown["first_agent_response_time"] == ("00:00:00" if action == "agent_response" else "")


def test_comment_keeps_the_status_and_sets_the_time_of_change(api, anna):
    ticket = ticket_of_kind(KINDS.CLOSED, closed_at=BORN)

    response = post(api, ticket, "comment", comment="<p>x</p>", user_login="anna")

    assert (response.status_code, response.content) == (204, b"")
    message = api.get(f"/api/tickets/{ticket.pk}").json()["messages"][0]
    assert (message["type"], message["user_login"]) == ("COMMENT", "anna")
    assert (message["body"], message["comment"], message["system_comment"]) == ("", "<p>x</p>", "")
    ticket.refresh_from_db()
    assert (ticket.status.kind, ticket.closed_at, ticket.updated_at) == (KINDS.CLOSED, BORN, NOW)


def test_status_with_the_lowest_order_of_its_kind_is_used(api):
    TicketStatus.objects.create(name="Just in", kind=KINDS.NEW, order=5)
    ticket = ticket_of_kind(KINDS.CLOSED)

    post(api, ticket, "customer_response", body="x")

    ticket.refresh_from_db()
    assert ticket.status.name == "Just in"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, [(100001, "message")]),
        ({"message": " "}, [(100001, "message")]),
        ({"message": 1.5}, [(100002, "message")]),
        ({"message": "x" * 100_001}, [(100003, "message")]),
        ({"message": "x", "user_login": "nobody"}, [(110001, "user_login")]),
        ({"user_login": "nobody"}, [(100001, "message"), (110001, "user_login")]),
    ],
)
def test_refused_note(body, expected, api):
    customer = CustomerFactory()

    assert faults(api.post(f"/api/customers/{customer.pk}/notes", body)) == expected
    assert (CustomerNote.objects.count(), Event.objects.count()) == (0, 0)


@pytest.mark.parametrize(("author", "shown"), [({"user_login": "anna"}, "Anna Nowak"), ({}, "all")])
def test_author_of_a_note(author, shown, api, anna):
    customer = CustomerFactory()

    response = api.post(f"/api/customers/{customer.pk}/notes", {"message": "Calls back.", **author})

    assert (response.status_code, response.content) == (204, b"")
    note = customer.notes.get()
    assert (note.message, note.author_name, note.agent) == ("Calls back.", shown, anna if author else None)
