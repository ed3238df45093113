"""Which customer a look-up finds: one created from the first mail or call, if the setting is on, or one merged."""

from typing import Any

import pytest
from django.db import connection, transaction

from tests.backoffice import page_of, superuser
from tests.conftest import ACTOR
from tests.telephony.callers import CALLER, HOTLINE, call_in
from tests.telephony.conftest import heard, switch  # noqa: F401  (fixtures)
from tests.telephony.factories import AgentFactory, QueueFactory
from tests.tickets.factories import CustomerFactory, MessageFactory, TicketFactory, TicketQueueFactory
from tests.tickets.mails import a_mail, taken
from tests.tickets.test_concurrency import at_once, refusals
from tickets.customer_lookups import customer_of_caller
from tickets.models import Customer, CustomerNumber, CustomerSettings, Ticket
from tickets.verbs.customers import merge_customers
from tickets.verbs.tickets import open_ticket
from webhooks.models import Event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]


def create_customers(is_wanted: bool) -> None:
    CustomerSettings.objects.update(creates_unknown=is_wanted)


def told() -> list[tuple[str, dict[str, Any]]]:
    return list(Event.objects.order_by("id").values_list("action", "payload"))


# Mail


def test_first_mail_of_an_unknown_sender_creates_a_customer_that_the_second_finds():
    TicketQueueFactory()

    taken(a_mail())

    customer, ticket = Customer.objects.get(), Ticket.objects.get()
    assert (customer.name, customer.surname, customer.email) == ("", "Jan", "jan@client.example")
    assert ticket.customer == customer
    ids = {"ticket_id": str(ticket.pk), "customer_id": customer.pk}
    assert told()[:2] == [
        ("CUSTOMER_CREATED", {"customer_id": customer.pk, "company_id": None}),
        ("TICKET_CREATED", {**ids, "agent_login": None, "direction": "in"}),
    ]
    taken(a_mail("Once more", From="JAN@client.example", Message_ID="<second@client.example>"))
    assert list(Ticket.objects.values_list("customer", flat=True)) == [Customer.objects.get().pk] * 2
    assert customer.history.get().action == "create"


@pytest.mark.parametrize(
    ("sender", "surname"),
    [
        ("Jan Kowal <jan@client.example>", "Jan Kowal"),
        ('"  " <jan@client.example>', "jan@client.example"),
        ("jan@client.example", "jan@client.example"),
        (f"{'Long ' * 30}<jan@client.example>", f"{'Long ' * 20}".strip()),
        (f"{'x' * 60}@{'client.' * 10}example", f"{'x' * 60}@{'client.' * 10}example"[:100]),
    ],
)
def test_surname_is_the_name_in_the_mail_or_the_address(sender, surname):
    TicketQueueFactory()

    taken(a_mail(From=sender))

    assert [customer.surname for customer in Customer.objects.all()] == [surname]


def test_sender_of_a_merged_customer_is_known():
    TicketQueueFactory()
    old, new = CustomerFactory(email="jan@client.example"), CustomerFactory()
    merge_customers(old, new, ACTOR)

    taken(a_mail())

    assert (Ticket.objects.get().customer, Customer.objects.count()) == (new, 2)


def test_mail_creates_no_customer_if_the_setting_is_off():
    create_customers(False)
    TicketQueueFactory()

    taken(a_mail())

    assert Ticket.objects.get().customer is None
    assert not Customer.objects.exists()


@pytest.mark.parametrize(
    "headers",
    [
        {"Auto_Submitted": "auto-generated"},
        {"From": "Anna <ANNA@us.example>"},
        {"List_Unsubscribe": "<https://news.example/1>", "Precedence": "bulk"},
        {"List_Unsubscribe": "<https://news.example/1>", "List_Post": "NO"},
    ],
    ids=["a machine", "an agent", "a newsletter", "a list that takes no mail"],
)
def test_senders_that_do_not_become_customers(headers):
    AgentFactory(email="anna@us.example")
    TicketQueueFactory()

    taken(a_mail(**headers))

    assert Ticket.objects.get().customer is None
    assert not Customer.objects.exists()


