"""The scheduler of beat, which sleeps until an entry of the timetable is due."""

from celery.beat import PersistentScheduler


class Scheduler(PersistentScheduler):
    """Celery's scheduler without its early waking.

    Celery wakes 10 ms before an entry is due, and then asks whether it is due until it is: beat used twice the time.
    """

    def adjust(self, n: float, drift: float = 0.0) -> float:
        """Return the seconds of sleep until an entry is due in `n` seconds."""
        return n
