"""The scheduler of beat, which sleeps until an entry of the timetable is due. One beat leads, others stand by."""

import logging
import time
from datetime import UTC
from typing import Any

import psycopg
from celery import beat
from django.core.management import CommandError

from callcentre.core.advisory_locks import take
from callcentre.core.direct_connection import connect_directly
from callcentre.core.heartbeats import BEAT, Pulse

logger = logging.getLogger(__name__)

_LOCK = 0x62656174
# Between two looks at the lock.
LOOK_SECONDS = 1.0
_LAST_BEAT = "SELECT beat_at FROM callcentre_heartbeat WHERE process = %s ORDER BY beat_at DESC LIMIT 1"
# Between two lines of the log about a store that is away.
COMPLAINT_SECONDS = 60.0


class Scheduler(beat.Scheduler):
    """Celery's scheduler without its early waking, led by one process, with few words about a broker that is away.

    Celery wakes 10 ms before an entry is due, and then asks whether it is due until it is: beat used twice the time.
    A beat that begins to lead sends what was due since the last heartbeat of any beat. A file with these times, as
    Celery keeps, cannot be written to a full disk, and another machine does not have it.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._own: psycopg.Connection[tuple[Any, ...]] | None = None
        self._pulse = Pulse(BEAT)
        self._has_lock = False
        self._look_at = self._complain_at = float("-inf")
        super().__init__(*args, **kwargs)

    def adjust(self, n: float, drift: float = 0.0) -> float:
        """Return the seconds of sleep until an entry is due in `n` seconds."""
        return n

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send what is due, if this beat leads. Return the seconds of sleep."""
        if self.is_leading():
            return float(super().tick(*args, **kwargs))
        return LOOK_SECONDS

    def is_leading(self) -> bool:
        """Return whether this beat has the lock, which ends with its connection. Show that it is alive."""
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_SECONDS
            had_lock, self._has_lock = self._has_lock, self._look()
            if self._has_lock != had_lock:
                logger.warning("beat leads" if self._has_lock else "beat no longer leads")
        return self._has_lock

    def _look(self) -> bool:
        try:
            self._own = self._own or connect_directly("beat")
            if not self._has_lock:
                if not take(self._own, _LOCK):
                    return False
                self._continue(self._own)
            self._own.execute("SELECT 1")
            self._pulse.beat(self._own.execute)
        except CommandError as error:
            raise SystemExit(str(error)) from error
        except psycopg.Error as error:
            # Without the database, no task could do anything.
            self._complain("the database does not answer", error=str(error))
            self._leave()
            return False
        return True

    def _continue(self, own: "psycopg.Connection[tuple[Any, ...]]") -> None:
        """Let the timetable go on from the last heartbeat of the beat that led before."""
        for (last,) in own.execute(_LAST_BEAT, [BEAT]):
            for entry in self.schedule.values():
                # The clock of the database may be ahead.
                entry.last_run_at = min(last.astimezone(UTC), entry.default_now())
        self._heap = None

    def _leave(self) -> None:
        if self._own:
            self._own.close()
        self._own = None

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Send a task, or say that the broker is away."""
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except Exception as error:  # noqa: BLE001  (the next sweep does the same)
            self._complain("tasks are not sent", task=entry.task, error=str(error))

    def _complain(self, text: str, **details: str) -> None:
        """Log an error, at most once a minute: the timetable has several tasks a second."""
        if time.monotonic() >= self._complain_at:
            self._complain_at = time.monotonic() + COMPLAINT_SECONDS
            logger.error(text, extra=details)

    def close(self) -> None:
        super().close()
        self._leave()
