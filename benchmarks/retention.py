"""The API while a retention deletes calls and messages of which there are millions.

python -m benchmarks.retention [rows of each] [seconds of deletion of each]

Stores that have the rows already are not filled again; with 0 seconds they are filled only. Each request is timed
alone, then while a worker deletes. The goal is that no request takes three times as long.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.harness import ROOT, Client, Service, Table, manage, service, timed

FILES, DAYS = 2_000, 30
TURNS = 60
# Calls of two years, oldest first, each with two legs. Without an agent they are in no sum of the report, so the
# retention need not wait for sums.
_CALLS = """
WITH calls AS (
  INSERT INTO telephony_connection (direction, state, src, dst, src_number, dst_number, caller_id, created_at, ended_at,
    disposition, cause, hung_up_by, ring_seconds, wait_seconds, is_on_hold, join_count, request_id)
  SELECT 'INBOUND', 'ended', number, '+48225550100', number, '+48225550100', '', at, at + interval '1 minute',
    'NO ANSWER', 16, 'customer', 0, 30, false, 0, ''
  FROM (SELECT now() - interval '730 days' * (1 - n / %(count)s::float) AS at, '+48' || (500000000 + n) AS number
        FROM generate_series(1, %(count)s) AS n) AS call
  RETURNING id, created_at, ended_at
)
INSERT INTO telephony_leg (connection_id, role, number, channel_id, state, asked_at, ended_at, cause_text, tech_cause)
SELECT id, role, '', id || role, 'ended', created_at, ended_at, '', ''
FROM calls CROSS JOIN unnest(ARRAY['agent', 'customer']) AS role
"""
_TICKETS = """
INSERT INTO tickets_ticket (subject, source, queue_id, status_id, sender, sender_name, tags, custom_fields,
  connected_ids, created_at, updated_at, closed_at)
SELECT 'Parcel ' || n, 'email', (SELECT max(id) FROM tickets_ticketqueue),
  (SELECT min(id) FROM tickets_ticketstatus WHERE kind = 'closed'), 'a' || n || '@client.example', '', '{}', '{}',
  '{}', at, at, at
FROM (SELECT n, now() - interval '730 days' * (1 - n * 10 / %(count)s::float) AS at
      FROM generate_series(1, %(count)s / 10) AS n) AS ticket
"""
_MESSAGES = """
INSERT INTO tickets_message (ticket_id, type, author_name, author_address, body, quoted, body_type, comment,
  system_comment, is_automatic, attachments, ratings, created_at)
SELECT id, 'MAIL', '', '', repeat('The parcel has not come yet, although it was handed over on Tuesday. ', 4), '',
  'PLAIN', '', '', false, '{}', '{}', created_at
FROM tickets_ticket CROSS JOIN generate_series(1, 10)
"""
# The oldest messages and calls have files.
_FILES = f"""
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from telephony.models import Connection, Recording
from tickets.models import Message, StoredFile
def stored(path): return default_storage.save(path, ContentFile(b"x" * 1000))
for n, pk in enumerate(Message.objects.order_by("pk").values_list("pk", flat=True)[:{FILES}]):
    StoredFile.objects.create(token=f"bench{{n}}", filename="a", content_type="a/b", size=1, sha256="",
                              path=stored(f"files/2024/01/01/bench{{n}}"), message_id=pk)
for n, call in enumerate(Connection.objects.order_by("pk")[:{FILES}]):
    recording = Recording(connection=call, name=f"bench{{n}}", state="ready", started_at=call.created_at,
                          ready_at=call.ended_at)
    recording.file = stored(recording.path)
    recording.save()
"""
_RUN = f"""
import time
from callcentre.core import retention
from callcentre.core.actor import SYSTEM
from callcentre.core.retention import Retention
from django.utils import timezone
retention.set_days(SYSTEM, "%s", {DAYS})
while True:
    Retention.objects.filter(kind="%s").update(next_attempt_at=timezone.now())
    retention.run("%s")
    row = Retention.objects.get(kind="%s")
    if row.error: raise SystemExit(row.error)
    if not row.is_running: break
