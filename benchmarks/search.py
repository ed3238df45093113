"""The search of everything and the timeline of a customer, among a million customers, tickets and records each.

The bound of a search is its queries by psycopg, one for each group, each by an index, with what the box shows. The part
"above a ping" leaves out the box without a text, which reads the session and finds nothing.

The indexes of searches are left out while the rows come, and made afterwards. The cost of an index is measured last:
the same requests with and without it.

python -m benchmarks.search [ROWS]
"""

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import psycopg

from benchmarks.harness import WARM_UP, Service, Table, Visitor, fill, manage, medians, service

Connection = psycopg.Connection[Any]

ROWS = 1_000_000
# Names of two words, so that a search for both finds about a hundred among a million, and for one a thousand.
CUSTOMERS = """
WITH new AS (
  INSERT INTO tickets_customer (created_at, updated_at, name, surname, email, identifier, custom_fields)
  SELECT now(), now(), 'Łuc' || chr(97 + n %% 26) || chr(97 + n / 26 %% 26) || 'a',
    'Żółk' || chr(97 + n / 676 %% 26) || chr(97 + n / 17576 %% 26) || 'ski', 'customer' || n || '@bench.example',
    'C-' || n, '{}'
  FROM generate_series(1, %s) AS n RETURNING id
)
INSERT INTO tickets_customernumber (customer_id, phone_number, number)
SELECT id, '+48' || (600000000 + row_number() OVER ()), '+48' || (600000000 + row_number() OVER ()) FROM new
"""
RARE = """
INSERT INTO tickets_message (ticket_id, type, author_name, author_address, body, quoted, body_type, comment,
  system_comment, is_automatic, attachments, ratings, created_at)
SELECT id, 'MAIL', '', '', '<p>The <b>refrigerator</b> number ' || id || ' is too loud.</p>', '', 'HTML', '', '', false,
  '{}', '{}', now()
FROM tickets_ticket WHERE id % 10000 = 0
"""
LATE_INDEXES = ("message_words", "ticket_words", "customer_plain_name", "customernumber_ending", "record_ending")
TABLES = ("tickets_customer", "tickets_customernumber", "tickets_ticket", "tickets_message", "campaigns_record")

CUSTOMER = """
SELECT c.id, c.name, c.surname, c.email, n.phone_number FROM tickets_customer c
LEFT JOIN LATERAL (
  SELECT phone_number FROM tickets_customernumber WHERE customer_id = c.id ORDER BY id LIMIT 1) AS n ON true
WHERE c.id IN ({found}) LIMIT 6
"""
NAME = """
SELECT id FROM tickets_customer
WHERE callcentre_name(name, surname) LIKE %(word0)s AND callcentre_name(name, surname) LIKE %(word1)s LIMIT 50
"""
NUMBER = "SELECT customer_id FROM tickets_customernumber WHERE reverse(number) LIKE %(ending)s LIMIT 50"
EMAIL = "SELECT id FROM tickets_customer WHERE UPPER(email) = UPPER(%(text)s) AND email <> ''"
IDENTIFIER = (
    "SELECT id FROM tickets_customer WHERE identifier = %(text)s AND identifier <> '' AND merged_into_id IS NULL"
)
COMPANY = "SELECT id, name FROM tickets_company WHERE callcentre_name(name) LIKE %(word0)s LIMIT 6"
TICKET = """
SELECT t.id, t.subject, t.updated_at, s.name, c.name, c.surname FROM tickets_ticket t
JOIN tickets_ticketstatus s ON s.id = t.status_id LEFT JOIN tickets_customer c ON c.id = t.customer_id
WHERE t.id IN ({found}) LIMIT 6
"""
WORDS = "SELECT ticket_id FROM tickets_with_words(to_tsquery('callcentre_words', %(query)s), 50)"
SENDER = "SELECT id FROM tickets_ticket WHERE UPPER(sender) = UPPER(%(text)s) AND sender <> '' LIMIT 50"
FIELD = """
SELECT t.id FROM tickets_customfield f CROSS JOIN LATERAL (
  SELECT id FROM tickets_ticket WHERE custom_fields @> jsonb_build_object(f.id::text, %(text)s::text) LIMIT 50) AS t
WHERE f.type = 'text' AND f.owner = 'ticket'
"""
RECORD = """
SELECT r.id, r.phone_number, r.identifier, c.name, s.name FROM campaigns_record r
JOIN campaigns_campaign c ON c.id = r.campaign_id LEFT JOIN campaigns_recordstatus s ON s.id = r.status_id
WHERE r.id IN ({found}) LIMIT 6
"""
RECORD_NUMBER = "SELECT id FROM campaigns_record WHERE reverse(number) LIKE %(ending)s LIMIT 50"
RECORD_IDENTIFIER = """
SELECT id FROM campaigns_record
WHERE campaign_id = ANY(ARRAY(SELECT id FROM campaigns_campaign)) AND identifier = %(text)s AND identifier <> ''
"""
CALL = """
SELECT c.id, c.created_at, c.direction, c.src, c.dst, c.disposition, a.login
FROM telephony_connection c LEFT JOIN telephony_agent a ON a.id = c.agent_id WHERE c.id IN (
  SELECT id FROM telephony_connection WHERE state = 'ended'
    AND reverse(CASE WHEN direction = 'INBOUND' THEN src_number ELSE dst_number END) LIKE %(ending)s LIMIT 50
) LIMIT 6
"""
AGENT = "SELECT id, login, name, surname, number FROM telephony_agent WHERE {condition} LIMIT 6"
AGENT_NAME = AGENT.format(condition="callcentre_name(login || ' ' || name, surname) LIKE %(word0)s")
ARTICLE = "SELECT id, title FROM knowledgebase_article WHERE is_published AND search @@ %(query)s::tsquery LIMIT 6"

