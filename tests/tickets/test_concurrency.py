"""Concurrent transactions: no change is lost, and events that happen once are recorded once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import Sum

from callcentre.core.actor import Actor
from callcentre.core.errors import Conflict, Invalid
from callcentre.models import ApiUser
from tests.conftest import ACTOR
from tests.telephony.factories import AgentFactory, AgentSessionFactory
from tests.tickets.factories import (
    ChatFactory,
    CustomFieldFactory,
    StoredFileFactory,
    TeamFactory,
    TeamMemberFactory,
    TicketFactory,
    TicketQueueFactory,
)
from tickets.models import Customer, Message, Ticket, TicketCount, TicketStatus
from tickets.verbs.assignment import assign_waiting, take_next
from tickets.verbs.chats import close_chat, write_in_chat
from tickets.verbs.customers import create_customer
from tickets.verbs.merges import merge_tickets
from tickets.verbs.messages import comment_on, receive_message, reply_to
from tickets.verbs.tickets import edit_ticket, open_ticket
from webhooks.models import Event

pytestmark = pytest.mark.usefixtures("committed_db")


def at_once(*actions: Callable[[], Any]) -> list[Any]:
    """Run the actions at the same time, each on its own connection; return their results or refusals."""
    gate = Barrier(len(actions))

    def run(action: Callable[[], Any]) -> Any:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            gate.wait(60)
            return action()
        except (Invalid, Conflict) as refusal:
            return refusal
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return [future.result() for future in [pool.submit(run, action) for action in actions]]


def refusals(results: list[Any]) -> list[Any]:
    return [result for result in results if isinstance(result, Exception)]


def test_concurrent_replies_set_the_first_response_once():
    agents = AgentFactory.create_batch(8)
    ticket = TicketFactory()

    results = at_once(
        *(lambda agent=agent: reply_to(ticket, ACTOR, agent_login=agent.login, body="x") for agent in agents)
    )

    assert not refusals(results)
    ticket.refresh_from_db()
    messages = list(ticket.messages.order_by("id"))
    assert {message.agent for message in messages} == set(agents)
    assert ticket.first_agent_responded_at == messages[0].created_at
    notes = [message.system_comment for message in messages]
    assert notes == ["Changed status from [New] to [Waiting for customer]"] + [""] * 7
    assert ticket.updated_at == messages[-1].created_at
    assert Event.objects.filter(action="TICKET_AGENT_RESPONDED").count() == 8
    assert Event.objects.filter(action="TICKET_UPDATED").count() == 1


@pytest.mark.slow("runs threads")
def test_agents_who_take_the_next_ticket_at_once_get_each_ticket_once():
    agents, tickets = AgentFactory.create_batch(20), TicketFactory.create_batch(50, queue=TicketQueueFactory())

    taken = at_once(*(lambda agent=agent: [take_next(agent, ACTOR) for _n in range(3)] for agent in agents))

    assert sorted(ticket.pk for few in taken for ticket in few if ticket) == [ticket.pk for ticket in tickets]
    holders = Ticket.objects.order_by("pk").values_list("pk", "agent")
    assert dict(holders) == {
        ticket.pk: agent.pk for agent, few in zip(agents, taken, strict=True) for ticket in few if ticket
    }


@pytest.mark.parametrize("assignment", ["round_robin", "least_loaded"])
def test_no_member_gets_more_tickets_at_once_than_the_limit(assignment: str):
    team = TeamFactory(assignment=assignment, most_open=2)
    agents = [TeamMemberFactory(team=team, agent=AgentSessionFactory().agent).agent for _n in range(3)]
    queue = TicketQueueFactory(team=team)

    def open_one() -> int:
        open_ticket(ACTOR, subject="s", body="b", queue_id=queue.pk)
        return assign_waiting(team)

    counts = at_once(*[open_one] * 10)

    assert sum(counts) == 6
    assert sorted(Ticket.objects.exclude(agent=None).values_list("agent", flat=True)) == sorted(
        agent.pk for agent in agents * 2
    )


def test_concurrent_replies_comments_mails_and_edits_are_all_kept():
    field, other = CustomFieldFactory(), CustomFieldFactory()
    agent, ticket = AgentFactory(), TicketFactory()

    results = at_once(
        *[lambda: comment_on(ticket, ACTOR, agent_login=agent.login, text="x")] * 3,
        *[lambda: receive_message(ticket, ACTOR, body="x")] * 3,
        lambda: reply_to(ticket, ACTOR, agent_login=agent.login, body="x"),
        lambda: edit_ticket(ticket, ACTOR, custom_fields={field.name: "1"}),
        lambda: edit_ticket(ticket, ACTOR, custom_fields={other.name: "2"}),
        lambda: edit_ticket(ticket, ACTOR, tags=["a"]),
    )

    assert not refusals(results)
    ticket.refresh_from_db()
    assert sorted(ticket.messages.values_list("type", flat=True)) == ["COMMENT"] * 3 + ["MAIL"] * 3 + ["REPLY"]
    assert (ticket.custom_fields, ticket.tags) == ({str(field.pk): "1", str(other.pk): "2"}, ["a"])
    assert ticket.first_agent_responded_at == ticket.messages.get(type="REPLY").created_at


def test_only_one_of_many_concurrent_replies_uses_a_token():
    user, _ = ApiUser.create(ACTOR, "uploader", rights=["*"])
    actor = Actor("api_user", user.pk, user.login)
    file, agent = StoredFileFactory(api_user=user), AgentFactory()
    tickets = TicketFactory.create_batch(6, queue=TicketQueueFactory())

    def use(ticket):
        return reply_to(ticket, actor, agent_login=agent.login, body="x", attachments=[file.token])

    results = at_once(*(lambda ticket=ticket: use(ticket) for ticket in tickets))

    refused = refusals(results)
    assert len(refused) == 5
    assert {fault.code.name for error in refused for fault in error.faults} == {"FILE_NOT_FOUND"}
    message = Message.objects.get()
    file.refresh_from_db()
    assert (message.attachments, file.message) == ([file.token], message)


@pytest.mark.parametrize("turn", range(5))
def test_concurrent_merges_in_a_circle_keep_every_message(turn):
    agent = AgentFactory()
    one, other, third = TicketFactory.create_batch(3, queue=TicketQueueFactory())

    results = at_once(
        lambda: merge_tickets(one, other, ACTOR),
        lambda: merge_tickets(other, third, ACTOR),
        lambda: merge_tickets(third, one, ACTOR),
        lambda: comment_on(one, ACTOR, agent_login=agent.login, text="x"),
        lambda: receive_message(other, ACTOR, body="x"),
    )

    current = Ticket.objects.filter(merged_into=None)
    assert current.count() >= 1
    assert not Ticket.objects.filter(merged_into__merged_into__isnull=False).exists()
    said = Message.objects.exclude(system_comment__contains="[Merged]")
    written = [result for result in results if isinstance(result, Message)]
    assert {message.pk for message in said} == {message.pk for message in written}
    assert not said.exclude(ticket__in=current).exists()
    assert Ticket.objects.exclude(merged_into=None).count() == 3 - len(refusals(results[:3]))


def test_messages_during_a_chain_of_merges_reach_the_last_ticket():
    """A message that follows a merge releases its lock, which the next merge needs."""
    tickets = TicketFactory.create_batch(4, queue=TicketQueueFactory())
    merge_tickets(tickets[0], tickets[1], ACTOR)

    results = at_once(
        lambda: merge_tickets(tickets[1], tickets[2], ACTOR),
        lambda: merge_tickets(tickets[2], tickets[3], ACTOR),
        *[lambda: receive_message(tickets[0], ACTOR, body="x")] * 4,
        *[lambda: receive_message(tickets[2], ACTOR, body="x")] * 2,
    )

    received = [result for result in results if isinstance(result, Message)]
    assert len(received) == 6
    assert not Message.objects.filter(type="MAIL", ticket__merged_into__isnull=False).exists()


def test_chat_is_assigned_to_one_of_many_agents_and_closed_once():
    chat, agents = ChatFactory(), AgentFactory.create_batch(4)

    at_once(*(lambda agent=agent: write_in_chat(chat, ACTOR, body="x", agent_login=agent.login) for agent in agents))
    at_once(*[lambda: close_chat(chat, ACTOR)] * 4)

    chat.refresh_from_db()
    assert (chat.agent, chat.answered_at) == (chat.messages.first().agent, chat.messages.first().created_at)
    assert chat.messages.count() == 4
    assert Event.objects.filter(action="CHAT_AGENT_ASSIGNED").count() == 1
    assert Event.objects.filter(action="CHAT_CONVERSATION_CLOSED").count() == 1


# The number of all tickets


def counted() -> int:
    return TicketCount.objects.aggregate(total=Sum("count"))["total"] or 0


class RolledBack(Exception):
    pass


@pytest.mark.slow("runs threads")
def test_number_of_tickets_is_exact_during_commits_and_rollbacks():
    queue, status = TicketQueueFactory(), TicketStatus.objects.get(kind="new")
    TicketFactory.create_batch(10, queue=queue)
    wrong: list[tuple[int, int]] = []

    def write(number):
        for turn in range(10):
            try:
                with transaction.atomic():
                    for _ in range(number + 1):
                        Ticket.objects.create(queue=queue, status=status, source="www", subject=str(turn))
                    Ticket.objects.filter(pk=Ticket.objects.order_by("id").values("pk")[:1]).delete()
                    if turn % 3 == number % 3:
                        raise RolledBack
            except RolledBack:
                pass

    def watch():
        for _ in range(60):
            with transaction.atomic(), connection.cursor() as cursor:
                # Both counts are of one snapshot, because the number is exact at every moment.
                cursor.execute(
                    "SELECT (SELECT sum(count) FROM tickets_ticketcount), (SELECT count(*) FROM tickets_ticket)"
                )
                kept, there = cursor.fetchone()
                if kept != there:
                    wrong.append((kept, there))

    at_once(*(lambda number=number: write(number) for number in range(6)), watch, watch)

    assert not wrong
    assert counted() == Ticket.objects.count() > 10


def test_number_of_tickets_after_every_kind_of_statement():
    queue = TicketQueueFactory()
    open_ticket(ACTOR, subject="S", body="B", queue_id=queue.pk)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO tickets_ticket (subject, source, queue_id, status_id, sender, sender_name, tags, custom_fields,
              connected_ids, created_at, updated_at)
            SELECT 'S', 'www', %s, (SELECT min(id) FROM tickets_ticketstatus), '', '', '{}', '{}', '{}', now(), now()
            FROM generate_series(1, 1000)
            """,
            [queue.pk],
        )
    assert counted() == 1001
    Ticket.objects.filter(subject="S", source="www").delete()
    assert counted() == 1
    Ticket.objects.filter(source="telegraph").delete()
    assert counted() == 1
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE tickets_ticket CASCADE")
    assert counted() == 0


def test_sessions_write_to_different_parts_of_the_number():
    """A session that has opened a ticket and not committed yet does not block other sessions."""
    queue, status = TicketQueueFactory(), TicketStatus.objects.get(kind="new")
    slots: list[int] = []
    gate = Barrier(4)

    def write():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid() % 64")
            slots.append(cursor.fetchone()[0])
        gate.wait(60)
        if len(set(slots)) == 4:
            with transaction.atomic():
                Ticket.objects.create(queue=queue, status=status, source="www", subject="S")
                gate.wait(60)  # all four have written, none has committed

    at_once(*[write] * 4)

    assert len(set(slots)) < 4 or Ticket.objects.count() == counted() == 4


def test_concurrent_customers_with_one_identifier():
    def enter():
        try:
            return create_customer(ACTOR, surname="S", identifier="C-1")
        except IntegrityError as error:
            cause: Any = error.__cause__
            return str(cause.diag.constraint_name)

    results = at_once(*[enter] * 5)

    assert Customer.objects.count() == 1
    names = {result for result in results if isinstance(result, str)}
    assert names <= {"customer_identifier_is_unique"}
