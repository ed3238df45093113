"""Open and edit tickets over HTTP: refused and cleared values."""

import pytest

from callcentre.core.errors import ErrorCode, Invalid
from tests.conftest import ACTOR
from tests.contract import faults
from tests.telephony.factories import AgentFactory
from tests.tickets.factories import (
    CustomerFactory,
    CustomFieldFactory,
    TicketCategoryFactory,
    TicketFactory,
    TicketQueueFactory,
    TicketSubstatusFactory,
)
from tickets.models import Customer, Dispatch, Message, Ticket, TicketChange, TicketStatus
from tickets.verbs.messages import receive_message
from tickets.verbs.outgoing import write_to_customer
from tickets.verbs.tickets import edit_ticket
from webhooks.models import Event

pytestmark = pytest.mark.django_db

LINES = "Jan\r\nBcc: eva@client.example"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"body": ""}, [(100001, "body")]),
        ({"body": " \n\t"}, [(100001, "body")]),
        ({"body": "<p>&nbsp;</p><script>x</script>", "body_type": "HTML"}, [(100001, "body")]),
        ({"subject": " "}, [(100001, "subject")]),
        ({"subject": "S\nS"}, [(100017, "subject")]),
        ({"tags": ["a", " "]}, [(100001, "tags.1")]),
        ({"from": LINES}, [(100017, "from")]),
        ({"from": "Jan jan@client.example"}, [(150012, "from")]),
        ({"from": "jan@client.example, eva@client.example"}, [(150012, "from")]),
        ({"from": "jan\x1b[31m@client.example", "subject": "S\u2028S"}, [(100017, "subject"), (100017, "from")]),
    ],
)
def test_refused_ticket_stores_nothing(body, expected, api):
    TicketQueueFactory()

    assert faults(api.post("/api/tickets", {"subject": "S", "body": "B", **body})) == expected
    assert (Ticket.objects.count(), Event.objects.count()) == (0, 0)


def test_open_and_read_a_ticket(api):
    queue = TicketQueueFactory()
    CustomFieldFactory(name="order_number")
    CustomFieldFactory(name="priority", type="choice", options=["high", "low"])

    body = {"subject": "S", "body": "B", "from": "jan@client.example", "custom_fields": {"priority": "high"}}
    answer = api.post("/api/tickets", body)
    ticket_id = answer.json()["ticket_id"]
    listed = api.get(
        "/api/tickets?include_custom_fields=1&custom_fields[priority][0]=high&custom_fields[priority][1]=x"
    )

    assert answer.status_code == 201
    assert listed.json()["count"] == 1
    ticket = listed.json()["result"][0]
    assert ticket["custom_fields"] == {"order_number": None, "priority": "high"}
    values = [ticket[name] for name in ("ticket_id", "from", "ticket_queue_id", "full_status_name", "close_time")]
    assert values == [ticket_id, "jan@client.example", queue.pk, "New", ""]
    whole = {"priority": "normal", "type_id": None, "team_id": None, "postponed_until": ""}
    assert api.get(f"/api/tickets/{ticket_id}").json() == ticket | whole
    assert Ticket.objects.get().messages.get().body_type == "PLAIN"


def test_empty_choice_means_the_default(api):
    TicketQueueFactory()

    answer = api.post("/api/tickets", {"subject": "S", "body": "B", "source": "", "body_type": ""})

    assert answer.status_code == 201
    ticket = Ticket.objects.get()
    assert (ticket.source, ticket.messages.get().body_type) == ("email", "PLAIN")


@pytest.mark.parametrize("subject", ["👩‍💻 Zażółć\u00a0gęślą", "שלום \u200fa", "<b>"])
def test_subject_in_any_script(subject, api):
    TicketQueueFactory()

    api.post("/api/tickets", {"subject": subject, "body": "B", "from": " Jan \n"})

    ticket = Ticket.objects.get()
    assert (ticket.subject, ticket.sender) == (subject, "Jan")


def test_empty_text_clears_category_substatus_and_agent(api):
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


