"""The agents work report over years: pages over HTTP against ready rows, and the cost of keeping it current.

python -m benchmarks.reports [CONNECTIONS of the month [MONTHS]]

200 agents; a month of so many connections, half of them inbound, and before it 35 months with a fiftieth of them each.
Sessions, states and chats besides. With less time, choose a smaller month.
"""

import itertools
import statistics
import sys
import time
from datetime import UTC, datetime
from functools import partial
from typing import Any

import orjson
import psycopg

from benchmarks.calls import processes
from benchmarks.harness import WARM_UP, Client, Service, Table, manage, medians, service, timed

AGENTS, QUEUES, MONTHS = 200, 8, 36
MONTH = datetime(2026, 10, 1)  # noqa: DTZ001  (the zone's wall clock)
ZONE = "Europe/Warsaw"

# Indexes that the report does not use and that would take most of the time to fill.
_LIGHTER = """
ALTER TABLE telephony_agentstate DROP CONSTRAINT IF EXISTS agentstate_no_two_at_once;
ALTER TABLE telephony_agentsession DROP CONSTRAINT IF EXISTS agentsession_no_two_at_once;
DROP INDEX IF EXISTS connection_newest, connection_of_queue, connection_src, connection_dst, connection_of_result;
"""
_PEOPLE = f"""
INSERT INTO telephony_agent (login, name, surname, email, is_active, number, outbound_mode, created_at, updated_at)
SELECT 'report' || lpad(n::text, 3, '0'), 'Bench', 'Mark', '', true, 'report' || n, true, now(), now()
FROM generate_series(1, {AGENTS}) n;
INSERT INTO telephony_queue (name, is_active, number, priority, wrap_up_seconds, ring_seconds, longest_wait_seconds,
  overflow_number, music_class, created_at, updated_at)
SELECT 'Report ' || n, true, '', 50, 10, 20, 600, '', 'default', now(), now() FROM generate_series(1, {QUEUES}) n;
INSERT INTO telephony_pause (name, is_active, "order", created_at, updated_at)
SELECT 'Report ' || n, true, 50, now(), now() FROM generate_series(1, 3) n;
"""
# A shift of every agent on every working day, from 8 to 16 local time.
_SHIFTS = f"""
CREATE TEMP TABLE shift AS
SELECT a.id AS agent_id, dense_rank() OVER (ORDER BY a.id) - 1 AS place,
  (d + interval '8 hours') AT TIME ZONE '{ZONE}' AS begins, d >= timestamp '{MONTH}' AS is_last
FROM telephony_agent a, generate_series(
  timestamp '{MONTH}' - interval '1 month' * %(earlier)s, timestamp '{MONTH}' + interval '30 days', interval '1 day'
) d
WHERE a.login LIKE 'report%' AND extract(isodow FROM d) < 6;
CREATE TEMP TABLE queue AS
SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM telephony_queue WHERE name LIKE 'Report %';
CREATE TEMP TABLE pause AS
SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM telephony_pause WHERE name LIKE 'Report %';
INSERT INTO telephony_agentsession (agent_id, started_at, ended_at, ended_by)
SELECT agent_id, begins, begins + interval '8 hours', 'logout' FROM shift;
INSERT INTO telephony_agentstate (agent_id, kind, pause_id, started_at, ended_at, resumes_as)
SELECT agent_id, CASE WHEN n % 4 = 3 THEN 'paused' ELSE 'free' END,
  CASE WHEN n % 4 = 3 THEN (SELECT id FROM pause WHERE place = n / 4 % 3) END,
  begins + n * length, begins + (n + 1) * length, ''
FROM (SELECT *, CASE WHEN is_last THEN 16 ELSE 4 END AS states FROM shift) s, generate_series(0, states - 1) n,
  LATERAL (SELECT interval '8 hours' / states AS length) l;
"""
# So many calls per shift: every second one outbound, a third of those without an answer; 5 to 400 seconds long.
_CALLS = """
WITH call AS (
  SELECT agent_id, begins + (n * 28000.0 / %(count)s + place) * interval '1 second' AS start, n %% 2 = 0 AS is_out,
    n %% 3 > 0 AS is_answered,
    (5 + (n * 7919 + place * 104729 + extract(day FROM begins)::int * 31) %% 396)::int AS talk,
    (n / 2 + place) %% %(queues)s AS queue
  FROM shift, generate_series(0, %(count)s - 1) n WHERE is_last = %(is_last)s
)
INSERT INTO telephony_connection (direction, state, src, dst, src_number, dst_number, queue_id, agent_id, caller_id,
  created_at, waiting_since, answered_at, ended_at, disposition, hung_up_by, ring_seconds, wait_seconds, is_on_hold,
  join_count, request_id)
SELECT CASE WHEN is_out THEN 'OUTBOUND' ELSE 'INBOUND' END, 'ended', '1', '2', '1', '2',
  CASE WHEN NOT is_out OR talk %% 2 = 0 THEN queue.id END, agent_id, '', date_trunc('second', start), NULL,
  CASE WHEN is_answered THEN date_trunc('second', start) + interval '9 seconds' END,
  date_trunc('second', start) + (9 + CASE WHEN is_answered THEN talk ELSE 0 END) * interval '1 second',
  CASE WHEN is_answered THEN 'ANSWERED' ELSE 'NO ANSWER' END, 'agent', 5, 5, false, 1, ''
FROM call JOIN queue ON queue.place = call.queue ORDER BY start
"""
_REST = """
INSERT INTO telephony_offer (connection_id, queue_id, agent_id, offered_at, answered_at, ended_at, outcome)
SELECT id, queue_id, agent_id, created_at, answered_at, ended_at,
  CASE WHEN answered_at IS NULL THEN 'not_answered' ELSE 'answered' END
FROM telephony_connection WHERE direction = 'INBOUND' AND agent_id IN (SELECT agent_id FROM shift) ORDER BY created_at;
INSERT INTO tickets_chat (id, client_name, client_email, queue_id, agent_id, created_at, closed_at)
SELECT gen_random_uuid(), 'C', '', queue.id, agent_id, begins, begins + n * interval '1 hour'
FROM shift, generate_series(1, 2) n JOIN queue ON queue.place = n;
INSERT INTO tickets_chatmessage (chat_id, agent_id, body, created_at)
SELECT id, agent_id, '?', created_at + n * interval '40 minutes'
FROM tickets_chat, generate_series(1, 2) n WHERE agent_id IN (SELECT agent_id FROM shift);
"""
_TABLES = ("connection", "offer", "agentsession", "agentstate")


