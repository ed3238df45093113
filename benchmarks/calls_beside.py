"""Thirty calls at once by `POST /connections/call`, alone and beside a campaign that dials, on one listener.

python -m benchmarks.calls_beside
"""

import statistics
import time
from typing import Any

from benchmarks.calls import PICK_UP_SECONDS, RUNS, asterisk, calls_service, processes, thirty_at_once
from benchmarks.harness import Service, Table

AGENTS, RECORDS = 20, 5_000
# Of each talk on average; the thirty calls are bridged long before they end.
TALK_SECONDS = 8.0
WRAP_UP_SECONDS = 5

_AGENTS = """
INSERT INTO telephony_agent (login, name, surname, email, is_active, number, outbound_mode, has_line, updated_at)
SELECT 'dial' || n, 'Dial', '', '', true, (500 + n)::text, true, true, now() FROM generate_series(0, %s - 1) AS n
"""
_CAMPAIGN = """
INSERT INTO campaigns_campaign (code, name, dialer, is_crm, is_active, is_dialling, start_date, "order", parity,
  caller_id, wrap_up_seconds, updated_at)
VALUES ('B0000', 'Beside', 'predictive', false, true, false, current_date, 50, 50, '+48225550100', %s, now())
"""
_MEMBERS = """
INSERT INTO campaigns_campaign_agents (campaign_id, agent_id)
SELECT c.id, a.id FROM campaigns_campaign c, telephony_agent a WHERE c.code = 'B0000' AND a.login LIKE 'dial%'
"""
# Of ten numbers three are answered, the others are busy.
_RECORDS = """
INSERT INTO campaigns_record (campaign_id, phone_number, number, is_primary, status_id, system_status, identifier,
  last_note, fields, leased_by, zone, calling_code)
SELECT c.id, number, number, true, NULL, 'TO_CALL', '', '', '{}', '', 'Europe/Warsaw', '48'
FROM generate_series(0, %s - 1) AS n CROSS JOIN campaigns_campaign c
CROSS JOIN LATERAL (
  SELECT '+48' || (100000 + n)::text || CASE WHEN n %% 10 < 3 THEN '200' ELSE '486' END AS number) AS numbers
WHERE c.code = 'B0000'
"""
_SWITCH = "UPDATE campaigns_campaign SET is_dialling = %s WHERE code = 'B0000'"
_LINES = "SELECT count(*) FROM telephony_agentline WHERE state = 'up' AND ended_at IS NULL"
_PLACED = "SELECT count(*) FROM campaigns_attempt"


def _prepare(running: Service) -> None:
    with running.connect() as connection:
        connection.execute(_AGENTS, [AGENTS])
        connection.execute(_CAMPAIGN, [WRAP_UP_SECONDS])
        connection.execute(_MEMBERS)
        connection.execute(_RECORDS, [RECORDS])
    for number in range(AGENTS):
        running.client().send("POST", f"/api/agents/dial{number}/login", expect=204)


def _one(connection: Any, statement: str) -> int:
    return int(connection.execute(statement).fetchone()[0])


def measure(table: Table, running: Service, url: str) -> None:
    _prepare(running)
    program = ("tests.telephony.switch.ari_server", "--pick-up", str(PICK_UP_SECONDS), "--talk", str(TALK_SECONDS))
    with asterisk(running, url, *program) as session, processes(running, ["manage.py", "run_dialer"]):
        thirty_at_once(running, session, url)  # so that all have their connections
        alone = [thirty_at_once(running, session, url) for _ in range(RUNS)]
        with running.connect() as connection:
            connection.execute(_SWITCH, [True])
            deadline = time.monotonic() + 120
            while _one(connection, _LINES) < AGENTS and time.monotonic() < deadline:
                time.sleep(0.2)
            placed, since = _one(connection, _PLACED), time.monotonic()
            beside = [thirty_at_once(running, session, url) for _ in range(RUNS)]
            rate = (_one(connection, _PLACED) - placed) / (time.monotonic() - since)
            connection.execute(_SWITCH, [False])
        table.add_time("30 calls at once, our share of the time", statistics.median(alone), 0.3)
        what = f"the same beside a campaign that places {rate:.1f} calls a second for {AGENTS} agents"
        table.add_time(what, statistics.median(beside), 0.3)


def main() -> None:
    table = Table("Calls beside a campaign")
    table.head()
    with calls_service() as (running, url):
        measure(table, running, url)


if __name__ == "__main__":
    main()
