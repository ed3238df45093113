"""Who leads the listeners, and whether he hears the switch: advisory locks, which go with whoever holds them.

Everybody may ask: who is about to place a call that nobody would hear of, a board, a monitor.
"""

from contextlib import suppress
from datetime import datetime
from typing import Any

import psycopg
from django.db import connection

LOCK_SPACE, LEADER, CONNECTED = 0x63616C73, 0, 1

# The locks that are held, of this database alone.
_HELD = f"""
SELECT objid::int AS key, pid FROM pg_locks
WHERE locktype = 'advisory' AND classid = {LOCK_SPACE} AND objsubid = 2 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""  # noqa: S608  (of our own constants)
# A condition for statements that act only where somebody hears what comes of it.
IS_CONNECTED = f"EXISTS (SELECT FROM ({_HELD}) AS held WHERE key = {CONNECTED})"
# LEADER, CONNECTED, as far as they are held, and how many seconds ago he who holds it last looked round.
HOLDERS = f"""
SELECT key, EXTRACT(epoch FROM clock_timestamp() - state_change)::float8
FROM ({_HELD}) AS held JOIN pg_stat_activity USING (pid)
"""  # noqa: S608

# The one row of telephony.models.SwitchContact.
_KEEP_CONTACT = """
INSERT INTO telephony_switchcontact (id, heard_at) VALUES (1, %s)
ON CONFLICT (id) DO UPDATE SET heard_at = EXCLUDED.heard_at
"""
_LAST_CONTACT = "SELECT heard_at FROM telephony_switchcontact WHERE id = 1"
# A machine that vanishes without a word loses its locks after 10 + 3 * 5 s, not after the system's two hours.
_KEEPALIVES = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"


def is_connected() -> bool:
    """Whether anybody hears the switch: without that, calls ring and end, and the rows do not know."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {IS_CONNECTED}")
        return bool(cursor.fetchone()[0])


class Leadership:
    """The lock by which one listener leads. It goes with its connection, so nobody has to give it back."""

    def __init__(self) -> None:
        limits: dict[str, Any] = {"connect_timeout": 5, "tcp_user_timeout": 10_000, "autocommit": True}
        parameters = {**connection.get_connection_params(), **limits, "application_name": "callcentre listener"}
        self._own = psycopg.connect(**parameters)
        self._own.execute(_KEEPALIVES)

    def __enter__(self) -> "Leadership":
        return self

    def __exit__(self, *args: object) -> None:
        with suppress(psycopg.Error):
            self._own.close()

    def acquire(self) -> bool:
        return self._take(LEADER)

    def is_held(self) -> bool:
        with suppress(psycopg.Error):
            self._own.execute("SELECT 1")
            return True
        return False

    def report(self, *, is_connected: bool) -> None:
        """For those who ask: whether we hear the switch."""
        with suppress(psycopg.Error):
            if is_connected:
                self._take(CONNECTED)
            else:
                self._own.execute("SELECT pg_advisory_unlock(%s, %s)", [LOCK_SPACE, CONNECTED])

    def last_contact(self) -> datetime | None:
        """Return when the switch was heard last, by this listener or another one. None if it never was."""
        row = self._own.execute(_LAST_CONTACT).fetchone()
        return row[0] if row else None

    def store_contact(self, heard_at: datetime) -> None:
        """Store when the switch was heard last, so that it is known whatever is killed."""
        with suppress(psycopg.Error):
            self._own.execute(_KEEP_CONTACT, [heard_at])

    def _take(self, key: int) -> bool:
        row = self._own.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK_SPACE, key]).fetchone()
        return bool(row and row[0])
