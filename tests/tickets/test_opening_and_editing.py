"""Tickets opened and edited over HTTP: what is refused, what is cleared."""

from typing import Any

import pytest

from callcentre.errors import Invalid
from tests.conftest import ACTOR, ApiClient
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import (
    CustomerFactory,
    TicketCategoryFactory,
    TicketFactory,
    TicketQueueFactory,
    TicketSubstatusFactory,
)
from tickets.models import Ticket, TicketStatus, editing
from webhooks.models import Event

pytestmark = pytest.mark.django_db

LINES = "Jan\r\nBcc: eva@client.example"


def faults(response: Any) -> list[tuple[int, str | None]]:
    assert response.status_code == 400, response.content
    return [(error["code"], error.get("field")) for error in response.json()["errors"]]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"body": ""}, [(100001, "body")]),
        ({"body": None}, [(100001, "body")]),
        ({"body": " \n\t"}, [(100001, "body")]),
        ({"body": "<p>&nbsp;</p><script>x</script>", "body_type": "HTML"}, [(100001, "body")]),
        ({"subject": " "}, [(100001, "subject")]),
        ({"subject": "S\nS"}, [(100017, "subject")]),
        ({"tags": ["a", " "]}, [(100001, "tags.1")]),
        ({"from": LINES}, [(100017, "from")]),
        ({"from": "jan\x1b[31m@client.example", "subject": "S\u2028S"}, [(100017, "subject"), (100017, "from")]),
    ],
)
def test_a_ticket_that_is_refused_says_why_and_leaves_nothing(
    body: dict[str, Any], expected: list[tuple[int, str]], api: ApiClient
) -> None:
    TicketQueueFactory()

    assert faults(api.post("/api/tickets", {"subject": "S", "body": "B", **body})) == expected
    assert (Ticket.objects.count(), Event.objects.count()) == (0, 0)


def test_a_choice_that_is_sent_empty_is_the_usual_one(api: ApiClient) -> None:
    TicketQueueFactory()

    answer = api.post("/api/tickets", {"subject": "S", "body": "B", "source": "", "body_type": ""})

    assert answer.status_code == 201
    ticket = Ticket.objects.get()
    assert (ticket.source, ticket.messages.get().body_type) == ("email", "PLAIN")


@pytest.mark.parametrize("subject", ["👩‍💻 Zażółć\u00a0gęślą", "שלום \u200fa", "<b>"])
def test_a_subject_in_any_script_is_kept(subject: str, api: ApiClient) -> None:
    TicketQueueFactory()

    api.post("/api/tickets", {"subject": subject, "body": "B", "from": " Jan \n"})

    ticket = Ticket.objects.get()
    assert (ticket.subject, ticket.sender) == (subject, "Jan")


def test_an_image_is_something_to_say(api: ApiClient) -> None:
    TicketQueueFactory()
    body = '<img src="https://client.example/broken.png">'

    assert api.post("/api/tickets", {"subject": "S", "body": body, "body_type": "HTML"}).status_code == 201


def test_category_substatus_and_agent_are_cleared_by_an_empty_text(api: ApiClient) -> None:
    status = TicketStatus.objects.get(kind="new")
    ticket = TicketFactory(
        category=TicketCategoryFactory(), assigned=True, substatus=TicketSubstatusFactory(status=status, name="Urgent")
    )
    before = api.get(f"/api/tickets/{ticket.pk}").json()

    unchanged = api.put(
        f"/api/tickets/{ticket.pk}", {"category_id": None, "substatus_id": None, "user_login": None, "status_id": ""}
    )
    assert (unchanged.status_code, api.get(f"/api/tickets/{ticket.pk}").json()) == (204, before)
    assert not Event.objects.exists()
    cleared = api.put(f"/api/tickets/{ticket.pk}", {"category_id": "", "substatus_id": "", "user_login": ""})

    shown = api.get(f"/api/tickets/{ticket.pk}").json()
    assert cleared.status_code == 204
    assert [shown[name] for name in ("category_id", "substatus_id", "user_login")] == [None, "", ""]
    assert shown["status_id"] == before["status_id"]
    assert ticket.messages.get().system_comment == "Changed status from [New - Urgent] to [New]"
    assert set(ticket.history.get().changes) == {"category", "agent", "status"}
    assert [event.action for event in Event.objects.all()] == ["TICKET_UPDATED"]


def test_subject_and_customer_are_edited_with_history_and_event() -> None:
    customer, ticket = CustomerFactory(surname="Kowal"), TicketFactory(subject="Lamp")

    editing.edit(ACTOR, ticket, subject="Broken lamp", customer_id=customer.pk)
    editing.edit(ACTOR, ticket, customer_id=None)

    ticket.refresh_from_db()
    assert (ticket.subject, ticket.customer) == ("Broken lamp", None)
    assert [change.changes for change in ticket.history.order_by("id")] == [
        {"subject": ["Lamp", "Broken lamp"], "customer": [None, "Kowal"]},
        {"customer": ["Kowal", None]},
    ]
    assert [event.payload["customer_id"] for event in Event.objects.order_by("id")] == [customer.pk, None]


@pytest.mark.parametrize("subject", ["", "  ", "x" * 501, LINES])
def test_a_subject_that_no_mail_can_have_is_refused(subject: str) -> None:
    ticket = TicketFactory(subject="Lamp")

    with pytest.raises(Invalid):
        editing.edit(ACTOR, ticket, subject=subject, agent_login=AgentFactory().login)

    ticket.refresh_from_db()
    assert (ticket.subject, ticket.agent) == ("Lamp", None)
