"""Calls of the last two years, generated inside the database."""

from typing import Any

from django.conf import settings
from django.db import connection, transaction

from callcentre.demonstration import add, load
from telephony.models import Agent, Queue, QueueMember

QUEUES = 4
# The share of the calls of a day before each hour from 7 to 20, in percent.
HOURS = [0, 2, 8, 18, 29, 40, 49, 57, 66, 76, 85, 92, 97, 100]
# Oldest first, so that ids grow with time. Half of the calls are inbound; each of them rang an agent before it was
# answered or abandoned. The last table has the shares of the results, with their causes (Q.850).
_CALLS = """
WITH times AS (
  SELECT n, floor(place)::int AS day, (place - floor(place)) * 100 AS share
  FROM (SELECT n, %(days)s * (n - 1 + random()) / %(count)s::float AS place
        FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n) AS places
), drawn AS (
  SELECT n, ((now() AT TIME ZONE %(zone)s)::date - %(days)s + day + make_interval(secs => floor(3600 * (
      6 + hour + (share - (%(hours)s::float[])[hour]) / ((%(hours)s::float[])[hour + 1] - (%(hours)s::float[])[hour])
    )))) AT TIME ZONE %(zone)s AS created_at,
    (%(agents)s::bigint[])[1 + floor(power(random(), 1.3) * cardinality(%(agents)s::bigint[]))::int] AS asked_id,
    CASE WHEN random() < 0.5 THEN (%(queues)s::bigint[])[1 + floor(random() * %(queue_count)s)::int] END AS queue_id,
    '+4850' || lpad(floor(power(random(), 1.5) * 8000000)::text, 7, '0') AS number,
    2 + floor(random() * 23)::int AS rang, make_interval(secs => 3 + floor(-150 * ln(1 - random()))) AS talk,
    floor(-40 * ln(1 - random()))::int AS waited, random() * 100 AS luck,
    CASE WHEN random() < 0.45 THEN 'agent' ELSE 'customer' END AS hung_up_by
  FROM times CROSS JOIN LATERAL width_bucket(share, %(hours)s::float[]) AS hour
), calls AS (
  SELECT drawn.*, direction, disposition, cause, disposition = 'ANSWERED' AS is_answered,
    CASE direction WHEN 'INBOUND' THEN drawn.number ELSE phone.number END AS source,
    CASE direction WHEN 'INBOUND' THEN queue.number ELSE drawn.number END AS target,
    CASE direction WHEN 'INBOUND' THEN waited + rang ELSE 0 END AS wait_seconds,
    CASE direction WHEN 'INBOUND' THEN 0 ELSE rang END AS ring_seconds
  FROM drawn
  JOIN telephony_agent AS phone ON phone.id = asked_id
  LEFT JOIN telephony_queue AS queue ON queue.id = queue_id
  JOIN (VALUES
    ('INBOUND', 0, 84, 'ANSWERED', 16), ('INBOUND', 84, 100, 'NO ANSWER', 16), ('OUTBOUND', 0, 62, 'ANSWERED', 16),
    ('OUTBOUND', 62, 84, 'NO ANSWER', 19), ('OUTBOUND', 84, 93, 'BUSY', 17), ('OUTBOUND', 93, 97, 'FAILED', 1),
    ('OUTBOUND', 97, 100, 'FAILED', 38)
  ) AS results(direction, least, below, disposition, cause)
    ON direction = CASE WHEN queue_id IS NULL THEN 'OUTBOUND' ELSE 'INBOUND' END AND luck >= least AND luck < below
), new AS (
  INSERT INTO telephony_connection (direction, state, src, dst, src_number, dst_number, queue_id, agent_id, caller_id,
    created_at, waiting_since, answered_at, ended_at, disposition, cause, hung_up_by, ring_seconds, wait_seconds,
    is_on_hold, join_count, request_id)
  SELECT direction, 'ended', source, target, source, target, queue_id,
    CASE WHEN queue_id IS NULL OR is_answered THEN asked_id END, '', created_at,
    CASE WHEN queue_id IS NOT NULL THEN created_at END, CASE WHEN is_answered THEN met_at END,
    CASE WHEN is_answered THEN met_at + talk ELSE met_at END, disposition, cause, hung_up_by, ring_seconds,
    wait_seconds, false, is_answered::int, ''
  FROM calls
  CROSS JOIN LATERAL (SELECT created_at + make_interval(secs => wait_seconds + ring_seconds) AS met_at) AS meeting
  ORDER BY n
  RETURNING id, queue_id, agent_id, answered_at, ended_at, wait_seconds
)
INSERT INTO telephony_offer (connection_id, queue_id, agent_id, offered_at, answered_at, ended_at, outcome)
SELECT id, queue_id, COALESCE(agent_id, (%(agents)s::bigint[])[1 + id %% cardinality(%(agents)s::bigint[])]),
  COALESCE(answered_at, ended_at) - make_interval(secs => least(wait_seconds, 2 + id %% 14)), answered_at, ended_at,
  CASE WHEN answered_at IS NULL THEN 'abandoned' ELSE 'answered' END
FROM new WHERE queue_id IS NOT NULL
"""


def generate(count: int) -> None:
    """Insert connections, and an offer for each inbound one."""
    agents = load.agents()
    rows = [{"name": f"Load test {number}", "number": f"+48225559{number:03}"} for number in range(1, QUEUES + 1)]
    queues = add(Queue, rows)
    members = [
        QueueMember(queue=queue, agent=agent) for queue in queues for agent in Agent.objects.filter(pk__in=agents)
    ]
    QueueMember.objects.bulk_create(members, ignore_conflicts=True)
    parameters: dict[str, Any] = {
        "zone": settings.TIME_ZONE,
        "days": load.DAYS,
        "hours": HOURS,
        "agents": agents,
        "queues": [queue.pk for queue in queues],
        "queue_count": QUEUES,
    }
    for batch in load.batches(count):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT setseed(%s)", [batch["first"] / count])
            cursor.execute(_CALLS, parameters | batch)
    load.analyse("telephony_connection", "telephony_offer")