def test_edit_subject_and_customer_with_history_and_event():
    customer, ticket = CustomerFactory(surname="Kowal"), TicketFactory(subject="Lamp")

    edit_ticket(ticket, ACTOR, subject="Broken lamp", customer_id=customer.pk)
    edit_ticket(ticket, ACTOR, customer_id=None)

    ticket.refresh_from_db()
    assert (ticket.subject, ticket.customer) == ("Broken lamp", None)
    assert [change.changes for change in ticket.history.order_by("id")] == [
        {"subject": ["Lamp", "Broken lamp"], "customer": [None, "Kowal"]},
        {"customer": ["Kowal", None]},
    ]
    assert [event.payload["customer_id"] for event in Event.objects.order_by("id")] == [customer.pk, None]


@pytest.mark.parametrize("subject", ["", "  ", "x" * 501, LINES])
def test_subject_that_mail_cannot_have_is_refused(subject):
    ticket = TicketFactory(subject="Lamp")

    with pytest.raises(Invalid):
        edit_ticket(ticket, ACTOR, subject=subject, agent_login=AgentFactory().login)

    ticket.refresh_from_db()
    assert (ticket.subject, ticket.agent) == ("Lamp", None)


def test_substatus_cannot_set_the_status_merged():
    ticket = TicketFactory()
    substatus = TicketSubstatusFactory(status=TicketStatus.objects.get(kind="merged"))

    with pytest.raises(Invalid) as raised:
        edit_ticket(ticket, ACTOR, substatus_id=substatus.pk)

    assert [(fault.code, fault.field) for fault in raised.value.faults] == [
        (ErrorCode.STATUS_MERGED_BY_HAND, "substatus_id")
    ]
    ticket.refresh_from_db()
    assert ticket.status.kind == "new"


# The sender, which replies go to


def sender_of(ticket: Ticket) -> tuple[str, str]:
    ticket.refresh_from_db()
    return ticket.sender, ticket.sender_name


@pytest.mark.parametrize(
    ("given", "address", "name"),
    [
        ("Jan Kowal <jan@client.example>", "jan@client.example", "Jan Kowal"),
        ("a..b@mobile.example", "a..b@mobile.example", ""),
        ("jóźef@klient.example", "jóźef@klient.example", ""),
    ],
)
def test_senders_in_every_spelling_can_be_answered(given, address, name, api):
    TicketQueueFactory()
    customer = CustomerFactory(email=address)

    opened = api.post("/api/tickets", {"subject": "S", "body": "B", "from": given})
    reply = {"body": "B", "user_login": AgentFactory().login}
    answered = api.post(f"/api/tickets/{opened.json()['ticket_id']}/agent_response", reply)

    ticket = Ticket.objects.get()
    assert (ticket.sender, ticket.sender_name, ticket.customer) == (address, name, customer)
    assert answered.status_code == 201
    assert Dispatch.objects.get().recipients == [address]


def test_sender_without_an_address_is_valid_for_other_sources_and_an_image_alone_as_body(api):
    TicketQueueFactory()
    body = {"subject": "S", "body": '<img src="https://client.example/broken.png">', "body_type": "HTML"}

    answer = api.post("/api/tickets", {**body, "from": "buyer-17", "source": "phone"})

    assert (answer.status_code, Ticket.objects.get().sender) == (201, "buyer-17")


def test_new_sender_makes_a_ticket_answerable(api):
    customer = CustomerFactory(email="jan@client.example")
    ticket = TicketFactory(sender="Jan Kowal", sender_name="")
    path, reply = f"/api/tickets/{ticket.pk}", {"body": "B", "user_login": AgentFactory().login}
    before = api.post(f"{path}/agent_response", reply)

    repaired = api.put(path, {"from": "Jan Kowal <jan@client.example>", "subject": "Parcel lost"})

    assert (before.status_code, repaired.status_code) == (400, 204)
    assert sender_of(ticket) == ("jan@client.example", "Jan Kowal")
    assert (ticket.subject, ticket.customer) == ("Parcel lost", customer)
    assert api.post(f"{path}/agent_response", reply).status_code == 201
    changed = ticket.history.get(action="edit").changes
    assert changed["sender"] == ["Jan Kowal", "jan@client.example"]
    assert Event.objects.filter(action="TICKET_UPDATED", payload__customer_id=customer.pk).exists()


