"""Taking the next ticket, and the assignment by a team: of a million tickets 100,000 wait without an agent.

python -m benchmarks.assignment [TICKETS]
"""

import sys
from typing import Any

from benchmarks.harness import WARM_UP, Service, Table, manage, medians, service

WAITING, TEAMS, MEMBERS, TURNS = 100_000, 20, 50, 400
PEOPLE = """
INSERT INTO telephony_agent (updated_at, login, name, surname, email, is_active, number, outbound_mode)
SELECT now(), 'member' || n, 'Member', '', '', true, '', false FROM generate_series(1, {members}) n;
INSERT INTO telephony_agentsession (agent_id, started_at, ended_by) SELECT id, date_trunc('second', now()), ''
FROM telephony_agent;
INSERT INTO tickets_team (updated_at, name, is_active, assignment, most_open)
SELECT now(), 'Team ' || n, true, 'least_loaded', 100 FROM generate_series(1, {teams}) n;
INSERT INTO tickets_teammember (team_id, agent_id) SELECT t.id, a.id FROM tickets_team t, telephony_agent a;
INSERT INTO tickets_ticketqueue (updated_at, name, is_active, sender_name, signature, template, language, address,
  asks_for_rating, acknowledges, acknowledgement, imap_host, imap_port, imap_uses_tls, imap_user, imap_password,
  imap_folder, imap_last_uid, imap_pending, imap_stuck_count, poll_error)
VALUES (now(), 'Benchmark', true, '', '', '', 'en', '', false, false, '', '', 993, true, '', '', 'INBOX', 0,
  '{{}}', 0, '');
"""
# The last ones wait: half of them in teams, with due times. The others are closed.
TICKETS = """
INSERT INTO tickets_ticket (subject, source, queue_id, priority, status_id, team_id, sender, sender_name, tags,
  custom_fields, connected_ids, created_at, updated_at, closed_at, awaiting_since, response_due_at)
SELECT 'Parcel ' || n, 'email', q.id, 1 + n %% 4, CASE WHEN waits THEN fresh.id ELSE closed.id END,
  CASE WHEN waits AND n %% 2 = 0 THEN (SELECT min(id) FROM tickets_team) + n / 2 %% {teams} END,
  'jan@client.example', '', '{{}}', '{{}}', '{{}}', at, at, CASE WHEN waits THEN NULL ELSE at END,
  CASE WHEN waits THEN at END, CASE WHEN waits AND n %% 3 > 0 THEN at + interval '4 hours' END
FROM generate_series(1, %(count)s) n
CROSS JOIN LATERAL (SELECT n > %(count)s - {waiting} AS waits, now() - n %% 90000 * interval '1 min' AS at) each
CROSS JOIN (SELECT id FROM tickets_ticketqueue ORDER BY id DESC LIMIT 1) q
CROSS JOIN (SELECT id FROM tickets_ticketstatus WHERE kind = 'new' LIMIT 1) fresh
CROSS JOIN (SELECT id FROM tickets_ticketstatus WHERE kind = 'closed' LIMIT 1) closed
"""
ASSIGN = """
from time import perf_counter
from tickets.models import Team
from tickets.verbs.assignment import assign_waiting
began = perf_counter(); count = assign_waiting(Team.objects.order_by("id")[0]); print(count, perf_counter() - began)
"""
PLAN = """
import logging
from django.db import connection
from django.utils import timezone
from tickets.verbs import assignment
from telephony.models import Agent
with connection.cursor() as cursor:
    agent = Agent.objects.order_by("id")[0].pk
    facts = {"open": assignment.OPEN_KINDS, "now": timezone.now(), "agent": agent, "looked_at": 4, "team": 2}
    for sql in (assignment._TAKE, assignment._GIVE):
        cursor.execute("EXPLAIN (ANALYZE, BUFFERS) " + sql, facts)
        print("\\n".join(row[0] for row in cursor.fetchall()))
"""


def measure(running: Service, table: Table, count: int) -> None:
    client, connection = running.client(), running.connect()
    sizes: Any = {"members": MEMBERS, "teams": TEAMS, "waiting": WAITING}
    connection.execute(PEOPLE.format(**sizes))
    connection.execute(TICKETS.format(**sizes), {"count": count})
    connection.execute("VACUUM ANALYZE tickets_ticket")
    print(manage(running.environment, "shell", "-v0", "-c", PLAN), file=sys.stderr)

    def take() -> None:
        client.send("POST", "/api/tickets/take_next", {"user_login": "member1"}, expect=200)

    (taken,) = medians(TURNS, take, warm_up=WARM_UP)
    table.add_time(f"POST /tickets/take_next, {WAITING:,} tickets wait", taken, 0.05)
    given, seconds = manage(running.environment, "shell", "-v0", "-c", ASSIGN).split()
    table.add_speed(f"Tickets that a team of {MEMBERS} gives to its members", int(given) / float(seconds), 20)
    connection.close()


def main() -> None:
    with service(0) as running:
        table = Table("Assignment of tickets")
        table.head()
        measure(running, table, int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)


if __name__ == "__main__":
    main()