BY_NAME = (CUSTOMER.format(found=NAME), COMPANY, TICKET.format(found=WORDS), ARTICLE, AGENT_NAME)
BY_NUMBER = (
    CUSTOMER.format(found=NUMBER),
    RECORD.format(found=RECORD_NUMBER),
    CALL,
    TICKET.format(found=WORDS),
    AGENT.format(condition="number = %(text)s"),
)
# Name of the search -> text, queries.
CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "a first and a last name without accents": ("lucaba zolkab", BY_NAME),
    "a last name": ("zolkabski", BY_NAME),
    "the last four digits of a number": ("4711", BY_NUMBER),
    "a number with blanks": ("+48 600 004 711", BY_NUMBER),
    "an e-mail address": ("customer4711@bench.example", (CUSTOMER.format(found=EMAIL), TICKET.format(found=SENDER))),
    "an identifier": (
        "C-4711",
        (
            CUSTOMER.format(found=IDENTIFIER),
            RECORD.format(found=RECORD_IDENTIFIER),
            TICKET.format(found=f"({FIELD}) UNION ALL {WORDS}"),
            COMPANY,
            AGENT_NAME,
        ),
    ),
    "a rare word of messages": ("refrigerator", BY_NAME),
    "words that a third of the messages have": ("parcel courier", BY_NAME),
}


def values_of(text: str) -> dict[str, Any]:
    digits = "".join(filter(str.isdecimal, text))
    words = text.replace("@", " ").replace(".", " ").replace("+", " ").replace("-", " ").split()
    return {
        "text": text,
        "word0": f"%{text.split(maxsplit=1)[0]}%",
        "word1": f"%{text.rsplit(maxsplit=1)[-1]}%",
        "ending": f"{digits[::-1]}%",
        "query": " & ".join(f"'{word}'" for word in words),
    }


