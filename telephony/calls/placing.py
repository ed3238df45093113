"""Placing calls that were asked for, each at most once: its row says that it is being placed before the switch hears.

A worker that dies in between leaves an agent's leg that is ASKED; the listener looks for it at the switch
(telephony.calls.resync) and either goes on with it or ends it. Nobody asks again.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection as database
from django.db import transaction
from django.utils import timezone

from telephony import events
from telephony.calls import legs, orders
from telephony.models import Agent, Connection, Leg

# A call that is older was not placed by the task that was woken for it.
OVERDUE_SECONDS = 1.0
# Of a sweep; the next one is a second later.
MOST_AT_ONCE = 50

_CLAIMED = ("created_at", "src", "dst", "queue_id", "request_id", "agent_id")
_CLAIM = f"""
WITH claimed AS (
  UPDATE telephony_connection SET state = 'originating'
  WHERE id = %(id)s AND state = 'queued' AND place_until >= %(now)s RETURNING id, {", ".join(_CLAIMED)}
), leg AS (
  INSERT INTO telephony_leg (connection_id, role, agent_id, number, channel_id, state, asked_at, tech_cause)
  SELECT id, 'agent', agent_id, src, 'cc-' || id || '-1', 'asked', %(now)s, '' FROM claimed
)
SELECT {", ".join(f"c.{name}" for name in _CLAIMED)}, a.login
FROM claimed c JOIN telephony_agent a ON a.id = c.agent_id
"""  # noqa: S608  (names of columns)
# Whoever counts is alone until he has committed.
_LOCK_SPACE = 0x63616C6C
_OPEN = "SELECT count(*) FROM telephony_connection WHERE state NOT IN ('queued', 'ended')"
# No call waits longer to be placed than the limit: the ones of the last second are among those.
_PLACED = """
SELECT count(*) FROM telephony_connection c JOIN telephony_leg l ON l.connection_id = c.id
WHERE c.direction = 'OUTBOUND' AND c.created_at > %s AND l.role = 'agent' AND l.asked_at > %s
"""


def place(pk: int) -> None:
    """Ring the agent's phone, if nobody has yet and the limits allow it; give up a call that had to wait too long."""
    now = timezone.now()
    with transaction.atomic():
        if _is_allowed() and (connection := _claimed(pk, now)):
            events.connection_started(connection)
            if connection.agent:
                connection.agent.ring(connection, now)
            leg = Leg(channel_id=f"cc-{pk}-1", number=connection.src)
            orders.call_agent(leg, connection.dst, settings.AGENT_RING_SECONDS)
        else:
            _give_up_late(pk, now)


def _claimed(pk: int, now: datetime) -> Connection | None:
    """The call, with its agent, which nobody else places from now on."""
    with database.cursor() as cursor:
        cursor.execute(_CLAIM, {"id": pk, "now": now})
        if (row := cursor.fetchone()) is None:
            return None
    *values, login = row
    connection = Connection(pk=pk, **dict(zip(_CLAIMED, values, strict=True)))
    connection.agent = Agent(pk=connection.agent_id, login=login)
    legs.name_in_logs(connection)
    return connection


def _give_up_late(pk: int, now: datetime) -> None:
    connection = legs.lock(pk) if Connection.objects.late(now).filter(pk=pk).exists() else None
    if connection and connection.state == Connection.State.QUEUED:
        legs.end(
            connection,
            legs.instant(connection, now),
            Connection.Disposition.FAILED,
            cause=None,
            hung_up_by=Connection.Party.SYSTEM,
        )


def overdue(now: datetime) -> list[int]:
    """Calls whose message was lost, or that had to wait; the oldest first."""
    waiting = Connection.objects.filter(
        state=Connection.State.QUEUED, created_at__lt=now - timedelta(seconds=OVERDUE_SECONDS)
    )
    return list(waiting.order_by("created_at", "id").values_list("pk", flat=True)[:MOST_AT_ONCE])


def _is_allowed() -> bool:
    if not (settings.CALLS_PER_SECOND or settings.TRUNK_LIMIT):
        return True
    with database.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK_SPACE])
        if settings.TRUNK_LIMIT:
            cursor.execute(_OPEN)
            if cursor.fetchone()[0] >= settings.TRUNK_LIMIT:
                return False
        if settings.CALLS_PER_SECOND:
            second = timezone.now() - timedelta(seconds=1)
            cursor.execute(_PLACED, [second - timedelta(seconds=settings.PLACE_LIMIT_SECONDS), second])
            return bool(cursor.fetchone()[0] < settings.CALLS_PER_SECOND)
    return True
