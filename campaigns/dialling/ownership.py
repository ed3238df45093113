"""Ownership of campaigns: a campaign belongs to one dialler process, by an advisory lock on a connection of its own.

Campaigns that share agents are a group, which belongs to one process by a lock of its own: their ticks follow one
another, so that each sees the calls of the others before it places some for the same agents. The locks end with the
connection, so another process takes the campaigns over as soon as their owner has died.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress

import psycopg

from callcentre.core.advisory_locks import release, take
from callcentre.core.direct_connection import connect_directly
from callcentre.core.heartbeats import DIALLER as DIALLER_PROCESS
from callcentre.core.heartbeats import Pulse
from callcentre.core.statements import Statement, rows_of

LOCK_SPACE, GROUP_SPACE = 0x6469616C, 0x64696167
# The key that all diallers share; those of campaigns are their ids.
DIALLER = 0
# SQL: the locks that diallers hold in this database, and the seconds since the last statement of each holder.
HOLDERS = Statement("""
SELECT objid::int AS key, EXTRACT(epoch FROM clock_timestamp() - state_change)::float8 AS seconds
FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND classid = {lock_space} AND objsubid = 2 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
""").of(lock_space=LOCK_SPACE)
# A machine that vanishes loses its locks after 1 + 2 * 1 s.
# The campaigns of each agent who is in several of them.
_SHARED = """
SELECT DISTINCT array_agg(campaign_id ORDER BY campaign_id) FROM campaigns_campaign_agents
WHERE campaign_id = ANY(%s) GROUP BY agent_id HAVING count(*) > 1
"""
_KEEPALIVES = "SET tcp_keepalives_idle = 1; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 2"


class Ownership:
    """The campaigns that this process owns."""

    def __init__(self) -> None:
        self._own = connect_directly("dialler", tcp_user_timeout=3_000)
        self._own.execute(_KEEPALIVES)
        self._own.execute("SELECT pg_advisory_lock_shared(%s, %s)", [LOCK_SPACE, DIALLER])
        self._pulse = Pulse(DIALLER_PROCESS)
        self._groups: set[int] = set()
        self.campaigns: set[int] = set()

    def hold(self, wanted: Mapping[int, int]) -> None:
        """Acquire the wanted campaigns that are free, and release those no longer wanted. Raises psycopg.Error.

        `wanted` is campaign -> group. A campaign is only held together with its group.
        """
        self._own.execute("SELECT 1")
        self._pulse.beat(self._own.execute)
        groups = set(wanted.values())
        held = self._groups | self._acquire(GROUP_SPACE, groups - self._groups)
        possible = {campaign for campaign, group in wanted.items() if group in held}
        self._release(LOCK_SPACE, self.campaigns - possible)
        self._release(GROUP_SPACE, held - groups)
        self._groups = held & groups
        self.campaigns &= possible
        self.campaigns |= self._acquire(LOCK_SPACE, possible - self.campaigns)

    def _acquire(self, space: int, keys: Collection[int]) -> set[int]:
        """Lock the keys that are free, and return them."""
        return {key for key in sorted(keys) if take(self._own, space, key)}

    def _release(self, space: int, keys: Collection[int]) -> None:
        for key in keys:
            release(self._own, space, key)

    def close(self) -> None:
        with suppress(psycopg.Error):
            self._own.close()


def groups_of(campaigns: Collection[int]) -> dict[int, int]:
    """Return campaign -> group: the lowest id among all campaigns that share agents, also by way of others."""
    groups = {campaign: campaign for campaign in campaigns}
    for (members,) in rows_of(_SHARED, [list(campaigns)]):
        old = {groups[campaign] for campaign in members}
        groups = {campaign: min(old) if group in old else group for campaign, group in groups.items()}
    return groups
