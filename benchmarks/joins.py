"""Predictive dialling for 150 agents in ten campaigns: from an answer to the join, quiet and under load, and a tick.

python -m benchmarks.joins [simulated|asterisk] [SECONDS]

Listener, dialler and web server are processes of their own; `asterisk` is the stand-in of the tests, or with ARI_URL in
the environment a PBX: 50 agents with the numbers 200 to 249; numbers that end with 01 are busy, and those that end with
08 answer and hang up after some seconds. The time from the answer to the join ends when the switch has carried out the
join. It is measured for SECONDS (60) with nothing else, then for as long beside ten requests and a report a second. The
processor time of a tick is that of the dialler's process. At the end all campaigns are stopped, and the rows must say
that nothing was called twice or forgotten. All this takes about four minutes.
"""

import itertools
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.calls import processes
from benchmarks.harness import Service, Table, service
from callcentre.launch.servers import choose_port
from tests.telephony.switch.ari_server import PASSWORD, USER

PBX = os.environ.get("ARI_URL")
AGENTS, CAMPAIGNS, RECORDS = 50 if PBX else 150, 10, 30_000
# Together the shortest handling time of the simulated days.
TALK_SECONDS, WRAP_UP_SECONDS = 4.0, 56
WARM_UP_SECONDS = 30.0
REQUESTS_PER_SECOND = 10
READ = (
    "/api/connections?limit=50",
    "/api/outbounds/J0000/records?limit=50",
    "/api/agents?limit=50",
    "/api/outbounds/J0000/dialer",
)
# What the dialler writes about its ticks.
TICKS = "ticks.json"

_AGENTS = """
INSERT INTO telephony_agent (login, name, surname, email, is_active, number, outbound_mode, has_line, updated_at)
SELECT 'bench' || n, 'Bench', '', '', true, (200 + n)::text, true, true, now() FROM generate_series(0, %s - 1) AS n
"""
_CAMPAIGNS = """
INSERT INTO campaigns_campaign (code, name, dialer, is_crm, is_active, is_dialling, start_date, "order", parity,
  caller_id, wrap_up_seconds, updated_at)
SELECT 'J' || lpad(n::text, 4, '0'), 'Joins', 'predictive', false, true, false, current_date, 50, 50, '+48225550100',
  %s, now()
FROM generate_series(0, %s - 1) AS n
"""
_MEMBERS = """
INSERT INTO campaigns_campaign_agents (campaign_id, agent_id)
SELECT c.id, a.id FROM telephony_agent a
JOIN campaigns_campaign c ON c.code = 'J' || lpad(((a.number::int - 200) %% %s)::text, 4, '0')
WHERE a.login LIKE 'bench%%'
"""
# A day on which the law allows over-dialling, with the drops that the pacer aims at. It would make fewer up at once.
_DAYS = """
INSERT INTO campaigns_diallingday (campaign_id, day, attempts, live_answers, drops, machines)
SELECT id, current_date, 1000, 400, 10, 0 FROM campaigns_campaign WHERE code LIKE 'J0%'
"""
# Of ten numbers three are answered, four are busy and three ring in vain: the last digits decide on both switches.
_RECORDS = """
INSERT INTO campaigns_record (campaign_id, phone_number, number, is_primary, status_id, system_status, identifier,
  last_note, fields, leased_by, zone, calling_code)
SELECT c.id, number, number, true, NULL, 'TO_CALL', '', '', '{}', '', 'Europe/Warsaw', '48'
FROM generate_series(0, %(records)s - 1) AS n
JOIN campaigns_campaign c ON c.code = 'J' || lpad((n %% %(campaigns)s)::text, 4, '0')
CROSS JOIN LATERAL (
  SELECT '+48' || (100000 + n)::text || CASE WHEN n / 10 %% 10 < 3 THEN %(answered)s ELSE %(vain)s END AS number
) AS numbers
"""
# Answers and drops of this run, and the highest drop rate of a campaign's day, with what _DAYS has put in.
_DROPS = """
SELECT sum(live_answers - 400), sum(drops - 10), max(100.0 * drops / live_answers)::float8
FROM campaigns_diallingday WHERE campaign_id IN (SELECT id FROM campaigns_campaign WHERE code LIKE 'J0%')
"""
_OPEN = "SELECT count(*) FROM telephony_agentline WHERE state = 'up' AND ended_at IS NULL"


