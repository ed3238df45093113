"""The ledger of agents' time: every read of a locked agent and every change of states and sessions.

A call uses this module three times, so that what it needs is written in SQL: one statement locks, one reads, one
changes. The read follows the lock in a statement of its own, because a statement that waits for a lock sees old rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from callcentre.core.pubsub import publish
from callcentre.core.statements import Statement, row_of, rows_of
from telephony import events
from telephony.models import AgentLine, AgentSession, AgentState
from telephony.models.agent_intervals import StateKind
from telephony.models.connection import LEG_OCCUPIES_PHONE


@dataclass(frozen=True, slots=True)
class State:
    """A state of an agent: a row of AgentState without its instants."""

    kind: str
    pause_id: int | None = None
    connection_id: int | None = None
    # When a wrap-up ends by itself.
    ends_at: datetime | None = None
    # The state after the call: free, paused (for this pause) or, "", none.
    resumes_as: str = ""
    resumes_pause_id: int | None = None
    awaits_topic: bool = False
    is_extended: bool = False
    # Why another person has begun it; written, and never read here.
    reason: str = ""

    @property
    def is_in_call(self) -> bool:
        return self.kind in (StateKind.RINGING, StateKind.TALKING)

    @property
    def is_of_call(self) -> bool:
        return self.is_in_call or self.kind == StateKind.WRAP_UP

    @property
    def waits_for_topic(self) -> bool:
        """Whether this is a wrap-up that lasts until the call has a topic."""
        return self.kind == StateKind.WRAP_UP and self.awaits_topic

    @property
    def is_binding(self) -> bool:
        """Whether the agent can leave the state only later: it is a call, or its wrap-up waits for the topic."""
        return self.is_in_call or self.waits_for_topic

    @property
    def resumption(self) -> "State | None":
        """The state after the call: after the call of this state, or after a call that begins during this state.

        A preview does not come back.
        """
        if self.kind == StateKind.PREVIEW:
            return State(StateKind.FREE)
        if not self.is_of_call:
            return self
        return State(self.resumes_as, pause_id=self.resumes_pause_id) if self.resumes_as else None

    def followed_by(self, resumption: "State | None") -> "State":
        if resumption is None:
            return replace(self, resumes_as="", resumes_pause_id=None)
        return replace(self, resumes_as=resumption.kind, resumes_pause_id=resumption.pause_id)


@dataclass(frozen=True, slots=True)
class LockedAgent:
    """An agent who is locked until the transaction ends, with the open state and session of the ledger."""

    agent_id: int
    login: str
    is_active: bool
    # The open state: its row, its values, its start; then the open session.
    state_id: int | None
    state: State | None
    state_since: datetime | None
    session_id: int | None
    session_since: datetime | None
    # The latest instant in the agent's ledger. No row is written before it, even if the clock was set back.
    latest: datetime | None

    @property
    def is_logged_in(self) -> bool:
        return self.session_id is not None

    def is_in(self, kind: str) -> bool:
        """Return whether the agent is logged in, and in this state."""
        return self.is_logged_in and self.state is not None and self.state.kind == kind

    def instant(self, at: datetime | None) -> datetime:
        """Return the whole second to write for an event at this instant."""
        second = (at or timezone.now()).replace(microsecond=0)
        return max(second, self.latest) if self.latest else second


_LOCK = "SELECT login, is_active FROM telephony_agent WHERE id = %s FOR NO KEY UPDATE"
_LOCK_IN_ORDER = "SELECT FROM telephony_agent WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE"
# The last state and the last session, by the index however long the history is. Only the last one can be open.
_READ = """
SELECT state.id, state.kind, state.pause_id, state.connection_id, state.ends_at, state.resumes_as,
  state.resumes_pause_id, state.awaits_topic, state.is_extended, state.started_at, state.ended_at IS NULL,
  session.id, session.started_at, session.ended_at IS NULL,
  GREATEST(state.started_at, state.ended_at, session.started_at, session.ended_at)
FROM (SELECT %s::bigint AS id) AS agent
LEFT JOIN LATERAL (
  SELECT * FROM telephony_agentstate WHERE agent_id = agent.id ORDER BY started_at DESC, id DESC LIMIT 1
) AS state ON true
LEFT JOIN LATERAL (
  SELECT * FROM telephony_agentsession WHERE agent_id = agent.id ORDER BY started_at DESC, id DESC LIMIT 1
) AS session ON true
"""
_CALL_ON_PHONE = Statement("""
SELECT connection_id, state FROM (
  SELECT connection_id, state, asked_at FROM telephony_leg WHERE agent_id = %(agent)s AND {leg_occupies_phone}
  UNION ALL
  SELECT connection_id, CASE WHEN joined_at IS NULL THEN 'ringing' ELSE 'up' END, called_at
  FROM telephony_agentline WHERE agent_id = %(agent)s AND ended_at IS NULL AND connection_id IS NOT NULL
) AS calls WHERE connection_id IS DISTINCT FROM %(leaving)s::bigint ORDER BY asked_at LIMIT 1
""").of(leg_occupies_phone=LEG_OCCUPIES_PHONE)
_COLUMNS = "kind, pause_id, connection_id, ends_at, resumes_as, resumes_pause_id, awaits_topic, is_extended, reason"
_END = "UPDATE telephony_agentstate SET ended_at = %(at)s WHERE id = %(state_id)s"
# `done` makes the insert wait for the end of the old row: the constraint compares both.
_CHANGE_STATE = Statement("""
WITH ended AS ({end} RETURNING id)
INSERT INTO telephony_agentstate (agent_id, started_at, {columns})
SELECT %(agent_id)s, %(at)s, %(kind)s, %(pause_id)s, %(connection_id)s, %(ends_at)s, %(resumes_as)s,
  %(resumes_pause_id)s, %(awaits_topic)s, %(is_extended)s, %(reason)s
