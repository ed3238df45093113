"""A batch edit of ten thousand of a million records.

python -m benchmarks.batch [RECORDS]
"""

import itertools
import json
import statistics
import sys

from benchmarks.harness import CAMPAIGNS, Service, Table, service, timed

UPDATE = """
UPDATE campaigns_record r SET status_id = v.status_id, system_status = s.system_status, next_call_at = v.next_call_date
FROM json_to_recordset(%s::json -> 'records')
       AS v(phone_number text, status_id bigint, next_call_date timestamptz)
JOIN campaigns_recordstatus s ON s.id = v.status_id
WHERE r.campaign_id = %s AND r.is_primary AND r.number = v.phone_number
"""
INSERT_HISTORY = """
INSERT INTO campaigns_recordchange (record_id, actor_kind, actor_id, actor_name, action, changes, from_status,
                                    to_status, from_system_status, to_system_status)
SELECT r.id, 'api_user', 1, 'bench', 'edit', '{}', 'To be called', s.name, 'TO_CALL', s.system_status
FROM json_to_recordset(%s::json -> 'records') AS v(phone_number text)
JOIN campaigns_record r ON r.campaign_id = %s AND r.is_primary AND r.number = v.phone_number
JOIN campaigns_recordstatus s ON s.id = r.status_id
"""
INSERT_EVENTS = """
INSERT INTO webhooks_event (event_id, action, subject, payload)
SELECT gen_random_uuid(), 'OUTBOUND_RECORD_STATUS_CHANGED', 'record:' || r.id,
       jsonb_build_object('record_id', r.id, 'outbound_id', c.code, 'phone_number', r.phone_number,
                          'system_status', r.system_status, 'status_id', r.status_id,
                          'next_call_date', to_char(r.next_call_at, 'YYYY-MM-DD HH24:MI'), 'agent_login', NULL)
FROM json_to_recordset(%s::json -> 'records') AS v(phone_number text)
JOIN campaigns_record r ON r.campaign_id = %s AND r.is_primary AND r.number = v.phone_number
JOIN campaigns_campaign c ON c.id = r.campaign_id
"""


def measure(running: Service, records: int, size: int = 10_000, turns: int = 5) -> None:
    table = Table(f"Batch edit of {size:,}, {records:,} records")
    table.head()
    client = running.client()
    connection = running.connect()
    statuses = dict(
        connection.execute(
            "SELECT c.code || s.system_status, s.id FROM campaigns_recordstatus s"
            " JOIN campaigns_campaign c ON c.id = s.campaign_id"
        ).fetchall()
    )
    campaigns = dict(connection.execute("SELECT code, id FROM campaigns_campaign").fetchall())
    of_campaign = records // CAMPAIGNS
    moves = itertools.cycle(["CALL_NO_SOONER_THAN", "CALL_PROGRESSIVE", "CALL"])
    times: dict[str, list[float]] = {"bound": [], "ours": []}
    for turn in range(turns + 1):
        for kind, code in (("bound", "B0001"), ("ours", "B0002")):
            start = (turn * size) % max(of_campaign - size, 1)
            status_id = statuses[code + next(moves)]
            items = [
                {
                    "phone_number": f"+48{500_000_000 + start + position}",
                    "status_id": status_id,
                    "next_call_date": f"2027-01-{position % 28 + 1:02} 12:00",
                }
                for position in range(size)
            ]
            body = json.dumps({"records": items}).encode()

            def bound(body: bytes = body, code: str = code) -> None:
                with connection.transaction():
                    connection.execute(UPDATE, [body.decode(), campaigns[code]])
                    connection.execute(INSERT_HISTORY, [body.decode(), campaigns[code]])
                    connection.execute(INSERT_EVENTS, [body.decode(), campaigns[code]])

            def ours(body: bytes = body, code: str = code) -> None:
                answer = json.loads(client.send("PUT", f"/api/batch/outbounds/{code}/records", body, expect=207))
                assert len(answer) == size
                assert {entry["http_status"] for entry in answer.values()} == {204}

            seconds = timed(bound if kind == "bound" else ours)
            if turn:  # the first round warms up
                times[kind].append(seconds)
    table.add(
        f"PUT batch of {size:,}",
        "one UPDATE and two INSERT … SELECT (history, events)",
        statistics.median(times["bound"]),
        statistics.median(times["ours"]),
        3,
    )
    connection.close()


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with service(records) as running:
        measure(running, records)


if __name__ == "__main__":
    main()