def _prepare(running: Service, answered: str, vain: str) -> None:
    numbers = {"answered": answered, "vain": vain}
    with running.connect() as connection:
        connection.execute(_AGENTS, [AGENTS])
        connection.execute(_CAMPAIGNS, [WRAP_UP_SECONDS, CAMPAIGNS])
        connection.execute(_MEMBERS, [CAMPAIGNS])
        connection.execute(_DAYS)
        connection.execute(_RECORDS, {**numbers, "records": RECORDS, "campaigns": CAMPAIGNS})
        connection.execute("VACUUM ANALYZE campaigns_record")


def _log_in(running: Service) -> None:
    client = running.client()
    for number in range(AGENTS):
        client.send("POST", f"/api/agents/bench{number}/login", expect=204)


def _wait(condition: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {seconds} s")
        time.sleep(0.2)


def _one(connection: Any, statement: str) -> int:
    row = connection.execute(statement).fetchone()
    return int(row[0]) if row else 0


def buckets(running: Service) -> dict[float, float]:
    """Return the answers up to each time, of the listener's metrics."""
    text = running.client().send("GET", "/metrics", expect=200).decode()
    found: dict[float, float] = {}
    for row in text.splitlines():
        if row.startswith("callcentre_answer_seconds_bucket"):
            found[float(row.partition('le="')[2].partition('"')[0])] = float(row.rpartition(" ")[2])
    return found


def quantile(before: dict[float, float], after: dict[float, float], share: float) -> float:
    """Return the upper bound of the bucket that has this share of the answers."""
    counts = {limit: after[limit] - before.get(limit, 0) for limit in after}
    return min(limit for limit in counts if counts[limit] >= share * counts[float("inf")])


@contextmanager
def _load(running: Service) -> Iterator[None]:
    """Send ten requests a second, one of four a write, and a report a second."""
    over, numbers, failed = threading.Event(), itertools.count(), []
    day = time.strftime("%Y-%m-%d")
    logins = "&".join(f"agent_logins[]=bench{number}" for number in range(AGENTS))
    report = f"/api/agents_work_report?date_from={day}&date_to={day}&{logins}"

    def ask(pause: float, *, is_report: bool = False) -> None:
        client = running.client()
        while not over.wait(pause):
            number = next(numbers)
            try:
                if is_report:
                    client.send("GET", report, expect=200)
                elif number % 4 == 0:
                    body = {"phone_number": f"+48600{number:06}"}
                    client.send("POST", "/api/outbounds/J0000/records", body, expect=201)
                else:
                    client.send("GET", READ[number % len(READ)], expect=200)
            except (OSError, RuntimeError) as error:
                failed.append(error)

    askers = [threading.Thread(target=ask, args=(4 / REQUESTS_PER_SECOND,)) for _ in range(4)]
    askers.append(threading.Thread(target=ask, args=(1.0,), kwargs={"is_report": True}))
    for asker in askers:
        asker.start()
    try:
        yield
    finally:
        over.set()
        for asker in askers:
            asker.join()
        print(f"requests: {next(numbers)}, failed: {len(failed)} {failed[:1]}", file=sys.stderr)


def measure(table: Table, switch: str, seconds: float) -> None:
    with ExitStack() as stack:
        running = stack.enter_context(service(0))
        folder = Path(running.environment["CALLCENTRE_VAR"])
        running.environment["TICKS_FILE"] = str(folder / TICKS)
        running.environment["RECORD_CALLS"] = "1"
        numbers = ("200", "201")
        if switch == "asterisk":
            running.environment["SWITCH_BACKEND"] = "asterisk"
            numbers = ("208", "201") if PBX else ("200", "486")
        if switch == "asterisk" and not PBX:
            port = choose_port(folder / "run" / "ari.port")
            running.environment |= {
                "ARI_URL": f"http://127.0.0.1:{port}/ari",
                "ARI_USER": USER,
                "ARI_PASSWORD": PASSWORD,
            }
            program = ["-m", "tests.telephony.switch.ari_server", str(port), "--talk", str(TALK_SECONDS)]
            stack.enter_context(processes(running, program))
        _prepare(running, *numbers)
        stack.enter_context(processes(running, ["manage.py", "listen_to_switch"]))
        _log_in(running)
        with processes(running, ["-m", "benchmarks.ticking"]), running.connect() as connection:
            connection.execute("UPDATE campaigns_campaign SET is_dialling = true WHERE code LIKE 'J0%'")
            # The first calls ring the agents for their lines.
            _wait(lambda: _one(connection, _OPEN) == AGENTS, 120)
            time.sleep(WARM_UP_SECONDS)
            _measure_joins(table, running, f"{switch}, quiet", seconds, goal=0.2)
            with _load(running):
                _measure_joins(table, running, f"{switch}, loaded", seconds, goal=0.3)
            connection.execute("UPDATE campaigns_campaign SET is_dialling = false WHERE code LIKE 'J0%'")
            _wait(lambda: not _one(connection, "SELECT count(*) FROM telephony_connection WHERE state <> 'ended'"), 120)
            time.sleep(WRAP_UP_SECONDS + 5)
            _report(connection)
        ticks = json.loads((folder / TICKS).read_text())
        # The first ticks prepare statements.
        table.add_time(
            f"one tick of {CAMPAIGNS} campaigns with {AGENTS} agents, processor time ({switch})",
            statistics.median(ticks[20:]),
            0.1,
        )


def _measure_joins(table: Table, running: Service, how: str, seconds: float, *, goal: float) -> None:
    before = buckets(running)
    time.sleep(seconds)
    after = buckets(running)
    counts = {limit: after[limit] - before.get(limit, 0) for limit in after}
    if not counts[float("inf")]:
        raise RuntimeError(f"{how}: no answer in {seconds} s; all agents may be in their wrap-up: measure for longer")
    print(f"{how}: {counts[float('inf')]:.0f} answers, not within 300 ms:", file=sys.stderr, end=" ")
    print(f"{counts[float('inf')] - counts[0.3]:.0f}, 2 s: {counts[float('inf')] - counts[2.0]:.0f}", file=sys.stderr)
    for share in (0.5, 0.99):
        operation = f"from the answer to the join, {AGENTS} agents with lines, p{share * 100:g} ({how})"
        table.add_time(operation, quantile(before, after, share), goal)


def _report(connection: Any) -> None:
    rows = connection.execute(
        "SELECT mode, outcome, count(*), count(DISTINCT record_id) FROM campaigns_attempt GROUP BY 1, 2 ORDER BY 1, 2"
    ).fetchall()
    print(f"attempts: {rows}", file=sys.stderr)
    found, drops, worst = connection.execute(_DROPS).fetchone()
    shares = f"{drops} drops of {found} answers in this run; the worst campaign's day: {worst:.2f} %"
    print(shares, file=sys.stderr)
    left = _one(connection, "SELECT count(*) FROM campaigns_record WHERE system_status = 'IN_PROGRESS'")
    twice = _one(
        connection,
        "SELECT count(*) FROM (SELECT record_id FROM campaigns_attempt GROUP BY 1 HAVING count(*) > 1) AS again",
    )
    print(f"left IN_PROGRESS: {left}; records called twice: {twice}", file=sys.stderr)


def main() -> None:
    switch = sys.argv[1] if len(sys.argv) > 1 else "simulated"
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60.0
    table = Table("Predictive dialling")
    table.head()
    measure(table, switch, seconds)


if __name__ == "__main__":
    main()
