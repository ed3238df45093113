"""Instants of calls that stay apart as long as time has passed between them, whatever is done to the system's clock.

The system's clock may be set while a call goes on. So the listener takes each instant of a call together with a reading
of the monotonic clock. The first instant of a call is that of the system's clock; each later one is so many seconds
after the first as the monotonic clock has counted.
"""

import threading
import time
from datetime import UTC, datetime, timedelta

from django.utils import timezone

# Calls whose first instant is remembered: more than go on at one time.
REMEMBERED = 20_000

_first: dict[int, tuple[datetime, float]] = {}
_lock = threading.Lock()


class Instant(datetime):
    """An instant of the system's clock, with the reading of this process's monotonic clock at the same moment."""

    # None of what is computed from an instant.
    steady: float | None = None


def now() -> Instant:
    instant = Instant.fromtimestamp(time.time(), UTC)
    instant.steady = time.monotonic()
    return instant


def is_before(one: datetime, other: datetime) -> bool:
    """Return whether one instant of this process came before the other. Where a reading is missing it is not known."""
    mine, theirs = getattr(one, "steady", None), getattr(other, "steady", None)
    return mine is not None and theirs is not None and mine < theirs


def on_call(connection_id: int | None, at: datetime) -> datetime:
    """Return when something happened, on the clock of a call. An instant without a reading is never after now."""
    steady = at.steady if isinstance(at, Instant) else None
    if steady is None or connection_id is None:
        return min(at, timezone.now())
    with _lock:
        first_at, first_steady = _first.setdefault(connection_id, (at, steady))
        if len(_first) > REMEMBERED:
            del _first[next(iter(_first))]
    return first_at + timedelta(seconds=steady - first_steady)
