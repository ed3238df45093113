"""Reading a million tickets with three messages each, and commenting one.

The bound of a list is the least work for it: the page in two row fetches, the number of all, and JSON. Where a third
of the tickets match, their exact count is nearly all of it, so the rest has a row of its own.

python -m benchmarks.tickets [TICKETS]
"""

import itertools
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import orjson
import psycopg

from benchmarks.harness import WARM_UP, Client, Service, Table, filled, manage, medians

Connection = psycopg.Connection[Any]

TICKETS = 1_000_000
# The page's keys are found in an index first, so that an offset reads no unwanted row.
PAGE = """
SELECT t.id, a.login, t.sender, q.name, t.queue_id, t.subject, t.category_id, t.source, t.status_id, t.substatus_id,
  t.tags, t.customer_id, s.name, ss.name, t.created_at, t.updated_at, t.closed_at, t.first_agent_responded_at,
  t.connected_ids, t.custom_fields
FROM tickets_ticket t JOIN tickets_ticketqueue q ON q.id = t.queue_id
JOIN tickets_ticketstatus s ON s.id = t.status_id LEFT JOIN tickets_ticketsubstatus ss ON ss.id = t.substatus_id
LEFT JOIN telephony_agent a ON a.id = t.agent_id
WHERE t.id IN (
  SELECT id FROM tickets_ticket WHERE {where} ORDER BY updated_at DESC, id DESC LIMIT 100 OFFSET {offset}
) ORDER BY t.updated_at DESC, t.id DESC
"""
MESSAGES = """
SELECT m.ticket_id, m.id, a.login, m.type, m.body, m.comment, m.system_comment, m.created_at, m.attachments, m.ratings
FROM tickets_message m LEFT JOIN telephony_agent a ON a.id = m.agent_id
WHERE m.ticket_id = ANY(%s) ORDER BY m.created_at, m.id
"""
NUMBER = "SELECT sum(count) FROM tickets_ticketcount"
COUNT = "SELECT count(*) FROM tickets_ticket WHERE {where}"
# Five agents who follow the second thousand of tickets.
FOLLOWERS = """
from callcentre.models import User
from telephony.models import Agent
from tickets.models import Ticket, TicketFollower

followed = Ticket.objects.order_by("id")[1000:2000]
for number in range(5):
    user = User.objects.create(username=f"follower-{number}", is_staff=True, is_superuser=True)
    agent = Agent.objects.create(login=f"follower-{number}", name="Follower", user=user)
    TicketFollower.objects.bulk_create(TicketFollower(ticket=each, agent=agent) for each in followed)
"""
FREQUENT = "a value that a third of the tickets have"


def measure(running: Service, turns: int) -> None:
    table = Table("Tickets")
    table.head()
    client, connection = running.client(), running.connect()

    def ping() -> None:
        client.send("GET", "/api/ping", expect=204)

    _measure_lists(table, client, connection, ping, turns)
    manage(running.environment, "shell", "-c", FOLLOWERS)
    for name, first in (("", 0), (" with five followers", 1000)):
        _measure_comments(table, client, connection, ping, turns * 2, name=name, first=first)
    connection.close()


def _cases(connection: Connection) -> dict[str, tuple[str, str, int]]:
    """Return the query, condition and offset of each list."""

    def value(statement: str) -> Any:
        row = connection.execute(statement).fetchone()
        assert row is not None
        return row[0]

    queue = value("SELECT queue_id FROM tickets_ticket GROUP BY 1 ORDER BY count(*) LIMIT 1 OFFSET 2")
    status = value("SELECT id FROM tickets_ticketstatus WHERE kind = 'waiting_for_customer'")
    day = str(value("SELECT max(created_at)::date - 100 FROM tickets_ticket"))
    fields = dict(connection.execute("SELECT name, id FROM tickets_customfield WHERE owner = 'ticket'").fetchall())
    field = fields["order_number"]
    number = value(f"SELECT custom_fields->>'{field}' FROM tickets_ticket ORDER BY id LIMIT 1 OFFSET 4000")
    since = f"updated_at >= '{day} 00:00 Europe/Warsaw'"
    has_number = f'custom_fields @> \'{{"{field}": "{number}"}}\''
    is_high = f'custom_fields @> \'{{"{fields["priority"]}": "high"}}\''
    return {
        "100 newest": ("", "true", 0),
        "a queue": (f"ticket_queue_id={queue}", f"queue_id = {queue}", 0),
        "a status since a day": (f"status_id[]={status}&date_from={day}", f"status_id = {status} AND {since}", 0),
        "a custom field": (f"custom_fields[order_number]={quote(number)}", has_number, 0),
        FREQUENT: ("custom_fields[priority]=high", is_high, 0),
        "at offset 100,000": ("offset=100000", "true", 100_000),
    }


