"""Dialling on the simulated switch for a long time: what the rows say afterwards, and the memory of the processes.

python -m benchmarks.endurance [AGENTS] [MINUTES]

Two thirds of the agents have standing lines and a predictive campaign, which begins without any count of answers. The
others have a progressive campaign, and their phones are rung first. Numbers are answered, busy, refused or wrong, by
their last digits, and are called again a minute later. The memory (PSS) of listener and dialler is read each minute.

After that a second dialler starts and the first one is killed: the second one takes the campaigns over. At the end the
dialling stops, and the rows are compared: nothing is in progress, each attempt has one call and one leg
to its number, no two calls of a record overlap, and the counts of the day are those of the attempts.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT, Service, Table, manage, service
from benchmarks.launch import pss
from campaigns.dialling.ownership import LOCK_SPACE

AGENTS, MINUTES = 20, 10.0
WRAP_UP_SECONDS = 10
RECORDS_OF_AGENT = 500
# For which the second dialler dials.
SECOND_SECONDS = 10
# The first minutes fill caches of statements and plans.
WARM_UP_SAMPLES = 5
CAMPAIGNS = {"E0000": "predictive", "E0001": "progressive"}

_AGENTS = """
INSERT INTO telephony_agent (login, name, surname, email, is_active, number, outbound_mode, has_line, updated_at)
SELECT 'bench' || n, 'Bench', '', '', true, (200 + n)::text, true, n %% 3 > 0, now()
FROM generate_series(0, %(agents)s - 1) AS n
"""
CAMPAIGN = "UPDATE campaigns_campaign SET is_dialling = false, wrap_up_seconds = %s WHERE code = ANY(%s)"
MEMBERS = """
INSERT INTO campaigns_campaign_agents (campaign_id, agent_id)
SELECT c.id, a.id FROM telephony_agent a
JOIN campaigns_campaign c ON c.code = CASE WHEN a.has_line THEN 'E0000' ELSE 'E0001' END
WHERE a.login LIKE 'bench%'
"""
RULES = """
INSERT INTO campaigns_retryrule (campaign_id, outcome, delay_seconds, is_multiplied, most_attempts)
SELECT c.id, outcome, 60, false, 3
FROM campaigns_campaign c, unnest(ARRAY['busy', 'no_answer', 'failed', 'dropped']) AS outcome
"""
# Of ten numbers three are answered, four are busy, two refuse and one is wrong, in no order.
RECORDS = """
INSERT INTO campaigns_record (campaign_id, phone_number, number, is_primary, status_id, system_status, identifier,
  last_note, fields, leased_by, zone, calling_code)
