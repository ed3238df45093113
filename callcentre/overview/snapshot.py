"""The figures for all viewers of a scope, read at most once a second by one process and kept in Redis.

A reading is kept ten times as long as it took, if that is longer: the overview uses a tenth of a connection to the
database at most. A process that asks while another one reads gets the last figures, with the time of their reading.
"""

import hashlib
import threading
import time

import orjson
import redis
from django.conf import settings

from callcentre.core.redis_client import client
from callcentre.core.scope import ALL, Scope
from callcentre.overview import figures
from callcentre.overview.figures import Figures

FRESH_SECONDS = 1.0
LOAD = 10
# Older figures are not shown while others are read.
OLDEST_SECONDS = 30
# A process that dies while it reads holds the lock no longer than this.
LOCK_SECONDS = 10

# Scopes whose figures a process keeps without Redis.
MOST_SCOPES = 50

_own: dict[Scope, Figures] = {}
_own_lock = threading.Lock()


def current(scope: Scope = ALL) -> Figures:
    """Return the figures within the scope, at most as old as FRESH_SECONDS or ten times the time of their reading."""
    figures_name, lock = _name("figures", scope), lock_name(scope)
    try:
        stored = client().get(figures_name)
        kept: Figures | None = orjson.loads(stored) if stored else None
        if kept and _is_fresh(kept):
            return kept
        if not client().set(lock, b"1", nx=True, ex=LOCK_SECONDS) and kept:
            return kept
    except redis.RedisError:
        return _of_process(scope)
    try:
        read = _read(scope)
        client().set(figures_name, orjson.dumps(read), ex=OLDEST_SECONDS)
    except redis.RedisError:
        return read
    finally:
        _release(lock)
    return read


def lock_name(scope: Scope = ALL) -> str:
    """Return the key that the process holds which reads."""
    return _name("lock", scope)


def _name(part: str, scope: Scope) -> str:
    name = f"cc:overview:{settings.REDIS_URL.rpartition('/')[2]}:{part}"
    return name if scope.is_all else f"{name}:{hashlib.blake2s(repr(scope).encode(), digest_size=16).hexdigest()}"


def _release(lock: str) -> None:
    try:
        client().delete(lock)
    except redis.RedisError:
        return


def _read(scope: Scope) -> Figures:
    # What is stored and what was just read look the same.
    read: Figures = orjson.loads(orjson.dumps(figures.read(scope)))
    return read


def _is_fresh(kept: Figures) -> bool:
    age: float = time.time() - kept["at"]
    longest: float = FRESH_SECONDS * max(1, LOAD * kept["seconds"])
    return 0 <= age < longest


def _of_process(scope: Scope) -> Figures:
    """Return the figures of this process, without Redis: one thread reads while others wait for it."""
    with _own_lock:
        kept = _own.get(scope)
        if kept is None or not _is_fresh(kept):
            if len(_own) >= MOST_SCOPES:
                _own.clear()
            _own[scope] = kept = _read(scope)
        return kept