"""


_TABLES = ("telephony_connection", "telephony_leg", "tickets_ticket", "tickets_message")
_INDEXES = """
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = ANY(%s::regclass[]) AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
"""

_REMOVED = "SELECT removed_count FROM callcentre_retention WHERE kind = %s AND removed_count > 0"


def prepare(running: Service, rows: int) -> None:
    """Fill in calls with legs and recordings, and closed tickets with ten messages each and files."""
    queue = "from tickets.models import TicketQueue; TicketQueue.objects.get_or_create(name='Retention')"
    manage(running.environment, "shell", "--verbosity=0", "-c", queue)
    with running.connect() as connection:
        with _without_indexes(connection):
            for statement in (_CALLS, _TICKETS, _MESSAGES):
                connection.execute(statement, {"count": rows})
        manage(running.environment, "shell", "--verbosity=0", "-c", _FILES)
        for table in _TABLES:
            connection.execute(f"VACUUM ANALYZE {table}")
        connection.execute("CHECKPOINT")


@contextmanager
def _without_indexes(connection: Any) -> Iterator[None]:
    """Drop the indexes and leave the foreign keys unchecked; build the indexes again afterwards."""
    found = connection.execute(_INDEXES, [list(_TABLES)]).fetchall()
    for name, _definition in found:
        connection.execute(f"DROP INDEX {name}")
    for table in _TABLES:
        connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
    connection.execute("ALTER TABLE tickets_ticket ENABLE TRIGGER USER")
    yield
    for table in _TABLES:
        connection.execute(f"ALTER TABLE {table} ENABLE TRIGGER ALL")
    connection.execute("SET maintenance_work_mem = '1GB'")
    for _name, definition in found:
        connection.execute(definition)


def _requests(client: Client, connection: Any) -> dict[str, Callable[[], object]]:
    """Return requests of each kind about rows that stay."""
    ticket = connection.execute("SELECT max(id) FROM tickets_ticket").fetchall()[0][0]
    new = {"subject": "S", "body": "B", "from": "jan@client.example"}
    month = f"{time.strftime('%Y-%m')}-01"
    report = f"/api/queues_report?date_from={month}&date_to={time.strftime('%Y-%m-%d')}"
    return {
        "GET /connections": lambda: client.send("GET", "/api/connections?limit=50", expect=200),
        "GET /tickets": lambda: client.send("GET", "/api/tickets?limit=50", expect=200),
        "GET /tickets/:id": lambda: client.send("GET", f"/api/tickets/{ticket}", expect=200),
        "POST /tickets": lambda: client.send("POST", "/api/tickets", new, expect=201),
        "POST /tickets/:id/customer_response": lambda: client.send(
            "POST", f"/api/tickets/{ticket - 1}/customer_response", {"body": "B"}, expect=204
        ),
        "GET /customers": lambda: client.send("GET", "/api/customers?limit=50", expect=200),
        "GET /queues_report of a month": lambda: client.send("GET", report, expect=200),
    }


def measure(running: Service, kind: str, table_name: str, seconds: float) -> None:
    """Time the requests alone, then while a worker deletes rows of a kind."""
    table = Table(f"The API while a retention deletes {kind}")
    with running.connect() as connection:
        requests = _requests(running.client(), connection)
        before = connection.execute(f"SELECT count(*) FROM {table_name}").fetchall()[0][0]
        for _ in range(30):
            for request in requests.values():
                request()
        alone = _times(requests, lambda turn: turn < TURNS)
        environment = running.environment | {"RETENTION_FROM_HOUR": "0", "RETENTION_UNTIL_HOUR": "24"}
        code = _RUN % ((kind,) * 4)
        started = time.monotonic()
        worker = subprocess.Popen([sys.executable, "manage.py", "shell", "-v0", "-c", code], env=environment, cwd=ROOT)
        # The worker starts, and sums what reports need.
        while connection.execute(_REMOVED, [kind]).fetchone() is None and worker.poll() is None:
            time.sleep(0.1)
        began = time.monotonic()
        beside = _times(requests, lambda _turn: worker.poll() is None and time.monotonic() < began + seconds)
        took = time.monotonic() - began
        worker.terminate()
        if worker.wait() > 0:
            raise RuntimeError(f"the retention ended with {worker.returncode}")
        removed = connection.execute(_REMOVED, [kind]).fetchall()[0][0]
    print(
        f"{removed:,} of {before:,} rows in {took:.0f} s: {removed / took:,.0f}/s, after {began - started:.0f} s",
        flush=True,
    )
    table.head()
    for name in requests:
        for share, label in ((0.5, "median"), (0.95, "95 %")):
            table.add(f"{name}, {label}", "alone", _quantile(alone[name], share), _quantile(beside[name], share), 3)


def _times(requests: dict[str, Callable[[], object]], goes_on: Callable[[int], bool]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in requests}
    turn = 0
    while goes_on(turn):
        for name, request in requests.items():
            times[name].append(timed(request))
        turn += 1
    return times


def _quantile(times: list[float], share: float) -> float:
    return statistics.quantiles(times, n=100)[int(share * 100) - 1]


def main() -> None:
    rows, seconds = (*map(int, sys.argv[1:]), *(1_000_000, 240)[len(sys.argv) - 1 :])
    with service(0) as running:
        with running.connect() as connection:
            is_filled = connection.execute("SELECT 1 FROM telephony_connection LIMIT 1").fetchone()
        if not is_filled:
            prepare(running, rows)
        if seconds:
            measure(running, "connections", "telephony_connection", seconds)
            measure(running, "messages", "tickets_message", seconds)
            with running.connect() as connection:
                left = connection.execute("SELECT count(*) FROM callcentre_fileremoval").fetchall()[0][0]
                print(f"{left} files left to remove")


if __name__ == "__main__":
    main()
