"""Reads on a replica of the database, where it is fresh enough; else on the primary (docs/decisions/0053).

A piece of work is given whole. Its statements, those of Django's models and our own, go to the replica. If one fails
there, all of the work is repeated on the primary.
"""

import logging
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.utils import timezone

from callcentre.core.monitoring import NotReadyError, query
from callcentre.core.statements import rows_of

logger = logging.getLogger(__name__)

T = TypeVar("T")

REPLICA = "replica"
# A replica that does not answer is left alone for this time.
REST_SECONDS = 10.0
_rests_until = 0.0

# Where the log of the primary is, when, and which cluster and database it is: only a copy of it serves.
_PRIMARY = """
SELECT pg_current_wal_lsn()::text, clock_timestamp(), system_identifier, current_database() FROM pg_control_system()
"""
_REPLICA = """
SELECT CASE WHEN pg_is_in_recovery() THEN system_identifier || ' ' || current_database() END,
  pg_last_wal_replay_lsn() >= '{position}', pg_last_xact_replay_timestamp()
FROM pg_control_system()
"""


class Lag(NamedTuple):
    """The replica has all that was committed until `as_of`, by the clock of the primary: so many seconds ago."""

    as_of: datetime
    seconds: float

    @property
    def is_too_long(self) -> bool:
        return self.seconds > settings.DATABASE_REPLICA_LAG_SECONDS


def lag(ask_primary: Callable[[str], list[Any]] = query) -> Lag:
    """Measure the lag of the replica. Raise NotReadyError if it is none (any more), or an error of the database.

    The replica has everything if it has replayed the log up to where the primary is now. Otherwise it has what was
    committed until its last replayed commit. That commit alone would tell nothing while the primary is idle, and the
    log that the replica has received nothing while it is cut off from the primary.
    """
    ((position, now, system, database),) = ask_primary(_PRIMARY)
    # On a new connection: that of this thread may hang.
    ((place, has_all, last_commit),) = query(_REPLICA.format(position=position), alias=REPLICA)
    as_of = now if has_all else last_commit
    if place != f"{system} {database}" or as_of is None:
        raise NotReadyError("DATABASE_REPLICA_URL does not lead to a replica of the database.")
    return Lag(as_of, max((now - as_of).total_seconds(), 0))


def read(work: Callable[[datetime], T], *, since: datetime | None = None, is_exact: bool = False) -> T:
    """Return the result of work that only reads. Its argument is the instant as of which it reads.

    The replica may lag by DATABASE_REPLICA_LAG_SECONDS, and readers are told of the instant. With `since` it must have
    all that was committed until then, by the clock of the primary; with `is_exact`, until now. Work may be begun anew.
    """
    found, primary = _measured(), connections[DEFAULT_DB_ALIAS]
    if found and not (found.is_too_long or (is_exact and found.seconds) or (since and found.as_of < since)):
        try:
            # All statements of this thread now go there; it refuses to write.
            connections[DEFAULT_DB_ALIAS] = connections[REPLICA]
            return work(found.as_of)
        except Error as error:
            # Lost connections, and conflicts with what the replica must replay.
            logger.warning("repeated on the primary", extra={"error": repr(error)})
            connections[REPLICA].close()
        finally:
            connections[DEFAULT_DB_ALIAS] = primary
    return work(timezone.now())


def _measured() -> Lag | None:
    global _rests_until  # noqa: PLW0603
    is_open = connections[DEFAULT_DB_ALIAS].in_atomic_block
    if REPLICA not in settings.DATABASES or is_open or time.monotonic() < _rests_until:
        return None
    try:
        return lag(rows_of)
    except (Error, psycopg.Error, NotReadyError) as error:
        logger.warning("the replica is left alone", extra={"error": repr(error)})
        _rests_until = time.monotonic() + REST_SECONDS
        return None
