"""Batch edits of ten thousand of a million records, by the verb and over HTTP, also the first after a checkpoint.

python -m benchmarks.batch [RECORDS] [TURNS]

The bound is one statement: it updates the records of the given numbers, and writes their history and their events. The
numbers are drawn at random from one campaign, in a random order.
"""

import itertools
import json
import os
import random
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import django
import psycopg

from benchmarks.harness import CAMPAIGNS, Client, Service, Table, service, timed

CODE = "B0001"
SIZE = 10_000
BOUND = """
WITH edited AS (
  UPDATE campaigns_record r
  SET status_id = s.id, system_status = s.system_status, next_call_at = v.next_call_date
  FROM json_to_recordset(%s::json -> 'records')
         AS v(phone_number text, status_id bigint, next_call_date timestamptz)
  JOIN campaigns_recordstatus s ON s.id = v.status_id
  JOIN campaigns_campaign c ON c.id = s.campaign_id
  WHERE r.campaign_id = c.id AND r.is_primary AND r.number = v.phone_number
  RETURNING r.id, r.phone_number, r.system_status, r.status_id, r.next_call_at, s.name, c.code
), history AS (
  INSERT INTO campaigns_recordchange (record_id, actor_kind, actor_id, actor_name, action, changes, from_status,
                                      to_status, from_system_status, to_system_status)
  SELECT id, 'api_user', 1, 'bench', 'edit', jsonb_build_object('next_call_at', jsonb_build_array(NULL, next_call_at)),
         'To be called', name, 'TO_CALL', system_status
  FROM edited
)
INSERT INTO webhooks_event (event_id, action, subject, payload)
SELECT gen_random_uuid(), 'OUTBOUND_RECORD_STATUS_CHANGED', 'record:' || id,
       jsonb_build_object('record_id', id, 'outbound_id', code, 'phone_number', phone_number,
                          'system_status', system_status, 'status_id', status_id,
                          'next_call_date', to_char(next_call_at, 'YYYY-MM-DD HH24:MI'), 'agent_login', NULL)
FROM edited
"""
MOVES = ("CALL_NO_SOONER_THAN", "CALL_PROGRESSIVE", "CALL")
Items = list[dict[str, Any]]


def measure(running: Service, records: int, turns: int = 5) -> None:
    size = min(SIZE, records // CAMPAIGNS)
    connection = running.connect()
    batches = _batches(connection, records // CAMPAIGNS, size)
    bound, verb, http = _bound(connection), _verb(running), _http(running.client())
    table = Table(f"Batch edit of {size:,} of {records:,} records, drawn at random")
    table.head()

    statement = "one UPDATE with history and events"
    later = _times(turns, batches, bound, verb, http)
    table.add("the verb", statement, later[0], later[1], 3)
    table.add("PUT over HTTP", statement, later[0], later[2], 4)

    first = _times(turns, batches, bound, verb, http, before=lambda: connection.execute("CHECKPOINT"))
    table.add("the first verb after a checkpoint", "a later one", later[1], first[1], 2)
    table.add("the first PUT after a checkpoint", "a later one", later[2], first[2], 2)
    print(f"\nThe bound, the first after a checkpoint: {first[0] * 1000:,.0f} ms")
    connection.close()


def _batches(connection: psycopg.Connection[Any], of_campaign: int, size: int) -> Iterator[Items]:
    """Return the items of batches without end. Each item changes the status and the next call of its record."""
    chance = random.Random("batches")
    statuses = dict(
        connection.execute(
            "SELECT s.system_status, s.id FROM campaigns_recordstatus s"
            " JOIN campaigns_campaign c ON c.id = s.campaign_id WHERE c.code = %s",
            [CODE],
        ).fetchall()
    )
    moves = {place: itertools.cycle(MOVES) for place in range(of_campaign)}
    for turn in itertools.count():
        yield [
            {
                "phone_number": f"+48{500_000_000 + place}",
                "status_id": statuses[next(moves[place])],
                "next_call_date": f"{2030 + turn}-{place % 12 + 1:02}-{place % 28 + 1:02} 12:00",
            }
            for place in chance.sample(range(of_campaign), size)
        ]


def _times(
    turns: int,
    batches: Iterator[Items],
    *actions: Callable[[Items], Callable[[], None]],
    before: Callable[[], Any] = lambda: None,
) -> list[float]:
    """Return the median time of each action on a batch, in turns. The first turn warms up."""
    times: list[list[float]] = []
    for _ in range(turns + 1):
        times.append([])
        for action in actions:
            run = action(next(batches))
            before()
            times[-1].append(timed(run))
    return [statistics.median(column) for column in zip(*times[1:], strict=True)]


def _bound(connection: psycopg.Connection[Any]) -> Callable[[Items], Callable[[], None]]:
    def prepare(items: Items) -> Callable[[], None]:
        body = json.dumps({"records": items})

        def run() -> None:
            cursor = connection.execute(BOUND, [body])
            assert cursor.rowcount == len(items)

        return run

    return prepare


def _verb(running: Service) -> Callable[[Items], Callable[[], None]]:
    with patch.dict(os.environ, {**running.environment, "DJANGO_SETTINGS_MODULE": "callcentre.settings"}):
        del os.environ["PROMETHEUS_MULTIPROC_DIR"]
        django.setup()
        from callcentre.core.actor import SYSTEM  # noqa: PLC0415  (Django must be set up)
        from callcentre.core.parsing import parse_instant  # noqa: PLC0415
        from campaigns.models.rules import CampaignFacts  # noqa: PLC0415
        from campaigns.verbs.record_edits import Edit, edit_records  # noqa: PLC0415

    def prepare(items: Items) -> Callable[[], None]:
        facts = CampaignFacts.read(CODE)
        assert facts is not None
        edits = [
            Edit(
                item["phone_number"],
                {"status_id": item["status_id"], "next_call_at": parse_instant(item["next_call_date"])},
            )
            for item in items
        ]

        def run() -> None:
            edit_records(facts, SYSTEM, edits)
            assert not any(edit.faults for edit in edits)

        return run

    return prepare


def _http(client: Client) -> Callable[[Items], Callable[[], None]]:
    def prepare(items: Items) -> Callable[[], None]:
        path, body = f"/api/batch/outbounds/{CODE}/records", json.dumps({"records": items}).encode()
        wanted = {item["phone_number"]: {"http_status": 204} for item in items}
        answers: list[bytes] = []

        def run() -> None:
            answers.append(client.send("PUT", path, body, expect=207))
            if json.loads(answers[-1]) != wanted:
                raise RuntimeError(answers[-1][:500])

        return run

    return prepare


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with service(records) as running:
        measure(running, records, turns)


if __name__ == "__main__":
    main()