def _measure_lists(table: Table, client: Client, connection: Connection, ping: Callable[[], None], turns: int) -> None:
    for name, (query, where, offset) in _cases(connection).items():
        counting = NUMBER if where == "true" else COUNT.format(where=where)

        def count(counting: str = counting) -> None:
            connection.execute(counting).fetchone()

        def bound(where: str = where, offset: int = offset, count: Callable[[], None] = count) -> None:
            count()
            rows = connection.execute(PAGE.format(where=where, offset=offset)).fetchall()
            by_ticket = defaultdict(list)
            for message in connection.execute(MESSAGES, [[row[0] for row in rows]]):
                by_ticket[message[0]].append(message)
            orjson.dumps([(row, by_ticket[row[0]]) for row in rows])

        def ours(query: str = query) -> None:
            client.send("GET", f"/api/tickets?include_custom_fields=true&{query}", expect=200)

        queried, pinged, answered, counted = medians(turns, bound, ping, ours, count, warm_up=WARM_UP)
        bound_is = "the page in two row fetches, the count, orjson"
        table.add(f"GET /tickets, {name}", bound_is, queried, answered, ping=pinged, goal_above_ping=2)
        if name == FREQUENT:
            table.add_time(f"GET /tickets, {name}, without the time of the count", answered - counted, 0.04)


def _measure_comments(
    table: Table, client: Client, connection: Connection, ping: Callable[[], None], turns: int, *, name: str, first: int
) -> None:
    rows = connection.execute("SELECT id FROM tickets_ticket ORDER BY id LIMIT 1000 OFFSET %s", [first])
    ids = itertools.cycle([row[0] for row in rows])
    agent_id, login = connection.execute("SELECT id, login FROM telephony_agent LIMIT 1").fetchone() or (0, "")

    def insert_and_update() -> None:
        ticket_id = next(ids)
        with connection.transaction():
            connection.execute(
                """
                INSERT INTO tickets_message (ticket_id, type, agent_id, author_name, author_address, body, quoted,
                  body_type, comment, system_comment, is_automatic, attachments, ratings, created_at)
                VALUES (%s, 'COMMENT', %s, '', '', '', '', 'HTML', '<p>A word.</p>', '', false, '{}', '{}', now())
                """,
                [ticket_id, agent_id],
            )
            connection.execute("UPDATE tickets_ticket SET updated_at = now() WHERE id = %s", [ticket_id])

    def comment() -> None:
        body = {"comment": "<p>A word.</p>", "user_login": login}
        client.send("POST", f"/api/tickets/{next(ids)}/comment", body, expect=204)

    written, pinged, answered = medians(turns, insert_and_update, ping, comment, warm_up=WARM_UP)
    table.add(f"POST /tickets/:id/comment{name}", "INSERT, UPDATE, commit", written, answered, 5, ping=pinged)


def main() -> None:
    measure_many(int(sys.argv[1]) if len(sys.argv) > 1 else TICKETS)


def measure_many(count: int = TICKETS) -> None:
    with filled("tickets", count, "tickets_ticket", "tickets_message") as running:
        measure(running, turns=200)


if __name__ == "__main__":
    main()
