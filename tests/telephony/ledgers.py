"""The ledger as tests look at it: seconds since a morning, and what must always be true of it."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from telephony.models import Agent, AgentSession, AgentState
from webhooks.models import Event

_NEVER = datetime.max.replace(tzinfo=UTC)
MORNING = datetime(2026, 11, 20, 8, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return MORNING + timedelta(seconds=seconds)


def _seconds(instant: datetime | None) -> int | None:
    return None if instant is None else int((instant - MORNING).total_seconds())


def states(agent: Agent) -> list[tuple[str, int | None, int | None]]:
    """(kind or name of the pause, from, to), oldest first."""
    rows = AgentState.objects.filter(agent=agent).select_related("pause").order_by("started_at", "id")
    return [(str(row.pause or row.kind), _seconds(row.started_at), _seconds(row.ended_at)) for row in rows]


def sessions(agent: Agent) -> list[tuple[int | None, int | None]]:
    rows = AgentSession.objects.filter(agent=agent).order_by("started_at", "id")
    return [(_seconds(row.started_at), _seconds(row.ended_at)) for row in rows]


def told(agent: Agent) -> list[str]:
    """The names of the agent's events, in order; AGENT_RINGING is a connection's."""
    return list(Event.objects.filter(subject=f"agent:{agent.pk}").order_by("id").values_list("action", flat=True))


def assert_consistent(agent: Agent) -> None:
    """No two states at once, no two sessions, every second of a session in exactly one state; whole seconds."""
    rows: list[Any] = list(AgentState.objects.filter(agent=agent).order_by("started_at", "id"))
    logins: list[Any] = list(AgentSession.objects.filter(agent=agent).order_by("started_at", "id"))
    for intervals in (rows, logins):
        assert all(one.started_at.microsecond == 0 for one in intervals)
        assert all(one.ended_at is None or one.ended_at >= one.started_at for one in intervals)
        for one, following in pairwise(intervals):
            assert one.ended_at is not None, "only the last is open"
            assert one.ended_at <= following.started_at
    for session in logins:
        inside = [row for row in rows if _is_inside(row, session)]
        assert inside, "a session is never without a state"
        assert inside[0].started_at == session.started_at
        assert inside[-1].ended_at == session.ended_at
        assert all(one.ended_at == following.started_at for one, following in pairwise(inside))
    for row in rows:
        # Ready time is inside a session; an agent does not return to it outside.
        if "free" in (row.kind, row.resumes_as):
            assert any(_is_inside(row, session) for session in logins), row


def _is_inside(row: Any, session: Any) -> bool:
    return bool(row.started_at >= session.started_at and (row.ended_at or _NEVER) <= (session.ended_at or _NEVER))