def fill(running: Service, month: int, months: int) -> None:
    with running.connect() as connection:
        for statement in (_LIGHTER, _PEOPLE, _SHIFTS.replace("%(earlier)s", str(months - 1))):
            connection.execute(statement)
        row = connection.execute("SELECT count(*) FROM shift WHERE is_last").fetchone()
        assert row is not None
        for is_last, count in ((False, max(month // row[0] // 50, 2)), (True, month // row[0])):
            connection.execute(_CALLS, {"count": count, "is_last": is_last, "queues": QUEUES})
        connection.execute(_REST)
        for name in _TABLES:
            connection.execute(f"VACUUM ANALYZE telephony_{name}")
        for name in ("chat", "chatmessage"):
            connection.execute(f"VACUUM ANALYZE tickets_{name}")
        connection.execute("CHECKPOINT")


# Ready rows: the answers of the service itself, stored as one row per period.
_READY = """
CREATE TABLE ready_{name} (place bigint PRIMARY KEY, login text, name text, surname text, period text,
  numbers bigint[], texts text[], pauses jsonb)
"""


def _columns(row: dict[str, Any]) -> tuple[list[int], list[str]]:
    parts = [
        row[name] for name in ("inbound", "chat", "ticket", "outbound_above_threshold", "outbound_below_threshold")
    ]
    values = [value for part in parts for value in part.values()]
    numbers = [int(value) for value in values if not isinstance(value, str)]
    texts = [value for value in values if isinstance(value, str)]
    return numbers, [*texts, row["login_date"], row["logout_date"], row["login_sum"]]


class Ready:
    """Read the same rows from a table that holds them as they are answered: a statement and orjson per page, and a
    ping.
    """

    def __init__(self, connection: psycopg.Connection[Any], client: Client, name: str, query: str) -> None:
        self.connection, self.client, self.name, self.query = connection, client, name, query
        self.pages = 0
        connection.execute(_READY.format(name=name))
        place = 0
        while rows := orjson.loads(self.page(self.pages)):
            for row in rows:
                numbers, texts = _columns(row)
                agent = row["agent"]
                connection.execute(
                    f"INSERT INTO ready_{name} VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
                    [place, *agent.values(), row["period"], numbers, texts, orjson.dumps(row["pauses"]).decode()],
                )
                place += 1
            self.pages += 1
        connection.execute(f"VACUUM ANALYZE ready_{name}")
        print(f"{name}: {place:,} rows, {self.pages} pages", file=sys.stderr)

    def page(self, number: int) -> bytes:
        return self.client.send("GET", f"/api/agents_work_report?{self.query}&offset={100 * number}", expect=200)

    def ours(self) -> None:
        for number in range(self.pages):
            self.page(number)

    def ping(self) -> None:
        self.client.send("GET", "/api/ping", expect=204)

    def pings(self) -> None:
        for _ in range(self.pages):
            self.ping()

    def bound(self) -> None:
        for number in range(self.pages):
            self.ready_page(number)

    def ready_page(self, number: int) -> None:
        found = self.connection.execute(
            f"SELECT * FROM ready_{self.name} WHERE place >= %s ORDER BY place LIMIT 100", [100 * number]
        ).fetchall()
        orjson.dumps(
            [
                {
                    "agent": {"login": login, "name": name, "surname": surname},
                    "period": period,
                    "inbound": numbers,
                    "texts": texts,
                    "pauses": pauses,
                }
                for _, login, name, surname, period, numbers, texts, pauses in found
            ]
        )


def measure(running: Service, turns: int) -> None:
    table = Table("The agents work report")
    table.head()
    client = running.client()
    with running.connect() as connection:
        all_agents = "&".join(f"agent_logins[]=report{n:03}" for n in range(1, AGENTS + 1))
        month = "date_from=2026-10-01&date_to=2026-10-31"
        cases = {
            "month_by_day": ("a month by day, 200 agents, all pages", f"{all_agents}&{month}&aggregate_by=day", 4),
            "month_by_hour": (
                "a month by hour, one agent, all pages",
                f"agent_logins[]=report100&{month}&aggregate_by=hour",
                3,
            ),
            "year_by_month": (
                "a year by month, 200 agents, threshold 30, all pages",
                f"{all_agents}&date_from=2025-11-01&date_to=2026-10-31&aggregate_by=month&outbound_threshold=30",
                6,
            ),
        }
        for name, (what, query, goal) in cases.items():
            ready = Ready(connection, client, name, query)
            warm_up = -(-WARM_UP // ready.pages)
            bound, pinged, ours = medians(turns, ready.bound, ready.pings, ready.ours, warm_up=warm_up)
            table.add(what, "ready rows, orjson, and a ping a page", bound + pinged, ours, goal)
            if name == "month_by_day":
                middle = ready.pages // 2
                one_of_each = partial(ready.ready_page, middle), ready.ping, partial(ready.page, middle)
                bound, ping, ours = medians(30 * turns, *one_of_each)
                table.add("one page of it, 100 rows", "its ready rows, orjson", bound, ours, 8, ping=ping)
        rollups, calls = (_megabytes(connection, name) for name in ("reports_sums", "telephony_connection"))
        table.add_amount("rollups, beside the connections with their indexes", rollups, calls, "MB")
    _keeping(running, table)


def _megabytes(connection: psycopg.Connection[Any], table: str) -> float:
    row = connection.execute("SELECT pg_total_relation_size(%s::regclass) / 1e6", [table]).fetchone()
    assert row is not None
    return float(row[0])


# Calls that end now, as calls do: the worker sums the current hour.
_OFFERS_OF_NOW = """
UPDATE telephony_offer SET offered_at = now() - interval '3 minutes', answered_at = now() - interval '2 minutes'
WHERE id IN (
  SELECT o.id FROM telephony_offer o JOIN telephony_agent a ON a.id = o.agent_id
  WHERE a.login LIKE 'report%' ORDER BY offered_at DESC LIMIT 4000
) RETURNING id
"""
# The statement of the verb that ends an offer. Triggers write an entry in the change log.
_END = "UPDATE telephony_offer SET outcome = 'answered', ended_at = %s WHERE id = %s"
_TRIGGERS = "ALTER TABLE telephony_offer {0} TRIGGER USER; ALTER TABLE telephony_connection {0} TRIGGER USER"
_WAITED = """
UPDATE telephony_connection SET wait_seconds = wait_seconds + 1
WHERE id = (SELECT connection_id FROM telephony_offer WHERE id = %s)
"""
_TURNED = """
UPDATE telephony_agentstate SET ended_at = ended_at WHERE id = (
  SELECT s.id FROM telephony_agentstate s JOIN telephony_offer o ON o.agent_id = s.agent_id
  WHERE o.id = %s ORDER BY s.started_at DESC LIMIT 1
)
"""
# The worker's part, run as often as beat does.
_WORKER = "import time\nfrom reports.tasks import refresh\nwhile True:\n  refresh()\n  time.sleep(5)"
RATE, TURNS = 200, 200


def _keeping(running: Service, table: Table) -> None:
    """End 200 calls per second, first without keeping the report current; then with the change log and a worker."""
    with running.connect() as connection:
        offers = connection.execute(_OFFERS_OF_NOW).fetchall()
        turn = itertools.count()

        def end() -> None:
            for (offer_id,) in offers[(start := next(turn) * 20 % 4000) : start + 20]:
                with connection.transaction():
                    connection.execute(_END, [datetime.now(UTC), offer_id])
                    connection.execute(_WAITED, [offer_id])
                    connection.execute(_TURNED, [offer_id])

        def median() -> float:
            times = []
            for _ in range(TURNS):
                times.append(timed(end))
                time.sleep(max(20 / RATE - times[-1], 0))
            return statistics.median(times)

        rounds = []
        for _ in range(3):
            connection.execute(_TRIGGERS.format("DISABLE"))
            quiet = median()
            connection.execute(_TRIGGERS.format("ENABLE"))
            with processes(running, ["manage.py", "shell", "-v0", "-c", _WORKER]):
                rounds.append((quiet, median()))
        bound, ours = (statistics.median(column) for column in zip(*rounds, strict=True))
        table.add("20 calls end, 200 a second", "the same without the report", bound, ours, 1.15)


def measure_years(month: int = 2_000_000, months: int = MONTHS) -> None:
    with service(0) as running:
        print(f"filling in {month:,} connections of a month, {months} months …", file=sys.stderr)
        print(f"{timed(lambda: fill(running, month, months)):.0f} s", file=sys.stderr)
        started = time.perf_counter()
        manage(running.environment, "rebuild_rollups")
        print(f"rebuilt in {time.perf_counter() - started:.0f} s", file=sys.stderr)
        with running.connect() as connection:
            # Autovacuum would do this later, during a measurement.
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")
        measure(running, turns=11)


def main() -> None:
    measure_years(*(int(argument) for argument in sys.argv[1:3]))


if __name__ == "__main__":
    main()
