"""What agents do now and since when, out of the ledger: for boards, lists and whoever asks."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

LOGGED_OUT = "logged_out"

# Who does what, as a board shows it: those who serve somebody first.
ORDER = ("talking", "ringing", "wrap_up", "free", "paused", LOGGED_OUT)
# The index leads to the last row of each, however long the history is.
_LAST_STATES = """
SELECT agent.id, last.kind, last.started_at, last.ended_at, last.pause_id, pause.name, last.connection_id
FROM unnest(%s::bigint[]) AS agent(id)
LEFT JOIN LATERAL (
  SELECT * FROM telephony_agentstate WHERE agent_id = agent.id ORDER BY started_at DESC, id DESC LIMIT 1
) AS last ON true
LEFT JOIN telephony_pause AS pause ON pause.id = last.pause_id
"""


@dataclass(frozen=True, slots=True)
class Current:
    """A kind of state, or LOGGED_OUT. `since` is None where an agent has never done anything."""

    status: str
    since: datetime | None = None
    pause_id: int | None = None
    pause_name: str = ""
    connection_id: int | None = None


def current_states(agent_ids: Collection[int]) -> dict[int, Current]:
    """In one statement, by the ids of the agents."""
    with connection.cursor() as cursor:
        cursor.execute(_LAST_STATES, [list(agent_ids)])
        return {
            agent_id: Current(kind, since, pause_id, pause_name or "", connection_id)
            if kind and ended_at is None
            else Current(LOGGED_OUT, ended_at)
            for agent_id, kind, since, ended_at, pause_id, pause_name, connection_id in cursor.fetchall()
        }