SELECT c.id, number, number, true, s.id, 'TO_CALL', '', '', '{}', '', 'Europe/Warsaw', '48'
FROM campaigns_campaign c JOIN campaigns_recordstatus s ON s.campaign_id = c.id AND s.system_status = 'TO_CALL'
CROSS JOIN LATERAL generate_series(1, %(records)s) AS n
CROSS JOIN LATERAL (
  SELECT '+48' || (5000000 + c.id * 100000 + n)::text
    || (ARRAY['00', '00', '00', '01', '01', '01', '01', '03', '03', '04'])[1 + abs(hashint4(n)) %% 10] AS number
) AS numbers
"""
# The backends that own campaigns.
_OWNERS = f"""
SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = {LOCK_SPACE} AND objid <> 0 AND granted
"""
# The diallers that run share the key 0.
_DIALLERS = f"""
SELECT count(DISTINCT pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = {LOCK_SPACE} AND objid = 0
"""
# Records in progress, and those that are held. The reservations of a dialler that was killed end by themselves.
_HELD = """
SELECT count(*) FROM campaigns_record
WHERE system_status = 'IN_PROGRESS' OR leased_by <> '' AND (leased_until IS NULL OR leased_until > now())
"""
_OPEN = f"SELECT (SELECT count(*) FROM telephony_connection WHERE state <> 'ended') + ({_HELD})"
# Each must find nothing.
FAULTS = {
    "records that are left in progress, or held": _HELD,
    "attempts without an end, or without a settlement": """
SELECT count(*) FROM campaigns_attempt WHERE ended_at IS NULL OR settled_at IS NULL
""",
    "attempts that do not have one leg to their number": """
SELECT count(*) FROM campaigns_attempt t WHERE t.outcome <> 'not_dialled' AND (
  SELECT count(*) FROM telephony_leg l
  WHERE l.connection_id = t.connection_id AND l.role = 'customer' AND l.number = t.number
) <> 1
""",
    "calls without one attempt": """
SELECT count(*) FROM telephony_connection c
WHERE (SELECT count(*) FROM campaigns_attempt WHERE connection_id = c.id) <> 1
""",
    "calls of one record that overlap": """
SELECT count(*) FROM (
  SELECT dialled_at < lag(ended_at) OVER (PARTITION BY record_id ORDER BY dialled_at, id) AS is_early
  FROM campaigns_attempt
) AS pairs WHERE is_early
""",
    "records with more attempts than their rule allows": """
SELECT count(*) FROM (
  SELECT FROM campaigns_attempt WHERE outcome NOT IN ('not_dialled', 'cancelled') GROUP BY record_id HAVING count(*) > 3
) AS records
""",
    "records whose history does not show each dial and its end": """
SELECT count(*) FROM campaigns_record r
LEFT JOIN LATERAL (
  SELECT count(*) FILTER (WHERE action = 'dial') AS dials, count(*) FILTER (WHERE action <> 'dial') AS ends
  FROM campaigns_recordchange WHERE record_id = r.id
) AS changes ON true
WHERE changes.dials <> (SELECT count(*) FROM campaigns_attempt WHERE record_id = r.id) OR changes.ends <> changes.dials
""",
    "changes of a status without their event": """
SELECT abs((SELECT count(*) FROM campaigns_recordchange)
  - (SELECT count(*) FROM webhooks_event WHERE action = 'OUTBOUND_RECORD_STATUS_CHANGED'))
""",
    "campaigns whose counts of the days are not those of the attempts": """
SELECT count(*) FROM (
  SELECT campaign_id, sum(attempts) AS attempts, sum(live_answers) AS live_answers, sum(drops) AS drops
  FROM campaigns_diallingday GROUP BY 1
) AS days
JOIN (
  SELECT campaign_id, count(*) FILTER (WHERE outcome <> 'not_dialled') AS attempts,
    count(*) FILTER (WHERE outcome IN ('answered', 'dropped')) AS live_answers,
    count(*) FILTER (WHERE outcome = 'dropped' OR joined_at > answered_at + interval '2 s') AS drops
  FROM campaigns_attempt GROUP BY 1
) AS counted USING (campaign_id)
WHERE (days.attempts, days.live_answers, days.drops) <> (counted.attempts, counted.live_answers, counted.drops)
""",
    "agents who are not free": """
SELECT count(*) FROM telephony_agentstate WHERE ended_at IS NULL AND kind <> 'free'
""",
}
_OUTCOMES = """
SELECT c.code, t.mode, t.outcome, count(*), count(DISTINCT t.record_id)
FROM campaigns_attempt t JOIN campaigns_campaign c ON c.id = t.campaign_id GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""
DROPS = """
SELECT COALESCE(100.0 * sum(drops) / NULLIF(sum(live_answers), 0), 0)::float8 FROM campaigns_diallingday d
JOIN campaigns_campaign c ON c.id = d.campaign_id WHERE c.code = 'E0000'
"""


def _prepare(running: Service, agents: int) -> None:
    client = running.client()
    for code, dialer in CAMPAIGNS.items():
        body = {"id": code, "name": f"Endurance, {dialer}", "dialer": dialer, "crm": False}
        client.send("POST", "/api/outbounds", body, expect=201)
    with running.connect() as connection:
        connection.execute(CAMPAIGN, [WRAP_UP_SECONDS, list(CAMPAIGNS)])
        connection.execute(_AGENTS, {"agents": agents})
        connection.execute(MEMBERS)
        connection.execute(RULES)
        connection.execute(RECORDS, {"records": agents * RECORDS_OF_AGENT})
        connection.execute("VACUUM ANALYZE campaigns_record")
    for number in range(agents):
        client.send("POST", f"/api/agents/bench{number}/login", expect=204)


@contextmanager
def _process(running: Service, *command: str) -> Iterator[int]:
    """Run a command of manage.py. Yield its process id."""
    log = Path(running.environment["CALLCENTRE_VAR"]) / "log" / f"{command[0]}.log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "manage.py", *command], cwd=ROOT, env=running.environment, stdout=output, stderr=output
        )
        try:
            yield process.pid
        finally:
            process.terminate()
            process.wait(30)


