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
from tests.tickets.factories import ChatFactory, ChatMessageFactory, CustomerFactory, MessageFactory, TicketFactory

pytestmark = pytest.mark.django_db
AT = datetime(2026, 10, 14, 10, 20, tzinfo=UTC)
SPAN = (AT - timedelta(days=13), AT + timedelta(days=17))
NOW = AT + timedelta(days=35)


@pytest.fixture
def agent():
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


# Tickets closed and replied to, chats closed and answered, calls answered.
FIGURES = [
    *(("ticket", "closed"), ("ticket", "total_responded"), ("chat", "closed"), ("chat", "responded")),
    ("inbound", "answered_count"),
]


def figures(agent: Agent, aggregation: str = "month") -> tuple[int, ...]:
    row = ask([agent], SPAN, aggregation, NOW)[0]
    return tuple(row[group][name] for group, name in FIGURES)


def summed() -> None:
    refresh()
    settle(NOW)


@pytest.mark.parametrize(
    ("kind", "aggregation", "expected"),
    [
        *(("customer", length, (0, 0, 0, 0, 1)) for length in ("hour", "day", "month", "year", "hour_of_day")),
        ("ticket", "month", (0, 0, 1, 1, 1)),
        ("chat", "month", (1, 1, 0, 0, 1)),
    ],
)
def test_what_is_deleted_is_out_of_the_report_at_once_and_the_calls_of_a_customer_stay(
    agent, kind, aggregation, expected
):
    customer = a_customer(agent)
    summed()
    assert figures(agent, aggregation) == (1, 1, 1, 1, 1)
    assert Rollup.objects.exists()

    row = {"customer": customer, "ticket": customer.tickets.get(), "chat": agent.chats.get()}[kind]
    deletions.run(deletions.Deletion.ask(ACTOR, kind, row, "on request").pk)
    at_once = figures(agent, aggregation)
    summed()

    assert (at_once, figures(agent, aggregation)) == (expected, expected)
