"""The one door to the ledger of agents' time: what it says of a locked agent, and every change of it.

In SQL, because a call passes here three times: a lock, a look and a turn are a statement each. The look comes after
the lock and not with it: a statement that waited for a lock still sees what was there when it began to wait.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from telephony import events


class StateKind(models.TextChoices):
    FREE = "free", _("free")
    RINGING = "ringing", _("ringing")
    TALKING = "talking", _("talking")
    WRAP_UP = "wrap_up", _("wrap-up")
    PAUSED = "paused", _("paused")


@dataclass(frozen=True, slots=True)
class State:
    """What an agent is to do, or does: a row of AgentState without its instants."""

    kind: str
    pause_id: int | None = None
    connection_id: int | None = None
    # When a wrap-up ends by itself.
    ends_at: datetime | None = None
    # What follows the call: free, paused (for this pause) or, "", nothing.
    resumes_as: str = ""
    resumes_pause_id: int | None = None

    @property
    def is_in_call(self) -> bool:
        return self.kind in (StateKind.RINGING, StateKind.TALKING)

    @property
    def is_of_call(self) -> bool:
        return self.is_in_call or self.kind == StateKind.WRAP_UP

    @property
    def resumption(self) -> dict[str, Any]:
        """What a call that begins now, or goes on, is to return to."""
        if self.is_of_call:
            return {"resumes_as": self.resumes_as, "resumes_pause_id": self.resumes_pause_id}
        return {"resumes_as": self.kind, "resumes_pause_id": self.pause_id}

    @property
    def after_call(self) -> "State | None":
        return State(self.resumes_as, pause_id=self.resumes_pause_id) if self.resumes_as else None


@dataclass(frozen=True, slots=True)
class Standing:
    """What the ledger says of an agent, who is locked until the transaction ends."""

    agent_id: int
    login: str
    is_active: bool
    state: State | None
    is_logged_in: bool
    # The latest instant that the ledger knows of him: nothing is written before it, wherever clocks go.
    latest: datetime | None

    def instant(self, at: datetime | None) -> datetime:
        """The whole second in which something happens to him."""
        second = (at or timezone.now()).replace(microsecond=0)
        return max(second, self.latest) if self.latest else second


_LOCK = "SELECT login, is_active FROM telephony_agent WHERE id = %s FOR NO KEY UPDATE"
# The last row of each: one that is open has nothing after it.
_LOOK = """
SELECT state.id IS NOT NULL AND state.ended_at IS NULL,
  state.kind, state.pause_id, state.connection_id, state.ends_at, state.resumes_as, state.resumes_pause_id,
  session.id IS NOT NULL AND session.ended_at IS NULL,
  GREATEST(state.started_at, state.ended_at, session.started_at, session.ended_at)
FROM (SELECT %s::bigint AS id) AS agent
LEFT JOIN LATERAL (
  SELECT * FROM telephony_agentstate WHERE agent_id = agent.id ORDER BY started_at DESC, id DESC LIMIT 1
) AS state ON true
LEFT JOIN LATERAL (
  SELECT * FROM telephony_agentsession WHERE agent_id = agent.id ORDER BY started_at DESC, id DESC LIMIT 1
) AS session ON true
"""
# The new row comes after the end of the old one: the constraint looks at both.
_TURN = """
WITH ended AS (
  UPDATE telephony_agentstate SET ended_at = %(at)s WHERE agent_id = %(agent_id)s AND ended_at IS NULL RETURNING id
)
INSERT INTO telephony_agentstate
  (agent_id, kind, pause_id, connection_id, started_at, ends_at, resumes_as, resumes_pause_id)
SELECT %(agent_id)s, %(kind)s, %(pause_id)s, %(connection_id)s, %(at)s, %(ends_at)s, %(resumes_as)s,
  %(resumes_pause_id)s
FROM (SELECT count(*) FROM ended) AS done
"""
_END = "UPDATE telephony_agentstate SET ended_at = %(at)s WHERE agent_id = %(agent_id)s AND ended_at IS NULL"


def lock(agent_id: int) -> Standing:
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [agent_id])
        login, is_active = cursor.fetchone()
        cursor.execute(_LOOK, [agent_id])
        is_open, *state, is_logged_in, latest = cursor.fetchone()
    return Standing(agent_id, login, is_active, State(*state) if is_open else None, is_logged_in, latest)


def turn(standing: Standing, at: datetime, state: State | None) -> None:
    """End the state he is in and begin another, or none, at one instant; tell of it."""
    values = {"at": at, "agent_id": standing.agent_id}
    with connection.cursor() as cursor:
        if state is None:
            cursor.execute(_END, values)
            return
        columns = ("kind", "pause_id", "connection_id", "ends_at", "resumes_as", "resumes_pause_id")
        cursor.execute(_TURN, values | {name: getattr(state, name) for name in columns})
    if state.kind == StateKind.FREE:
        events.agent_free(standing.agent_id, standing.login)
    elif state.kind == StateKind.PAUSED and state.pause_id is not None:
        previous = standing.state.pause_id if standing.state else None
        events.agent_paused(standing.agent_id, standing.login, state.pause_id, previous)


def open_session(standing: Standing, at: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO telephony_agentsession (agent_id, started_at, ended_by) VALUES (%s, %s, '')",
            [standing.agent_id, at],
        )
    events.agent_logged_in(standing.agent_id, standing.login)


def close_session(standing: Standing, at: datetime, ended_by: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE telephony_agentsession SET ended_at = %s, ended_by = %s WHERE agent_id = %s AND ended_at IS NULL",
            [at, ended_by, standing.agent_id],
        )