def test_sender_through_a_group_becomes_a_customer():
    TicketQueueFactory()
    group = {"List_Unsubscribe": "<https://group.example/1>", "List_Post": "<mailto:help@us.example>"}

    taken(a_mail(Precedence="list", List_Id="<help.us.example>", **group))

    assert Customer.objects.get() == Ticket.objects.get().customer


def test_mail_that_cannot_be_stored_creates_no_customer(monkeypatch):
    TicketQueueFactory(acknowledges=True)
    monkeypatch.setattr("tickets.mail.intake.acknowledge", lambda ticket: 1 / 0)

    assert taken(a_mail()).outcome == "quarantined"
    assert not Customer.objects.exists()
    assert told() == []


def test_ticket_of_the_api_creates_no_customer(api):
    TicketQueueFactory()

    api.post("/api/tickets", {"subject": "S", "body": "B", "from": "jan@client.example"})

    assert Ticket.objects.get().customer is None
    assert not Customer.objects.exists()


@pytest.mark.usefixtures("switch")
def test_first_call_from_an_unknown_number_creates_a_customer():
    QueueFactory(number=HOTLINE)

    calls = [call_in("caller-1", "22 555 01 07"), call_in("caller-2", CALLER)]

    customer = Customer.objects.get()
    assert (customer.surname, customer.phone_numbers) == ("22 555 01 07", ["22 555 01 07"])
    assert [call.customer_id for call in calls] == [customer.pk] * 2
    assert [action for action, _payload in told()] == ["CUSTOMER_CREATED", *["CONNECTION_STARTED"] * 2]


@pytest.mark.usefixtures("switch")
@pytest.mark.parametrize("caller", ["", "anonymous", "+anonymous", "101", "x" * 300, "9" * 30, f"+{'9' * 30}"])
def test_caller_without_a_public_number_does_not_become_a_customer(caller):
    QueueFactory(number=HOTLINE)

    assert call_in(caller=caller).customer_id is None
    assert not Customer.objects.exists()


@pytest.mark.usefixtures("switch")
def test_call_creates_no_customer_if_the_setting_is_off():
    create_customers(False)
    QueueFactory(number=HOTLINE)

    assert call_in().customer_id is None
    assert not Customer.objects.exists()


@pytest.mark.usefixtures("committed_db")
@pytest.mark.parametrize("turn", range(3))
def test_concurrent_first_mails_of_one_sender_create_one_customer(turn):
    queue = TicketQueueFactory()
    addresses = ["jan@client.example", "JAN@client.example"] * 4

    def open_for(address):
        sent = {"sender": address, "sender_name": "Jan", "queue_id": queue.pk}
        return open_ticket(ACTOR, subject="S", body="B", may_create_customer=True, **sent).ticket

    results = at_once(*(lambda address=address: open_for(address) for address in addresses))

    assert not refusals(results)
    customer = Customer.objects.get()
    assert {ticket.customer_id for ticket in results} == {customer.pk}
    actions = [action for action, _payload in told()]
    assert sorted(actions) == ["CUSTOMER_CREATED", *["TICKET_CREATED"] * 8]
    assert actions[0] == "CUSTOMER_CREATED"


@pytest.mark.usefixtures("committed_db")
def test_concurrent_first_calls_from_one_number_create_one_customer():
    def call():
        with transaction.atomic():
            return customer_of_caller("22 555 01 07", CALLER)

    results = at_once(*[call] * 8)

    customer = Customer.objects.get()
    assert {known.id for known in results} == {customer.pk}
    assert CustomerNumber.objects.get().number == CALLER


@pytest.mark.usefixtures("committed_db")
def test_first_mails_of_different_senders_do_not_wait_for_each_other():
    queue = TicketQueueFactory()

    def open_for(number):
        sent = {"sender": f"jan-{number}@client.example", "queue_id": queue.pk}
        return open_ticket(ACTOR, subject="S", body="B", may_create_customer=True, **sent).ticket

    results = at_once(*(lambda number=number: open_for(number) for number in range(8)))

    assert not refusals(results)
    assert len({ticket.customer_id for ticket in results}) == Customer.objects.count() == 8


