"""Ownership of campaigns: a campaign belongs to one dialler process, by an advisory lock on a connection of its own.

The locks end with the connection, so another process takes the campaigns over as soon as their owner has died.
"""

from contextlib import suppress
from typing import Any

import psycopg
from django.db import connection

LOCK_SPACE = 0x6469616C
# The key that all diallers share; those of campaigns are their ids.
DIALLER = 0
# SQL: the locks that diallers hold in this database, and the seconds since the last statement of each holder.
HOLDERS = f"""
SELECT objid::int AS key, EXTRACT(epoch FROM clock_timestamp() - state_change)::float8 AS seconds
FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND classid = {LOCK_SPACE} AND objsubid = 2 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""  # noqa: S608  (of our own constants)
# A machine that vanishes loses its locks after 1 + 2 * 1 s.
_KEEPALIVES = "SET tcp_keepalives_idle = 1; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 2"


class Ownership:
    """The campaigns that this process owns."""

    def __init__(self) -> None:
        limits: dict[str, Any] = {"connect_timeout": 5, "tcp_user_timeout": 3_000, "autocommit": True}
        parameters = {**connection.get_connection_params(), **limits, "application_name": "callcentre dialler"}
        self._own = psycopg.connect(**parameters)
        self._own.execute(_KEEPALIVES)
        self._own.execute("SELECT pg_advisory_lock_shared(%s, %s)", [LOCK_SPACE, DIALLER])
        self.campaigns: set[int] = set()

    def hold(self, wanted: set[int]) -> None:
        """Acquire the wanted campaigns that are free and release those no longer wanted. Raises psycopg.Error."""
        for campaign_id in self.campaigns - wanted:
            self._own.execute("SELECT pg_advisory_unlock(%s, %s)", [LOCK_SPACE, campaign_id])
        self.campaigns &= wanted
        self._own.execute("SELECT 1")
        for campaign_id in sorted(wanted - self.campaigns):
            row = self._own.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK_SPACE, campaign_id]).fetchone()
            if row and row[0]:
                self.campaigns.add(campaign_id)

    def close(self) -> None:
        with suppress(psycopg.Error):
            self._own.close()