FROM (SELECT count(*) FROM ended) AS done
""").of(end=_END, columns=_COLUMNS)

# A talk that ended with a call, and the two states after it. No state spans a login or a logout.
_TALK_AND_AFTER = """
WITH talk AS (
  SELECT id, started_at FROM telephony_agentstate
  WHERE agent_id = %(agent_id)s AND connection_id = %(connection_id)s AND kind = 'talking' AND ended_at = %(was)s
    AND started_at BETWEEN %(since)s AND %(was)s
  ORDER BY started_at DESC, id DESC LIMIT 1
)
SELECT state.id, state.kind = 'wrap_up', state.started_at, state.ended_at, state.ends_at, EXISTS (
  SELECT FROM telephony_agentsession session
  WHERE session.agent_id = %(agent_id)s AND state.ended_at IN (session.started_at, session.ended_at)
)
FROM talk CROSS JOIN LATERAL (
  SELECT * FROM telephony_agentstate
  WHERE agent_id = %(agent_id)s AND started_at >= talk.started_at AND id >= talk.id ORDER BY started_at, id LIMIT 3
) state
ORDER BY state.started_at, state.id
"""

# Agents forget to end sessions, and pauses outside a session. Calls end by themselves.
OVERDUE = """
SELECT agent_id FROM telephony_agentsession WHERE ended_at IS NULL AND started_at <= %(before)s
UNION
SELECT agent_id FROM telephony_agentstate AS state
WHERE kind = 'paused' AND ended_at IS NULL AND started_at <= %(before)s
  AND NOT EXISTS (SELECT 1 FROM telephony_agentsession WHERE agent_id = state.agent_id AND ended_at IS NULL)
ORDER BY agent_id
"""
# The next sweep ends the wrap-ups of agents that another transaction has locked.
_LOCK_WRAPPED_UP = """
SELECT id, login FROM telephony_agent
WHERE id IN (
  SELECT agent_id FROM telephony_agentstate WHERE kind = 'wrap_up' AND ended_at IS NULL AND ends_at <= %s
)
ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
"""
_END_WRAP_UPS = """
WITH ended AS (
  UPDATE telephony_agentstate SET ended_at = ends_at
  WHERE agent_id = ANY(%s) AND kind = 'wrap_up' AND ended_at IS NULL AND ends_at <= %s
  RETURNING agent_id, ends_at, resumes_as, resumes_pause_id
)
INSERT INTO telephony_agentstate (agent_id, started_at, kind, pause_id, resumes_as)
SELECT agent_id, ends_at, resumes_as, resumes_pause_id, '' FROM ended WHERE resumes_as <> ''
RETURNING agent_id, kind, pause_id
"""


def lock(agent_id: int) -> LockedAgent:
    """Lock an agent and read the open state and session."""
    login, is_active = row_of(_LOCK, [agent_id])
    row = row_of(_READ, [agent_id])
    is_in_state, is_logged_in = row[10] and row[0] is not None, row[13] and row[11] is not None
    return LockedAgent(
        agent_id,
        login,
        is_active,
        state_id=row[0] if is_in_state else None,
        state=State(*row[1:9]) if is_in_state else None,
        state_since=row[9] if is_in_state else None,
        session_id=row[11] if is_logged_in else None,
        session_since=row[12] if is_logged_in else None,
        latest=row[14],
    )


def lock_in_order(agent_ids: list[int]) -> None:
    """Lock agents whose states change in one transaction, always in the order of their ids, to avoid deadlocks."""
    rows_of(_LOCK_IN_ORDER, [agent_ids])


def call_on_phone(agent_id: int, *, leaving: int | None = None) -> State | None:
    """Return the state for a call that occupies the agent's phone, other than the connection being left; else None."""
    row = row_of(_CALL_ON_PHONE, {"agent": agent_id, "leaving": leaving})
    return State(StateKind.TALKING if row[1] == "up" else StateKind.RINGING, connection_id=row[0]) if row else None


_preview_hooks: list[Callable[[int], None]] = []


def on_preview_end(act: Callable[[int], None]) -> None:
    """Call `act` with the id of each agent who leaves the state PREVIEW, in the same transaction."""
    _preview_hooks.append(act)


