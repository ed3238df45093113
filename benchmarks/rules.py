"""A comment with a hundred rules that do not match, and due times of 100,000 open tickets after a change of a level.

python -m benchmarks.rules [TICKETS]
"""

import itertools
import json
import sys
from uuid import uuid4

from benchmarks.harness import WARM_UP, Service, Table, filled, manage, medians

OPEN_TICKETS, RULES, TURNS = 100_000, 100, 400
STATE = """
INSERT INTO tickets_automationstate (id, token, levels_token) VALUES (1, %(token)s, %(token)s)
ON CONFLICT (id) DO UPDATE SET token = EXCLUDED.token, levels_token = EXCLUDED.levels_token
"""
RULE = """
INSERT INTO tickets_rule (updated_at, name, "order", is_active, conditions, actions, events, anchor, starts_others,
  trouble)
SELECT now(), 'Rule ' || n, n, true, %s, '{"priority": "low"}', '{commented}', '', false, ''
FROM generate_series(1, %s) AS n
"""
CONDITIONS = [
    {"name": "subject", "operator": "contains", "values": ["no ticket has this"]},
    {"name": "priority", "operator": "is", "values": ["urgent"]},
]
LEVEL = """
WITH calendar AS (
  INSERT INTO tickets_businesscalendar (updated_at, name, time_zone, country) VALUES (now(), 'Office', '', 'PL')
  RETURNING id
), hours AS (
  INSERT INTO tickets_calendarhours (calendar_id, weekday, opens_at, closes_at)
  SELECT id, day, '08:00', '16:00' FROM calendar, generate_series(1, 5) AS day
)
INSERT INTO tickets_servicelevel (updated_at, name, "order", is_active, conditions, calendar_id, first_response_minutes,
  next_response_minutes, resolution_minutes)
SELECT now(), 'Standard', 1, true, '[]', id, 240, 240, 1800 FROM calendar
"""
COMPUTE = """
from time import perf_counter
from tickets.verbs.service_levels import compute_open_tickets
began = perf_counter(); count = compute_open_tickets(); print(count, perf_counter() - began)
"""


def measure(running: Service, table: Table) -> None:
    client, connection = running.client(), running.connect()
    ids = itertools.cycle(
        [row[0] for row in connection.execute("SELECT id FROM tickets_ticket ORDER BY id LIMIT 1000")]
    )
    (login,) = connection.execute("SELECT login FROM telephony_agent LIMIT 1").fetchone() or ("",)

    def comment() -> None:
        body = {"comment": "A word.", "comment_type": "PLAIN", "user_login": login}
        client.send("POST", f"/api/tickets/{next(ids)}/comment", body, expect=204)

    without: list[float] = []
    with_rules: list[float] = []
    for turn in range(4):
        # Off and on, so that a change of the machine hits both.
        connection.execute("TRUNCATE tickets_rule CASCADE")
        if turn % 2:
            connection.execute(RULE, [json.dumps(CONDITIONS), RULES])
        connection.execute(STATE, {"token": uuid4()})
        (answered,) = medians(TURNS, comment, warm_up=WARM_UP)
        (with_rules if turn % 2 else without).append(answered)
    more = min(with_rules) - min(without)
    table.add_time(f"POST /tickets/:id/comment, {RULES} rules that do not match: more by", more, 0.0003)

    connection.execute("UPDATE tickets_ticket SET closed_at = NULL WHERE id IN "
                       "(SELECT id FROM tickets_ticket ORDER BY id LIMIT %s)", [OPEN_TICKETS])  # fmt: skip
    connection.execute(LEVEL)
    connection.execute(STATE, {"token": uuid4()})
    count, seconds = manage(running.environment, "shell", "-v0", "-c", COMPUTE).split()
    table.add_time(f"Due times of {int(count):,} open tickets after a change of a level", float(seconds), 60)
    connection.close()


def main() -> None:
    with filled("tickets", int(sys.argv[1]) if len(sys.argv) > 1 else 200_000, "tickets_ticket") as running:
        table = Table("Rules and service levels")
        table.head()
        measure(running, table)


if __name__ == "__main__":
    main()
