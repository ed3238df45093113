"""The report after deletions: it counts what there still is, before its worker has summed anew and after."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from callcentre.core import deletions
from reports.models import Rollup
from telephony.models import Agent
from tests.conftest import ACTOR
from tests.reports.asking import ask, refresh, settle
from tests.telephony.factories import AgentFactory, ConnectionFactory, OfferFactory
from tests.tickets.factories import (
    ChatFactory,
    ChatMessageFactory,
    CustomerFactory,
    MessageFactory,
    TicketFactory,
)

pytestmark = pytest.mark.django_db
AT = datetime(2026, 10, 14, 10, 20, tzinfo=UTC)
SPAN = (AT - timedelta(days=13), AT + timedelta(days=17))
NOW = AT + timedelta(days=35)


@pytest.fixture
def agent() -> Agent:
    made: Agent = AgentFactory(login="anna")
    return made


def a_customer(agent: Agent) -> Any:
    """A customer for whom the agent has replied, closed, chatted and talked, all at one time."""
    customer = CustomerFactory(email="jan@client.example")
    ticket = TicketFactory(customer=customer, closed=True, closed_by=agent, closed_at=AT, created_at=AT)
    MessageFactory(ticket=ticket, reply=True, agent=agent, created_at=AT)
    chat = ChatFactory(agent=agent, closed_at=AT, created_at=AT)
    ChatMessageFactory(chat=chat, agent=agent, created_at=AT)
    call = ConnectionFactory(inbound=True, customer_id=customer.pk, agent=agent, created_at=AT)
    OfferFactory(
        connection=call,
        agent=agent,
        queue=call.queue,
        offered_at=AT,
        answered_at=AT,
        ended_at=AT + timedelta(minutes=1),
    )
    return customer


def figures(agent: Agent, aggregation: str = "month") -> Any:
    """Tickets closed and replied to, chats closed and answered, calls answered."""
    rows = ask([agent], SPAN, aggregation, NOW)
    found = [
        (
            row["ticket"]["closed"],
            row["ticket"]["total_responded"],
            row["chat"]["closed"],
            row["chat"]["responded"],
            row["inbound"]["answered_count"],
        )
        for row in rows
    ]
    return found[0] if found else None


def summed() -> None:
    refresh()
    settle(NOW)


def removed(kind: str, row: Any) -> None:
    deletions.run(deletions.Deletion.ask(ACTOR, kind, row, "on request").pk)


@pytest.mark.parametrize("aggregation", ["hour", "day", "month", "year", "hour_of_day"])
def test_a_customer_that_is_deleted_takes_tickets_and_chats_out_of_the_report_and_leaves_the_calls(
    agent: Agent, aggregation: str
) -> None:
    customer = a_customer(agent)
    summed()
    assert figures(agent, aggregation) == (1, 1, 1, 1, 1)
    assert Rollup.objects.exists()

    removed("customer", customer)
    at_once = figures(agent, aggregation)
    summed()

    assert (at_once, figures(agent, aggregation)) == ((0, 0, 0, 0, 1), (0, 0, 0, 0, 1))


@pytest.mark.parametrize(("kind", "expected"), [("ticket", (0, 0, 1, 1, 1)), ("chat", (1, 1, 0, 0, 1))])
def test_a_ticket_or_chat_that_is_deleted_takes_only_itself_out_of_the_report(
    agent: Agent, kind: str, expected: tuple[int, ...]
) -> None:
    customer = a_customer(agent)
    summed()

    removed(kind, customer.tickets.get() if kind == "ticket" else agent.chats.get())
    at_once = figures(agent)
    summed()

    assert (at_once, figures(agent)) == (expected, expected)
