"""Heartbeats: each process of the service renews a row of its own, so that a dead or hanging process is noticed."""

import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import psycopg
from django.conf import settings
from django.db import Error

INTERVAL_SECONDS = 10.0
# A process is missing after this time without a heartbeat.
DEAD_SECONDS = 30.0
BEAT, LISTENER, DIALLER, MAILBOXES = "beat", "listener", "dialler", "mailboxes"

_BEAT = """
WITH old AS (
  DELETE FROM callcentre_heartbeat WHERE process = ANY(%(processes)s) AND beat_at < now() - interval '1 day'
)
INSERT INTO callcentre_heartbeat (process, name, beat_at)
SELECT process, %(name)s, clock_timestamp() FROM unnest(%(processes)s::text[]) AS process
ON CONFLICT (process, name) DO UPDATE SET beat_at = EXCLUDED.beat_at
"""
# The seconds since the last heartbeat of each kind of process, and the number of processes that are alive.
SILENCES = f"""
SELECT process, GREATEST(min(EXTRACT(epoch FROM clock_timestamp() - beat_at)), 0)::float8,
  count(*) FILTER (WHERE beat_at > clock_timestamp() - interval '{DEAD_SECONDS} s')
FROM callcentre_heartbeat WHERE beat_at > now() - interval '1 day' GROUP BY process
"""  # noqa: S608  (of our own constant)


class Pulse:
    """The heartbeats of this process, as one or several kinds."""

    def __init__(self, *processes: str) -> None:
        self._processes = list(processes)
        self._due_at = float("-inf")

    def beat(self, execute: Callable[[str, Mapping[str, Any]], object]) -> None:
        """Renew the rows by this function, unless they were renewed a moment ago.

        A database that cannot write, as its disk is full, costs the heartbeat only, and no lock of a leader.
        """
        if time.monotonic() < self._due_at:
            return
        self._due_at = time.monotonic() + INTERVAL_SECONDS
        with suppress(psycopg.Error, Error):
            execute(_BEAT, {"processes": self._processes, "name": f"{socket.gethostname()}:{os.getpid()}"})


def missing(silences: Mapping[str, float]) -> list[str]:
    """Return the kinds of processes that should run and do not. Not every installation has a dialler, or mailboxes."""
    kinds = [BEAT, LISTENER, *(each for each in (DIALLER, MAILBOXES) if each in silences)]
    kinds += settings.CELERY_TASK_QUEUE_NAMES
    return [kind for kind in kinds if silences.get(kind, DEAD_SECONDS) >= DEAD_SECONDS]
