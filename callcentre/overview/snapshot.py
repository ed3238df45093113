"""The figures for all viewers, read at most once a second by one process and kept in Redis.

A reading is kept ten times as long as it took, if that is longer: the overview uses a tenth of a connection to the
database at most. A process that asks while another one reads gets the last figures, with the time of their reading.
"""

import threading
import time

import orjson
import redis
from django.conf import settings

from callcentre.core.redis_client import client
from callcentre.overview import figures
from callcentre.overview.figures import Figures

FRESH_SECONDS = 1.0
LOAD = 10
# Older figures are not shown while others are read.
OLDEST_SECONDS = 30
# A process that dies while it reads holds the lock no longer than this.
LOCK_SECONDS = 10

_own: Figures | None = None
_own_lock = threading.Lock()


def current() -> Figures:
    """Return the figures, at most as old as FRESH_SECONDS or ten times the time of their reading."""
    figures_name = _name("figures")
    try:
        stored = client().get(figures_name)
        kept: Figures | None = orjson.loads(stored) if stored else None
        if kept and _is_fresh(kept):
            return kept
        if not client().set(lock_name(), b"1", nx=True, ex=LOCK_SECONDS) and kept:
            return kept
    except redis.RedisError:
        return _of_process()
    try:
        read = _read()
        client().set(figures_name, orjson.dumps(read), ex=OLDEST_SECONDS)
    except redis.RedisError:
        return read
    finally:
        _release(lock_name())
    return read


def lock_name() -> str:
    """Return the key that the process holds which reads."""
    return _name("lock")


def _name(part: str) -> str:
    return f"cc:overview:{settings.REDIS_URL.rpartition('/')[2]}:{part}"


def _release(lock: str) -> None:
    try:
        client().delete(lock)
    except redis.RedisError:
        return


def _read() -> Figures:
    # What is stored and what was just read look the same.
    read: Figures = orjson.loads(orjson.dumps(figures.read()))
    return read


def _is_fresh(kept: Figures) -> bool:
    age: float = time.time() - kept["at"]
    longest: float = FRESH_SECONDS * max(1, LOAD * kept["seconds"])
    return 0 <= age < longest


def _of_process() -> Figures:
    """Return the figures of this process, without Redis: one thread reads while others wait for it."""
    global _own  # noqa: PLW0603  (the last reading of this process)
    with _own_lock:
        if _own is None or not _is_fresh(_own):
            _own = _read()
        return _own
