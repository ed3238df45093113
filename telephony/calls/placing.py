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
from telephony.models import Connection, Leg

# A call that is older was not placed by the task that was woken for it.
OVERDUE_SECONDS = 1.0
# Of a sweep; the next one is a second later.
MOST_AT_ONCE = 50

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
    with transaction.atomic():
        connection = legs.lock(pk, skip_locked=True)
        if connection is None or connection.state != Connection.State.QUEUED:
            return
        now = timezone.now()
        if connection.place_until and connection.place_until < now:
            legs.end(
                connection,
                legs.instant(connection, now),
                Connection.Disposition.FAILED,
                cause=None,
                hung_up_by=Connection.Party.SYSTEM,
            )
        elif connection.agent and _is_allowed(now):
            connection.state = Connection.State.ORIGINATING
            connection.save(update_fields=["state"])
            connection.all_legs = []  # of a call that nobody has placed
            leg = legs.add_leg(connection, Leg.Role.AGENT, connection.src, now, agent=connection.agent)
            events.connection_started(connection)
            connection.agent.ring(connection, legs.instant(connection, now))
            orders.call_agent(leg, connection.dst, settings.AGENT_RING_SECONDS)


def overdue(now: datetime) -> list[int]:
    """Calls whose message was lost, or that had to wait; the oldest first."""
    waiting = Connection.objects.filter(
        state=Connection.State.QUEUED, created_at__lt=now - timedelta(seconds=OVERDUE_SECONDS)
    )
    return list(waiting.order_by("created_at", "id").values_list("pk", flat=True)[:MOST_AT_ONCE])


def _is_allowed(now: datetime) -> bool:
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
