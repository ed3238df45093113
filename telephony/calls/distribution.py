"""Who waits is offered to who is free: the order of both, decided in the database, and settled under locks.

The pair is chosen without a lock. Then the connection is locked, then the agent, and what made them a pair is looked
at again: whoever was faster, a caller who gave up or an agent who went on a pause, costs another look.
"""

from collections import Counter
from datetime import datetime, timedelta

from django.db import connection as database
from django.db import transaction

from telephony.calls import legs, offers, switch_requests
from telephony.models import Agent, Connection, Leg, Offer
from telephony.models.agent_intervals import StateKind
from telephony.verbs import ledger, presence

State = Connection.State

# An agent who has just not taken this call, or whose phone could not be reached for any, is let be for so long.
REST = timedelta(seconds=10)
# Looks at one pair that others were faster to change, before it is left to the next round.
MOST_LOOKS = 3

# Calls by their queue's priority, then by how long they wait. Agents: who had the call less often before, then by
# priority in the queue, then who is free the longest.
_NEXT = """
SELECT c.id, candidate.agent_id
FROM telephony_connection c
JOIN telephony_queue q ON q.id = c.queue_id
CROSS JOIN LATERAL (
  SELECT m.agent_id
  FROM telephony_queuemember m
  JOIN telephony_agent a ON a.id = m.agent_id AND a.is_active AND a.number <> ''
  JOIN telephony_agentsession s ON s.agent_id = m.agent_id AND s.ended_at IS NULL
  JOIN telephony_agentstate st ON st.agent_id = m.agent_id AND st.ended_at IS NULL AND st.kind = 'free'
  LEFT JOIN LATERAL (
    SELECT o.connection_id, o.outcome, o.ended_at FROM telephony_offer o
    WHERE o.agent_id = m.agent_id ORDER BY o.offered_at DESC LIMIT 1
  ) last ON true
  WHERE m.queue_id = q.id
    AND NOT EXISTS (SELECT 1 FROM telephony_offer o WHERE o.agent_id = m.agent_id AND o.ended_at IS NULL)
    AND (last.ended_at IS NULL OR last.ended_at <= %(rested)s OR last.outcome = 'answered'
         OR (last.outcome <> 'failed' AND last.connection_id <> c.id))
  ORDER BY (SELECT count(*) FROM telephony_offer o WHERE o.connection_id = c.id AND o.agent_id = m.agent_id),
    m.priority, st.started_at, m.agent_id
  LIMIT 1
) candidate
WHERE c.state = 'waiting' AND c.id <> ALL(%(passed)s)
  AND NOT EXISTS (SELECT 1 FROM telephony_offer o WHERE o.connection_id = c.id AND o.ended_at IS NULL)
  AND (q.longest_wait_seconds = 0 OR c.waiting_since + make_interval(secs => q.longest_wait_seconds) > %(now)s)
ORDER BY q.priority, c.waiting_since, c.id
LIMIT 1
"""
# Of agents who have gone on a pause meanwhile, or logged out. A call that somebody handed on to one is in no queue, and
# rings him whatever he does.
_IDLE = """
SELECT o.connection_id FROM telephony_offer o
WHERE o.ended_at IS NULL AND o.answered_at IS NULL AND o.queue_id IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM telephony_agentstate st
  WHERE st.agent_id = o.agent_id AND st.ended_at IS NULL AND st.kind = 'ringing' AND st.connection_id = o.connection_id
)
"""
_OVERDUE = """
SELECT c.id FROM telephony_connection c JOIN telephony_queue q ON q.id = c.queue_id
WHERE c.state = 'waiting' AND q.longest_wait_seconds > 0
  AND c.waiting_since + make_interval(secs => q.longest_wait_seconds) <= %s
ORDER BY c.waiting_since, c.id
"""


def distribute(now: datetime) -> int:
    """Ring the phones of free agents for those who wait; how many. First, those who ring in vain are let be."""
    for pk in _ids(_IDLE):
        _withdraw(pk, now)
    offered = 0
    looks: Counter[int] = Counter()
    while (pair := _next(now, [pk for pk, count in looks.items() if count >= MOST_LOOKS])) is not None:
        connection_id, agent_id = pair
        if _offer(connection_id, agent_id, now):
            offered += 1
        else:
            looks[connection_id] += 1
    return offered


def _next(now: datetime, passed: list[int]) -> tuple[int, int] | None:
    with database.cursor() as cursor:
        cursor.execute(_NEXT, {"now": now, "rested": now - REST, "passed": passed})
        row: tuple[int, int] | None = cursor.fetchone()
    return row


def _ids(statement: str, *parameters: datetime) -> list[int]:
    with database.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [pk for (pk,) in cursor.fetchall()]


@transaction.atomic
def _offer(connection_id: int, agent_id: int, now: datetime) -> bool:
    connection = legs.lock(connection_id)
    if connection is None or connection.queue is None or not _is_waiting_for_somebody(connection):
        return False
    standing = ledger.lock(agent_id)
    is_free = standing.is_logged_in and standing.state and standing.state.kind == StateKind.FREE
    if not is_free or Offer.objects.filter(agent=agent_id, ended_at=None).exists():
        return False
    agent = Agent.objects.get(pk=agent_id)
    at = max(legs.instant(connection, now), connection.waiting_since or connection.created_at)
    Offer.objects.create(connection=connection, queue=connection.queue, agent=agent, offered_at=at)
    leg = legs.add_leg(connection, Leg.Role.AGENT, agent.number, at, agent=agent)
    presence.ring(agent, connection, at)
    switch_requests.call_agent(leg, connection.src, connection.queue.ring_seconds)
    return True


def _is_waiting_for_somebody(connection: Connection) -> bool:
    return (
        connection.state == State.WAITING
        and connection.leg_of(Leg.Role.CUSTOMER) is not None
        and offers.current(connection) is None
    )


@transaction.atomic
def _withdraw(connection_id: int, now: datetime) -> None:
    """The agent does not want to be rung any more: his phone stops, and the call goes on to the next."""
    connection = legs.lock(connection_id)
    offer = offers.current(connection) if connection else None
    if connection is None or offer is None or offer.answered_at:
        return
    state = ledger.lock(offer.agent_id).state
    if state and state.kind == StateKind.RINGING and state.connection_id == connection.pk:
        return
    at = legs.instant(connection, now)
    offers.close(offer, at, Offer.Outcome.REFUSED)
    if leg := connection.leg_of(Leg.Role.AGENT):
        legs.hang_up(leg, at)


def overdue(now: datetime) -> list[int]:
    """Calls that have waited in their queue for as long as one may."""
    return _ids(_OVERDUE, now)


def is_overdue(connection: Connection, now: datetime) -> bool:
    """Whether that is so under its lock, and nobody's phone rings for it."""
    if connection.queue is None or connection.waiting_since is None or not connection.queue.longest_wait_seconds:
        return False
    limit = timedelta(seconds=connection.queue.longest_wait_seconds)
    return connection.waiting_since + limit <= now and _is_waiting_for_somebody(connection)
