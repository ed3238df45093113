"""The back office, the API and the nightly deletions with years of old rows, and how long a vacuum takes afterwards.

python -m benchmarks.old_data [rows of calls, messages, events, and entries of the audit log]

Stores that have the rows already are not filled again. Each page of the admin is compared with an empty page, and each
request with GET /ping; what takes longer than a second is named. A night's deletion of events and of the audit log is
timed, then VACUUM of the tables. Ten million rows of each take some 40 GB and ten minutes.
"""

import subprocess
import sys
import time
from datetime import date, timedelta

from benchmarks import pages, retention
from benchmarks.harness import ROOT, Service, manage, medians, service, timed

ROWS = 10_000_000
TURNS = 5
LONG_SECONDS = 1.0
_EVENTS = """
INSERT INTO webhooks_event (event_id, action, subject, payload, created_at)
SELECT gen_random_uuid(), 'CONNECTION_ENDED', n::text, jsonb_build_object('id', n, 'disposition', 'ANSWERED'),
  now() - interval '91 days' * (1 - n / %(count)s::float)
FROM generate_series(1, %(count)s) AS n
"""
_AUDIT = """
INSERT INTO callcentre_auditentry (at, actor_kind, actor_name, action, changes, model, object_id, object_name, part)
SELECT now() - interval '730 days' * (1 - n / %(count)s::float), 'user', 'supervisor', 'change',
  jsonb_build_object('name', jsonb_build_array('a', 'b')), 'telephony.agent', (n %% 200)::text, 'agent' || n %% 200, ''
FROM generate_series(1, %(count)s) AS n
"""
TABLES = ("telephony_connection", "telephony_leg", "tickets_message", "webhooks_event", "callcentre_auditentry")
_PRUNE = "from django.utils import timezone; from webhooks.retention import prune; prune(timezone.now())"


def requests() -> list[str]:
    month, year = (date.today() - timedelta(days=days) for days in (30, 365))  # noqa: DTZ011
    spans = [f"date_from={begin}&date_to={date.today()}" for begin in (month, year)]  # noqa: DTZ011
    reports = ("queues_report", "outbounds_report", "tickets_report")
    return [
        *(f"/api/{name}?limit=50" for name in ("connections", "tickets", "events", "chats", "callbacks", "customers")),
        "/api/connections?limit=50&phone_number=%2B48500000042",
        "/api/tickets?limit=50&offset=5000",
        *(f"/api/{report}?{span}" for report in reports for span in spans),
    ]


def measure(running: Service) -> None:
    pages.measure(running)
    client = running.client()
    print("\n## The API\n\n| request | ping | ours |\n|---|---|---|", flush=True)
    for path in requests():
        status, answer = client._ask("GET", path, None, client._headers)
        if status != 200:
            print(f"| `{path}` | | {status} {answer[:100]!r} |")
            continue

        def ours(path: str = path) -> None:
            client.send("GET", path, expect=200)

        empty, seconds = medians(TURNS, lambda: client.send("GET", "/api/ping", expect=204), ours, warm_up=1)
        mark = " **long**" if seconds > LONG_SECONDS else ""
        print(f"| `{path}` | {empty * 1000:.1f} ms | {seconds * 1000:.1f} ms{mark} |", flush=True)
    with running.connect() as connection:
        before = connection.execute("SELECT count(*) FROM webhooks_event").fetchall()[0][0]
        command = [sys.executable, "manage.py", "shell", "-v0", "-c", _PRUNE]
        seconds = timed(lambda: subprocess.run(command, env=running.environment, cwd=ROOT, check=True))
        gone = before - connection.execute("SELECT count(*) FROM webhooks_event").fetchall()[0][0]
        print(f"\n{gone:,} events of a night deleted in {seconds:.0f} s: {gone / seconds:,.0f} a second")
        for table in TABLES:
            started = time.monotonic()
            connection.execute(f"VACUUM ANALYZE {table}")
            size = connection.execute("SELECT pg_size_pretty(pg_total_relation_size(%s))", [table]).fetchall()[0][0]
            print(f"VACUUM of {table} ({size}): {time.monotonic() - started:.0f} s", flush=True)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with service(0) as running:
        manage(running.environment, "collectstatic", "--noinput", "--verbosity=0")
        with running.connect() as connection:
            if not connection.execute("SELECT 1 FROM telephony_connection LIMIT 1").fetchone():
                retention.prepare(running, rows)
                for statement in (_EVENTS, _AUDIT):
                    connection.execute(statement, {"count": rows})
                connection.execute("VACUUM ANALYZE")
                connection.execute("CHECKPOINT")
        if "--fill" not in sys.argv:
            measure(running)


if __name__ == "__main__":
    main()