def measure(running: Service, turns: int) -> None:
    table = Table("Search")
    table.head()
    visitor, connection = Visitor(running), running.connect()

    def empty() -> None:
        visitor.send("GET", "/admin/search/?box=1&q=", expect=200)

    for name, (text, queries) in CASES.items():
        values = values_of(text)

        def bound(queries: tuple[str, ...] = queries, values: dict[str, Any] = values) -> None:
            for query in queries:
                connection.execute(query, values).fetchall()

        def ours(text: str = text) -> None:
            query = text.replace("+", "%2B").replace(" ", "+")
            visitor.send("GET", f"/admin/search/?box=1&q={query}", expect=200)

        queried, pinged, answered = medians(turns, bound, empty, ours, warm_up=WARM_UP // 3)
        bound_is = f"{len(queries)} queries by psycopg"
        table.add(f"search for {name}", bound_is, queried, answered, 3, ping=pinged)
    connection.close()


TIMELINE = """
WITH customer AS (SELECT id, email FROM tickets_customer WHERE email = 'customer1@bench.example'),
calls AS (
  INSERT INTO telephony_connection (direction, state, src, dst, src_number, dst_number, customer_id, caller_id,
    created_at, answered_at, ended_at, disposition, hung_up_by, ring_seconds, wait_seconds, is_on_hold, join_count,
    request_id)
  SELECT 'OUTBOUND', 'ended', '101', '+48600000001', '101', '+48600000001', customer.id, '', at, at, at, 'ANSWERED', '',
    0, 0, false, 0, ''
  FROM customer, generate_series(0, 5999) AS n, LATERAL (SELECT now() - n * interval '3 minutes' AS at) AS times
), notes AS (
  INSERT INTO tickets_customernote (customer_id, author_name, message, created_at)
  SELECT customer.id, 'Anna', 'A note.', now() - n * interval '7 minutes' FROM customer, generate_series(0, 2999) AS n
), chats AS (
  INSERT INTO tickets_chat (id, client_name, client_email, queue_id, created_at, closed_at)
  SELECT gen_random_uuid(), 'Anna', customer.email, (SELECT min(id) FROM telephony_queue),
    now() - n * interval '11 minutes', now() FROM customer, generate_series(0, 999) AS n
  WHERE EXISTS (SELECT FROM telephony_queue)
)
UPDATE tickets_ticket SET customer_id = customer.id FROM customer WHERE tickets_ticket.id IN (
  SELECT id FROM tickets_ticket ORDER BY id DESC LIMIT 2000)
"""


def measure_timeline(running: Service, turns: int) -> None:
    table = Table("The timeline of a customer with 11,000 entries")
    table.head()
    client, connection = running.client(), running.connect()
    connection.execute(TIMELINE)
    for name in ("telephony_connection", "tickets_customernote", "tickets_chat", "tickets_ticket"):
        connection.execute(f"VACUUM ANALYZE {name}")
    row = connection.execute("SELECT id FROM tickets_customer WHERE email = 'customer1@bench.example'").fetchone()
    path = f"/api/customers/{(row or [0])[0]}/timeline"
    late = ""
    for _page in range(105):
        answer = orjson.loads(client.send("GET", f"{path}?before={late}", expect=200))
        late = answer["next"] or late

    def first() -> None:
        client.send("GET", path, expect=200)

    def after_many() -> None:
        client.send("GET", f"{path}?before={late}", expect=200)

    begun, later = medians(turns, first, after_many, warm_up=WARM_UP // 3)
    table.add("a page of the timeline after 10,000 entries", "the first page", begun, later, 1.5)


def measure_writes(running: Service, turns: int) -> None:
    """Measure requests that write, with and without the indexes of searches and timelines."""
    table = Table("The cost of the indexes")
    table.head()
    client, connection = running.client(), running.connect()
    numbers = (f"+48{number}" for number in itertools.count(700_000_000))
    tickets = itertools.cycle([pk for (pk,) in connection.execute("SELECT id FROM tickets_ticket LIMIT 1000")])
    login = (connection.execute("SELECT login FROM telephony_agent LIMIT 1").fetchone() or ("",))[0]

    def add_record() -> None:
        client.send("POST", "/api/outbounds/B0007/records", {"phone_number": next(numbers)}, expect=201)

    def comment() -> None:
        body = {"comment": "<p>The parcel has not come yet; please look into it.</p>", "user_login": login}
        client.send("POST", f"/api/tickets/{next(tickets)}/comment", body, expect=204)

    cases: tuple[tuple[str, Callable[[], None], tuple[str, ...]], ...] = (
        ("add a record", add_record, ("record_ending",)),
        ("comment on a ticket", comment, ("message_words", "ticket_words", "ticket_in_timeline")),
    )
    for name, action, indexes in cases:
        (before,) = medians(turns, action, warm_up=WARM_UP)
        with without_indexes(connection, indexes):
            (bare,) = medians(turns, action, warm_up=WARM_UP)
        (after,) = medians(turns, action, warm_up=WARM_UP)
        table.add(name, "without the indexes", bare, (before + after) / 2, 1.1)


@contextmanager
def without_indexes(connection: Connection, names: tuple[str, ...]) -> Iterator[None]:
    """Drop these indexes, and make them again at the end."""
    rows = connection.execute("SELECT indexname, indexdef FROM pg_indexes WHERE indexname = ANY(%s)", [[*names]])
    statements = dict(rows.fetchall())
    for name in statements:
        connection.execute(f"DROP INDEX {name}")
    yield
    for statement in statements.values():
        connection.execute(statement)


@contextmanager
def filled(rows: int) -> Iterator[Service]:
    with service(0) as running, running.connect() as connection:
        with without_indexes(connection, LATE_INDEXES):
            manage(running.environment, "generate_data", "--tickets", str(rows), "--connections", str(rows // 5))
            connection.execute(CUSTOMERS, [rows])
            connection.execute(RARE)
            fill(running, rows)
        for name in TABLES:
            connection.execute(f"VACUUM ANALYZE {name}")
        connection.execute("CHECKPOINT")
        yield running


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with filled(rows) as running:
        measure(running, turns=200)
        measure_timeline(running, turns=200)
        measure_writes(running, turns=500)


if __name__ == "__main__":
    main()