def test_set_and_clear_the_customer(api):
    ticket = TicketFactory(of_customer=True)
    merged = CustomerFactory(merged_into=CustomerFactory())

    api.put(f"/api/tickets/{ticket.pk}", {"customer_id": merged.pk})
    ticket.refresh_from_db()
    given = ticket.customer
    api.put(f"/api/tickets/{ticket.pk}", {"customer_id": "", "from": "jan@client.example"})
    ticket.refresh_from_db()

    assert (given, ticket.customer) == (merged.merged_into, None)


def test_new_sender_keeps_the_customer(api):
    ticket = TicketFactory(of_customer=True, sender="jan@client.example", sender_name="Jan")
    CustomerFactory(email="eva@client.example")
    customer = ticket.customer

    api.put(f"/api/tickets/{ticket.pk}", {"from": "JAN@client.example"})
    assert sender_of(ticket) == ("JAN@client.example", "Jan")
    api.put(f"/api/tickets/{ticket.pk}", {"from": "eva@client.example"})
    assert sender_of(ticket) == ("eva@client.example", "")
    assert ticket.customer == customer


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"from": "jan@client"}, [(150012, "from")]),
        ({"from": LINES}, [(100017, "from")]),
        ({"from": 7.5}, [(100002, "from")]),
        ({"from": "x" * 321}, [(100003, "from")]),
        ({"subject": ""}, [(100001, "subject")]),
        ({"subject": "a\nb"}, [(100017, "subject")]),
        ({"customer_id": 999_999_999}, [(151001, "customer_id")]),
        ({"from": "jan@", "customer_id": "x", "subject": " "}, None),
    ],
)
def test_wrong_sender_subject_or_customer_changes_nothing(body, expected, api):
    ticket = TicketFactory(subject="S", sender="jan@client.example", of_customer=True)
    before = Ticket.objects.filter(pk=ticket.pk).values().get()

    found = faults(api.put(f"/api/tickets/{ticket.pk}", body))

    assert found == expected if expected else {field for _code, field in found} == set(body)
    assert Ticket.objects.filter(pk=ticket.pk).values().get() == before


def test_unchanged_sender_is_not_checked_again(api):
    ticket = TicketFactory(sender="Anna anna@client.example")

    assert api.put(f"/api/tickets/{ticket.pk}", {"from": ticket.sender, "tags": ["a"]}).status_code == 204
    assert sender_of(ticket)[0] == "Anna anna@client.example"


def write(customer: Customer, agent_login: str = "anna") -> Message:
    address, body = "jan@client.example", "Your contract ends."
    return write_to_customer(customer, ACTOR, recipient=address, agent_login=agent_login, subject="Contract", body=body)


def test_a_mail_to_a_customer_is_the_only_message_that_its_ticket_ever_had():
    TicketQueueFactory()
    agent, customer = AgentFactory(login="anna"), CustomerFactory(email="jan@client.example")
    earlier = write(customer)

    message = write(customer)

    # A message that was stored and deleted would have taken a number.
    assert message.pk == earlier.pk + 1
    ticket = Ticket.objects.get(pk=message.ticket_id)
    assert list(ticket.messages.all()) == [message]
    assert (message.type, message.body, message.agent) == ("REPLY", "Your contract ends.", agent)
    assert (ticket.subject, ticket.sender, ticket.customer) == ("Contract", "jan@client.example", customer)
    assert ticket.agent == agent
    assert Dispatch.objects.get(message=message).recipients == ["jan@client.example"]
    assert TicketChange.objects.filter(ticket=ticket, action="create").count() == 1
    actions = list(Event.objects.filter(subject=f"ticket:{ticket.pk}").order_by("id").values_list("action", flat=True))
    assert actions[0] == "TICKET_CREATED"

    receive_message(ticket, ACTOR, body="Yes, please.", from_address="jan@client.example")
    assert [each.type for each in ticket.messages.order_by("id")] == ["REPLY", "MAIL"]


def test_a_refused_mail_opens_no_ticket():
    TicketQueueFactory()

    with pytest.raises(Invalid):
        write(CustomerFactory(email="jan@client.example"), agent_login="nobody")

    assert not Ticket.objects.exists()
