"""Agents of one transaction are locked in the order of their ids: of two calls none waits for the other for ever."""

import re
from collections.abc import Callable

import pytest
from django.db import connection as database
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from telephony.calls import placement, switch_events
from telephony.models import Agent, Connection, Queue
from telephony.switch.base import Ended, Up
from telephony.verbs import connections, presence
from tests.conftest import ACTOR
from tests.telephony.callers import ask, give_up, talk_in
from tests.telephony.factories import AgentFactory, QueueMemberFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("switch")]

# One agent; or several, in the order of their ids.
LOCK = re.compile(
    r"FROM telephony_agent WHERE id = (?:ANY\(')?([\d,{}]+)(?:'::\w+\[\]\) ORDER BY id)? FOR NO KEY UPDATE"
)


def inbound(queue: Queue, first: Agent) -> Connection:
    QueueMemberFactory(queue=queue, agent=first)
    return talk_in()


def outbound(queue: Queue, first: Agent) -> Connection:
    call = connections.call(ACTOR, sip=first.number, phone_number="+48225550107")
    placement.place(call.pk)
    for number in (1, 2):
        switch_events.handle(Up(f"callcentre-{call.pk}-{number}", timezone.now()))
    return call


def target_is_busy(call: Connection) -> None:
    switch_events.handle(Ended(call.legs.get(role="target").channel_id, timezone.now(), 17))


def locked_by(act: Callable[[], None]) -> list[list[int]]:
    """Return the agents that each transaction has locked, in its order, each once."""
    with CaptureQueriesContext(database) as queries:
        act()
    transactions: list[list[int]] = [[]]
    for query in queries:
        if query["sql"] == "BEGIN":
            transactions.append([])
        elif found := LOCK.search(query["sql"]):
            agents = sorted(int(pk) for pk in found[1].strip("{}").split(","))
            transactions[-1] += [pk for pk in agents if pk not in transactions[-1]]
    return [agents for agents in transactions if len(agents) > 1]


@pytest.mark.parametrize("begin", [inbound, outbound])
@pytest.mark.parametrize("act", ["transfer", "target_is_busy", "give_up"])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_two_agents_of_a_call_are_locked_in_one_order(begin, act, is_reversed, queue):
    first, second = sorted((AgentFactory(number=number) for number in ("101", "109")), key=lambda agent: agent.pk)
    if is_reversed:
        first, second = second, first
    for agent in (first, second):
        presence.log_in(agent, ACTOR)
    call = begin(queue, first)
    if act != "transfer":
        ask(call, "transfer", number=second.number)

    together = locked_by(
        {
            "transfer": lambda: ask(call, "transfer", number=second.number),
            "target_is_busy": lambda: target_is_busy(call),
            "give_up": lambda: give_up(call),
        }[act]
    )

    assert together == [sorted([first.pk, second.pk])]