def one(connection: Any, statement: str) -> Any:
    return connection.execute(statement).fetchone()[0]


def _watch(connection: Any, processes: dict[str, int], minutes: float) -> dict[str, list[float]]:
    """Read the memory of the processes each minute. Print it, with the number of calls so far."""
    samples: dict[str, list[float]] = {name: [] for name in processes}
    deadline = time.monotonic() + minutes * 60
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(60.0, left))
        for name, pid in processes.items():
            samples[name].append(pss(pid))
        now = "; ".join(f"{name} {amounts[-1]:.1f} MB" for name, amounts in samples.items())
        calls, drops = one(connection, "SELECT count(*) FROM campaigns_attempt"), one(connection, DROPS)
        print(f"minute {len(samples['listener'])}: {now}; {calls} calls, {drops:.2f} % dropped", file=sys.stderr)
    return samples


def _take_over(connection: Any, victim: int) -> float:
    """Kill a dialler beside another one. Return the seconds until the other one owns its campaigns."""
    before = connection.execute(_OWNERS).fetchall()
    os.kill(victim, signal.SIGKILL)
    started = time.monotonic()
    while not (owners := connection.execute(_OWNERS).fetchall()) or set(owners) & set(before):
        if time.monotonic() - started > 60:
            raise RuntimeError("no other dialler has taken the campaigns over")
        time.sleep(0.01)
    return time.monotonic() - started


def _stop(connection: Any) -> None:
    """Stop the dialling, and wait until all calls and wrap-ups are over."""
    connection.execute("UPDATE campaigns_campaign SET is_dialling = false")
    deadline = time.monotonic() + 180
    while one(connection, _OPEN) and time.monotonic() < deadline:
        time.sleep(0.5)
    time.sleep(WRAP_UP_SECONDS + 2)


def measure(table: Table, agents: int, minutes: float) -> bool:
    """Return whether the rows have no fault."""
    with ExitStack() as stack:
        running = stack.enter_context(service(0))
        running.environment |= {"SWITCH_BACKEND": "simulated", "RECORD_CALLS": "0"}
        _prepare(running, agents)
        with running.connect() as connection:
            # A mistake in a statement is found before the long run.
            assert not any(one(connection, statement) for what, statement in FAULTS.items())
        listener = stack.enter_context(_process(running, "listen_to_switch"))
        dialler = stack.enter_context(_process(running, "run_dialer"))
        connection = stack.enter_context(running.connect())
        connection.execute("UPDATE campaigns_campaign SET is_dialling = true")
        samples = _watch(connection, {"listener": listener, "run_dialer": dialler}, minutes)
        stack.enter_context(_process(running, "run_dialer"))
        while one(connection, _DIALLERS) < 2:
            time.sleep(0.2)
        seconds = _take_over(connection, dialler)
        time.sleep(SECOND_SECONDS)
        _stop(connection)
        table.add_time("takeover of the campaigns of a dialler that is killed", seconds, 3)
        faults = {what: one(connection, statement) for what, statement in FAULTS.items()}
        manage(running.environment, "verify")
        for row in connection.execute(_OUTCOMES).fetchall():
            print("{}, {}, {}: {} attempts of {} records".format(*row), file=sys.stderr)
        for what, count in faults.items():
            table.add_amount(what, count, 0, "rows")
        table.add_amount("drops of the predictive campaign", one(connection, DROPS), 3, "%")
        for name, amounts in samples.items():
            if len(amounts) > WARM_UP_SAMPLES:
                growth = max(amounts[-3:]) - min(amounts[WARM_UP_SAMPLES - 1 : WARM_UP_SAMPLES + 2])
                table.add_amount(f"growth of {name} after minute {WARM_UP_SAMPLES}", growth, 2, "MB")
    return not any(faults.values())


def main() -> None:
    agents = int(sys.argv[1]) if len(sys.argv) > 1 else AGENTS
    minutes = float(sys.argv[2]) if len(sys.argv) > 2 else MINUTES
    table = Table(f"Dialling with {agents} agents for {minutes:g} minutes")
    table.head()
    if not measure(table, agents, minutes):
        sys.exit("The rows have faults.")


if __name__ == "__main__":
    main()
