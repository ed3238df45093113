"""A clock for each call, so that the lengths within a call stay right when the system's clock is set.

The listener reads the monotonic clock with each instant of a call. The first instant of a call is that of the system's
clock. Each later one is the first plus the seconds that the monotonic clock has counted since.
"""

import threading
import time
from datetime import UTC, datetime, timedelta

from django.utils import timezone

# Calls whose first instant is kept: more than are open at one time.
REMEMBERED = 20_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Call -> the lead of the system's clock over the monotonic one at its first instant. A number of each call is all that
# is kept: with the instants themselves the memory of the listener grew by three megabytes in an hour of dialling.
_leads: dict[int, timedelta] = {}
_lock = threading.Lock()


class Instant(datetime):
    """An instant of the system's clock, with the reading of this process's monotonic clock."""

    # None for an instant that was computed from another.
    steady: float | None = None


def now() -> Instant:
    instant = Instant.fromtimestamp(time.time(), UTC)
    instant.steady = time.monotonic()
    return instant


def is_before(one: datetime, other: datetime) -> bool:
    """Return whether one instant of this process is before the other. False if a reading is missing."""
    mine, theirs = getattr(one, "steady", None), getattr(other, "steady", None)
    return mine is not None and theirs is not None and mine < theirs


def on_call(connection_id: int | None, at: datetime) -> datetime:
    """Return an instant on the clock of a call. Without a reading it stays, but is never after now."""
    steady = at.steady if isinstance(at, Instant) else None
    if steady is None or connection_id is None:
        return min(at, timezone.now())
    with _lock:
        lead = _leads.setdefault(connection_id, at - _EPOCH - timedelta(seconds=steady))
        if len(_leads) > REMEMBERED:
            del _leads[next(iter(_leads))]
    return _EPOCH + lead + timedelta(seconds=steady)