@pytest.mark.usefixtures("plain_static")
def test_change_the_setting_that_is_on_in_a_new_installation():
    settings, client = CustomerSettings.objects.get(), superuser()

    client.submit(page_of(settings))
    settings.refresh_from_db()
    is_kept = settings.creates_unknown
    client.submit(page_of(settings), creates_unknown=None)
    settings.refresh_from_db()

    assert (is_kept, settings.creates_unknown) == (True, False)
    assert client.post(page_of(settings, "delete"), {"post": "yes"}).status_code == 403


# The old id, address and identifier of a merged customer


def merged() -> tuple[Customer, Customer]:
    """Return a customer that was merged through another one, and the final customer."""
    first = CustomerFactory(email="old@client.example", identifier="OLD-1")
    second, last = CustomerFactory(email="mid@client.example"), CustomerFactory(email="new@client.example")
    last.identifier = "NEW-1"
    last.save()
    merge_customers(first, second, ACTOR)
    merge_customers(second, last, ACTOR)
    return first, last


def ids(answer: Any, key: str) -> list[Any]:
    assert answer.status_code == 200, answer.content
    return [row[key] for row in answer.json()["result"]]


def test_id_of_a_merged_customer_finds_the_tickets_of_the_other(api):
    old, current = merged()
    ticket = TicketFactory(customer=current)
    TicketFactory(of_customer=True)

    found = [ids(api.get(f"/api/tickets?customer_id={pk}"), "ticket_id") for pk in (old.pk, current.pk, 999_999_999)]

    assert found == [[str(ticket.pk)], [str(ticket.pk)], []]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("email=mid@client.example", ["current"]),
        ("email=OLD@client.example", ["current", "other"]),  # an address that another customer has too
        ("email=new@client.example", ["current"]),
        ("identifier=OLD-1", ["current"]),
        ("email=old@client.example&identifier=NEW-1", ["current"]),
        ("email=old@client.example&identifier=x", []),
    ],
)
def test_address_and_identifier_of_a_merged_customer_find_the_other(query, expected, api):
    _old, current = merged()
    pks = {"current": current.pk, "other": CustomerFactory(email="Old@client.example").pk}

    assert ids(api.get(f"/api/customers?{query}"), "customer_id") == [pks[name] for name in expected]


def test_tagged_reply_from_a_merged_address_joins_the_ticket():
    TicketQueueFactory()
    _old, current = merged()
    ticket = TicketFactory(customer=current, sender="shop@client.example")
    MessageFactory(ticket=ticket, author_address="shop@client.example")

    raw = a_mail("Still", From="Jan <OLD@client.example>", Subject=f"Re: [#{ticket.pk}] {ticket.subject}")

    assert taken(raw).message.ticket == ticket


@pytest.mark.parametrize(
    ("path", "look_up"),
    [
        # Two indexes begin with the customer.
        ("/api/tickets?customer_id={old}", "Index Cond: (customer_id ="),
        ("/api/customers?email=old@client.example", "customer_address"),
        ("/api/customers?identifier=OLD-1", "customer_merged_identifier"),
    ],
)
def test_look_ups_of_merged_customers_use_an_index(path, look_up, api, monkeypatch):
    old, _current = merged()
    # Among a few rows, each index costs the same.
    TicketFactory.create_batch(40)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE tickets_ticket")
    statements: list[tuple[str, Any]] = []

    def keep(execute, sql, params, many, context):
        statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(keep):
        api.get(path.format(old=old.pk))

    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        plans = []
        for sql, params in statements:
            if sql.startswith("SELECT") and "tickets_" in sql:
                cursor.execute(f"EXPLAIN {sql}", params)
                plans.append("\n".join(row[0] for row in cursor.fetchall()))
    assert any(look_up in plan for plan in plans), plans
