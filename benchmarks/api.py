"""Single requests on a million records: a ping, adding a record, reading a record by its number.

python -m benchmarks.api [RECORDS]
"""

import itertools
import sys

import orjson

from benchmarks.harness import CAMPAIGNS, Service, Table, medians, service, web_server

INSERT_RECORD = """
INSERT INTO campaigns_record (campaign_id, phone_number, number, is_primary, status_id, system_status, identifier,
                              last_note, fields, leased_by)
VALUES (%s, %s, %s, true, %s, 'TO_CALL', '', '', '{}', '') RETURNING id
"""
INSERT_HISTORY = """
INSERT INTO campaigns_recordchange (record_id, actor_kind, actor_id, actor_name, action, changes, from_status,
                                    to_status, from_system_status, to_system_status)
VALUES (%s, 'api_user', 1, 'bench', 'create', '{}', '', 'To be called', '', 'TO_CALL')
"""


RECORD = """
SELECT r.id, c.code, r.phone_number, r.system_status, s.id, s.name, r.next_call_at, a.login, r.identifier, r.last_note,
  r.created_at, r.fields
FROM campaigns_record r JOIN campaigns_campaign c ON c.id = r.campaign_id
LEFT JOIN campaigns_recordstatus s ON s.id = r.status_id LEFT JOIN telephony_agent a ON a.id = r.agent_id
WHERE r.is_primary AND r.number = %s AND c.code = %s
"""


def measure(running: Service, records: int, turns: int) -> None:
    table = Table(f"Single requests, {records:,} records")
    table.head()
    client = running.client()
    connection = running.connect()

    def ping() -> None:
        client.send("GET", "/api/ping", expect=204)

    with web_server(running, "bare", bare=True) as server:
        bare = server.client()
        bound, ours = medians(turns, lambda: bare.send("GET", "/api/ping", expect=204), ping)
    table.add("GET /api/ping, the null request", "a bare Django view", bound, ours, 2.5)

    row = connection.execute(
        "SELECT c.id, s.id FROM campaigns_campaign c JOIN campaigns_recordstatus s ON s.campaign_id = c.id"
        " WHERE c.code = 'B0007' AND s.system_status = 'TO_CALL'"
    ).fetchone()
    assert row is not None
    campaign_id, status_id = row
    numbers = (f"+48{number}" for number in itertools.count(600_000_000))

    def insert() -> None:
        number = next(numbers)
        with connection.transaction():
            added = connection.execute(INSERT_RECORD, [campaign_id, number, number, status_id]).fetchone()
            assert added is not None
            connection.execute(INSERT_HISTORY, added)

    def post() -> None:
        client.send("POST", "/api/outbounds/B0007/records", {"phone_number": next(numbers)}, expect=201)

    bound, pinged, ours = medians(turns, insert, ping, post)
    bound_is = "INSERT of record and history, commit"
    table.add("POST record", bound_is, bound, ours, ping=pinged, goal_above_ping=2.5)

    places = itertools.cycle(range(0, records, max(records // 5000, 1)))

    def select() -> None:
        place = next(places)
        number, code = f"+48{500_000_000 + place // CAMPAIGNS}", f"B{place % CAMPAIGNS:04}"
        orjson.dumps(connection.execute(RECORD, [number, code], prepare=True).fetchone())

    def get(end: str = "") -> None:
        place = next(places)
        path = f"/api/outbounds/B{place % CAMPAIGNS:04}/records/%2B48{500_000_000 + place // CAMPAIGNS}{end}"
        client.send("GET", path, expect=200)

    bound, pinged, ours = medians(turns, select, ping, get)
    table.add("GET record by number", "one SELECT, orjson", bound, ours, ping=pinged, goal_above_ping=4)
    read, ours = medians(turns, get, lambda: get("/why"))
    table.add("GET why a record is not called", "GET record by number", read, ours, 3)
    connection.close()


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with service(records) as running:
        measure(running, records, turns=2000)


if __name__ == "__main__":
    main()
