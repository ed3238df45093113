"""Election of the leading listener by an advisory lock, a second lock while it is connected to the switch, and the last
contact with the switch.

The locks end with the connection of their holder. Any process can ask for them: placement, the board, the metrics.
"""

from contextlib import suppress
from datetime import datetime

import psycopg

from callcentre.core.advisory_locks import release, take
from callcentre.core.direct_connection import connect_directly
from callcentre.core.heartbeats import LISTENER, Pulse
from callcentre.core.statements import Statement, rows_of
from telephony import call_clock


class LastContact:
    """The last contact with the switch, over interruptions.

    After an interruption, a comparison with the switch finds the calls that have ended. Until then a further
    interruption changes nothing: the calls may have ended since the first one began.
    """

    def __init__(self, heard_at: datetime | None = None) -> None:
        self._heard_at = heard_at
        self.is_settled = True
        # The last contact before the present stream of events.
        self.silent_since: datetime | None = None

    def begin_stream(self) -> None:
        if self.is_settled:
            self.silent_since = self._heard_at
        self.is_settled = False

    def update(self, at: datetime) -> None:
        """Store a contact. An earlier instant than the stored one changes nothing."""
        if self._heard_at is None or not call_clock.is_before(at, self._heard_at):
            self._heard_at = at

    def settle(self) -> None:
        """Store that a comparison has found the calls that ended during the interruption."""
        self.is_settled = True

    @property
    def to_store(self) -> datetime | None:
        """The instant to store for the next listener; None while the stored one, before the interruption, must stay."""
        return self._heard_at if self.is_settled else None


LOCK_SPACE, LEADER, CONNECTED = 0x63616C73, 0, 1

_HELD = Statement("""
SELECT objid::int AS key, pid FROM pg_locks
WHERE locktype = 'advisory' AND classid = {lock_space} AND objsubid = 2 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
""").of(lock_space=LOCK_SPACE)
IS_CONNECTED = f"EXISTS (SELECT FROM ({_HELD}) AS held WHERE key = {CONNECTED})"
# The held locks of LEADER and CONNECTED, and the seconds since the holder's last statement.
HOLDERS = Statement("""
SELECT key, EXTRACT(epoch FROM clock_timestamp() - state_change)::float8
FROM ({held}) AS held JOIN pg_stat_activity USING (pid)
""").of(held=_HELD)

# The one row of telephony.models.SwitchContact.
_KEEP_CONTACT = """
INSERT INTO telephony_switchcontact (id, heard_at) VALUES (1, %s)
ON CONFLICT (id) DO UPDATE SET heard_at = EXCLUDED.heard_at
"""
_LAST_CONTACT = "SELECT heard_at FROM telephony_switchcontact WHERE id = 1"


def is_connected() -> bool:
    """Return whether a listener is connected to the switch. Otherwise no event of a call would be stored."""
    return bool(rows_of(f"SELECT {IS_CONNECTED}")[0][0])


class Leadership:
    """The lock of the leading listener. It ends with its connection and needs no release."""

    def __init__(self) -> None:
        self._own = connect_directly("listener")
        self._pulse = Pulse(LISTENER)

    def __enter__(self) -> "Leadership":
        return self

    def __exit__(self, *args: object) -> None:
        with suppress(psycopg.Error):
            self._own.close()

    def acquire(self) -> bool:
        return self._take(LEADER)

    def is_held(self) -> bool:
        """Return whether the lock is held still. Show that the listener is alive."""
        with suppress(psycopg.Error):
            self._own.execute("SELECT 1")
            self._pulse.beat(self._own.execute)
            return True
        return False

    def report(self, *, is_connected: bool) -> None:
        """Acquire or release the lock that tells others whether this listener is connected to the switch."""
        with suppress(psycopg.Error):
            if is_connected:
                self._take(CONNECTED)
            else:
                release(self._own, LOCK_SPACE, CONNECTED)

    def last_contact(self) -> datetime | None:
        row = self._own.execute(_LAST_CONTACT).fetchone()
        return row[0] if row else None

    def store_contact(self, heard_at: datetime) -> None:
        """Store the last contact with the switch, so that it survives this process."""
        with suppress(psycopg.Error):
            self._own.execute(_KEEP_CONTACT, [heard_at])

    def _take(self, key: int) -> bool:
        return take(self._own, LOCK_SPACE, key)