def change_state(agent: LockedAgent, at: datetime, state: State | None) -> None:
    """End the agent's state and begin another, or none, at one instant. Record the event of the new state."""
    values: dict[str, Any] = {"at": at, "agent_id": agent.agent_id, "state_id": agent.state_id}
    with connection.cursor() as cursor:
        if state:
            cursor.execute(_CHANGE_STATE, values | {name: getattr(state, name) for name in _COLUMNS.split(", ")})
        elif agent.state_id:
            cursor.execute(_END, values)
    if agent.state and agent.state.kind == StateKind.PREVIEW:
        for act in _preview_hooks:
            act(agent.agent_id)
    if state:
        previous_pause_id = agent.state.pause_id if agent.state else None
        _announce([(agent.agent_id, agent.login, state, previous_pause_id)])


def amend(agent: LockedAgent, **values: Any) -> None:
    """Change what the agent's state of a call says about its end and the state after it."""
    assert agent.state_id
    AgentState.objects.filter(pk=agent.state_id).update(**values)


def close_session(agent: LockedAgent, at: datetime, ended_by: str, reason: str = "") -> None:
    """End the agent's session, if there is one, and the state. Record the logout."""
    change_state(agent, at, None)
    if agent.session_id:
        AgentSession.objects.filter(pk=agent.session_id).update(ended_at=at, ended_by=ended_by, reason=reason)
        # The listener hangs up the standing line, after the call that it is in.
        lasting = AgentLine.objects.filter(agent=agent.agent_id, ended_at=None, hangup_asked_at=None)
        lasting.update(hangup_asked_at=timezone.now())
    events.agent_logged_out(agent.agent_id, agent.login)
    publish("calls")  # a call that rings this agent goes on to the next one


def end_wrap_ups(now: datetime) -> None:
    """End each wrap-up that is over, at the second at which it was due to end."""
    if logins := dict(rows_of(_LOCK_WRAPPED_UP, [now])):
        begun = rows_of(_END_WRAP_UPS, [list(logins), now])
        _announce([(agent_id, logins[agent_id], State(kind, pause_id), None) for agent_id, kind, pause_id in begun])


@dataclass(slots=True)
class _MovableState:
    """The columns of a state that change when the end of the talk before it moves."""

    id: int
    is_wrap_up: bool
    started_at: datetime
    ended_at: datetime | None
    ends_at: datetime | None
    ends_with_session: bool


def move_end_of_talk(agent_id: int, connection_id: int, since: datetime, was: datetime, to: datetime) -> None:
    """Move the end of a talk and the wrap-up after it. The state after these keeps its end.

    The talk is the last one in this call, which began at `since`. Do nothing if the talk did not end with the call,
    because the agent had paused or logged out.
    """
    lock(agent_id)
    talk: dict[str, Any] = {"agent_id": agent_id, "connection_id": connection_id, "since": since, "was": was}
    rows = [_MovableState(*row) for row in rows_of(_TALK_AND_AFTER, talk)]
    if not rows or rows[0].ends_with_session:
        return
    _move_borders(rows, to)
    # In this order no two rows of the agent overlap, not even between two statements.
    for row in rows if to < was else reversed(rows):
        moved = {"started_at": row.started_at, "ended_at": row.ended_at, "ends_at": row.ends_at}
        AgentState.objects.filter(pk=row.id).update(**moved)


def _move_borders(rows: list[_MovableState], to: datetime) -> None:
    talk, *rest = rows
    to = border = max(to, talk.started_at)
    wrap_up = rest.pop(0) if rest and rest[0].is_wrap_up and rest[0].started_at == talk.ended_at else None
    ended_at = talk.ended_at
    if wrap_up:
        assert wrap_up.ends_at is not None
        ended_at, ends_at = wrap_up.ended_at, to + (wrap_up.ends_at - wrap_up.started_at)
        is_cut_short = ended_at != wrap_up.ends_at or wrap_up.ends_with_session
        border = ended_at if ended_at and is_cut_short else ends_at
    if rest and rest[0].started_at == ended_at:
        border = min(border, rest[0].ended_at or border)
        rest[0].started_at = border
    elif rest:
        border = min(border, rest[0].started_at)
    talk.ended_at = min(to, border)
    if wrap_up:
        wrap_up.started_at, wrap_up.ends_at = talk.ended_at, ends_at
        wrap_up.ended_at = border if ended_at else None


def _announce(begun: list[tuple[int, str, State, int | None]]) -> None:
    """Record the events of states that have begun: (agent, login, state, previous pause) of each.

    Notify the listener: a waiting call may get a free agent, and a call that rings a paused agent goes on to the next.
    """
    if free := [(agent_id, login) for agent_id, login, state, _ in begun if state.kind == StateKind.FREE]:
        events.agents_free(free)
    for agent_id, login, state, previous_pause_id in begun:
        if state.pause_id is not None:
            events.agent_paused(agent_id, login, pause_id=state.pause_id, previous_pause_id=previous_pause_id)
    if any(state.kind in (StateKind.FREE, StateKind.PAUSED) for _id, _login, state, _previous in begun):
        publish("calls")
