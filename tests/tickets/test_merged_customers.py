"""Look-ups with the old id, address and identifier of a merged customer."""

from typing import Any

import pytest
from django.db import connection

from tests.conftest import ACTOR, ApiClient
from tests.tickets.factories import CustomerFactory, MessageFactory, TicketFactory, TicketQueueFactory
from tests.tickets.mails import a_mail, taken
from tickets.models import Customer
from tickets.verbs.customer_merges import merge_customers

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_storage")]


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


def test_id_of_a_merged_customer_finds_the_tickets_of_the_other(api: ApiClient) -> None:
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
def test_address_and_identifier_of_a_merged_customer_find_the_other(
    query: str, expected: list[str], api: ApiClient
) -> None:
    _old, current = merged()
    pks = {"current": current.pk, "other": CustomerFactory(email="Old@client.example").pk}

    assert ids(api.get(f"/api/customers?{query}"), "customer_id") == [pks[name] for name in expected]


def test_tagged_reply_from_a_merged_address_joins_the_ticket() -> None:
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
def test_look_ups_of_merged_customers_use_an_index(path: str, look_up: str, api: ApiClient, monkeypatch: Any) -> None:
    old, _current = merged()
    # Among a few rows, each index costs the same.
    TicketFactory.create_batch(40)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE tickets_ticket")
    statements: list[tuple[str, Any]] = []

    def keep(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
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
