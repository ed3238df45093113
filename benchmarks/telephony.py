"""Reading two million connections: GET /connections with each filter, against the same two queries and orjson.

python -m benchmarks.telephony [CONNECTIONS]
"""

import sys
from typing import Any
from urllib.parse import quote

import orjson

from benchmarks.harness import Service, Table, filled, medians

CONNECTIONS = 2_000_000
PAGE = """
SELECT c.id, c.created_at, c.answered_at, c.ended_at, c.src, c.dst, c.disposition, a.login, c.direction, c.queue_id,
  c.customer_id, t.topic_id, tr.status,
  (SELECT r.name FROM telephony_recording r WHERE r.connection_id = c.id AND r.state = 'ready' ORDER BY r.id LIMIT 1)
FROM telephony_connection c LEFT JOIN telephony_agent a ON a.id = c.agent_id
LEFT JOIN telephony_connectiontopic t ON t.connection_id = c.id
LEFT JOIN telephony_transcription tr ON tr.connection_id = c.id
WHERE {where} ORDER BY c.created_at DESC, c.id DESC LIMIT 100
"""
COUNT = "SELECT count(*) FROM telephony_connection c WHERE {where}"


def measure(running: Service, turns: int) -> None:
    table = Table("Reading connections")
    table.head()
    client = running.client()
    connection = running.connect()

    def value(statement: str) -> Any:
        row = connection.execute(statement).fetchone()
        assert row is not None
        return row[0]

    login = value("SELECT login FROM telephony_agent ORDER BY id LIMIT 1 OFFSET 20")
    agent_id = value(f"SELECT id FROM telephony_agent WHERE login = '{login}'")
    queue_id = value("SELECT max(id) FROM telephony_queue")
    day = str(value("SELECT max(created_at)::date - 100 FROM telephony_connection"))
    # A number that called and was called now and then.
    number = value(
        "SELECT src_number FROM telephony_connection WHERE direction = 'INBOUND' ORDER BY id LIMIT 1 OFFSET 99"
    )
    uid = value("SELECT floor(extract(epoch FROM created_at))::bigint || '.' || id FROM telephony_connection LIMIT 1")
    local_day = f"c.created_at >= '{day} 00:00 Europe/Warsaw' AND c.created_at < '{day} 24:00 Europe/Warsaw'"
    cases = {
        "no filter": ("", "true"),
        "a day": (f"date_from={day}&date_to={day}", local_day),
        "an agent": (f"user_login={login}", f"c.agent_id = {agent_id}"),
        "an agent's day": (
            f"user_login={login}&date_from={day}&date_to={day}",
            f"c.agent_id = {agent_id} AND {local_day}",
        ),
        "a queue": (f"queue_id={queue_id}", f"c.queue_id = {queue_id}"),
        "a caller": (f"src={quote(number)}", f"c.src_number = '{number}'"),
        "who was called": (f"dst={quote(number)}", f"c.dst_number = '{number}'"),
        "one connection": (f"connection_id={uid}", f"c.id = {uid.split('.')[1]}"),
    }

    def ping() -> None:
        client.send("GET", "/api/ping", expect=204)

    for name, (query, where) in cases.items():

        def bound(where: str = where) -> None:
            connection.execute(COUNT.format(where=where)).fetchone()
            rows = connection.execute(PAGE.format(where=where)).fetchall()
            orjson.dumps(rows)

        def ours(query: str = query) -> None:
            client.send("GET", f"/api/connections?{query}", expect=200)

        few = 30 if "filter" in name or name == "a queue" else turns
        queried, pinged, answered = medians(few, bound, ping, ours)
        what = f"GET /connections, {name}"
        table.add(what, "the two queries, orjson", queried, answered, ping=pinged, goal_above_ping=2.5)
    connection.close()


def main() -> None:
    measure_many(int(sys.argv[1]) if len(sys.argv) > 1 else CONNECTIONS)


def measure_many(count: int = CONNECTIONS) -> None:
    with filled("connections", count, "telephony_connection", "telephony_offer") as running:
        measure(running, turns=300)


if __name__ == "__main__":
    main()
