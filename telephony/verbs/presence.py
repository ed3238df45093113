"""Verbs of an agent's presence: log in and out, pause, be ready, take part in calls.

Each verb locks the agent, ends one interval of the ledger, begins the next and records the event.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _now

from callcentre.core.actor import Actor
from callcentre.core.audit import AuditAction
from callcentre.core.changes import store
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.core.statements import row_of, rows_of
from telephony import events
from telephony.models import Agent, AgentSession, Connection, ConnectionTopic, Pause, Topic
from telephony.models.agent_intervals import StateKind
from telephony.verbs import ledger, screen_pops
from telephony.verbs.agents import record_by_other
from telephony.verbs.ledger import State

# An agent can make a wrap-up longer by this time, once.
EXTENSION = timedelta(minutes=1)


def log_in(agent: Agent, actor: Actor, at: datetime | None = None) -> None:
    """Begin a session, ready for calls, and end a pause outside a session. Repeated, do nothing. Raises Invalid.

    If the agent's phone is in a call already, the session begins with that call.
    """
    with transaction.atomic():
        now = ledger.lock(agent.pk)
        if not now.is_active:
            raise Invalid([Fault(ErrorCode.AGENT_INACTIVE)])
        if now.is_logged_in:
            return
        moment = now.instant(at)
        AgentSession.objects.create(agent=agent, started_at=moment)
        events.agent_logged_in(agent.pk, now.login)
        call = now.state if now.state and now.state.is_of_call else ledger.call_on_phone(agent.pk)
        free = State(StateKind.FREE)
        ledger.change_state(now, moment, call.followed_by(free) if call else free)
        record_by_other(agent, actor, AuditAction.LOG_IN_AGENT)


def log_out(agent: Agent, actor: Actor, at: datetime | None = None, *, reason: str = "") -> bool:
    """End the session and the state. A call goes on, outside the ledger. Return whether there was one of them.

    `reason` is for the ledger and the audit log, here and in the next verbs.
    """
    with transaction.atomic():
        now = ledger.lock(agent.pk)
        if not (now.is_logged_in or now.state):
            return False
        ledger.close_session(now, now.instant(at), "logout", reason)
        record_by_other(agent, actor, AuditAction.LOG_OUT_AGENT, _why(reason))
        return True


def pause(
    agent: Agent,
    actor: Actor,
    pause_id: int | None,
    faults: Sequence[Fault] = (),
    at: datetime | None = None,
    *,
    after_call: bool = False,
    reason: str = "",
) -> bool:
    """End the state and begin this pause, within a session or outside. The same pause again changes nothing.

    A call goes on, outside the ledger. With `after_call` the pause begins after the call and its wrap-up. Return
    whether anything changed. Raises Invalid.
    """
    with transaction.atomic():
        now = ledger.lock(agent.pk)
        if not now.is_active:
            faults = [*faults, Fault(ErrorCode.AGENT_INACTIVE)]
        chosen = None if pause_id is None else Pause.objects.active().filter(pk=pause_id).first()
        if pause_id is not None and chosen is None:
            faults = [*faults, Fault(ErrorCode.PAUSE_NOT_FOUND, "pause_id")]
        if faults:
            raise Invalid(faults)
        if after_call and now.state and now.state.is_binding:
            ledger.amend(now, resumes_as=StateKind.PAUSED, resumes_pause_id=pause_id)
            return True
        if now.state and now.state.pause_id == pause_id:
            return False
        ledger.change_state(now, now.instant(at), State(StateKind.PAUSED, pause_id=pause_id, reason=reason))
        named = {"pause": [None, chosen.name]} if chosen else {}
        record_by_other(agent, actor, AuditAction.PAUSE_AGENT, named | _why(reason))
        return True


def free(agent: Agent, actor: Actor, at: datetime | None = None, *, after_call: bool = False, reason: str = "") -> bool:
    """End a pause or wrap-up: ready for calls. Return whether anything changed.

    Raises Invalid without a session, Conflict during a call.

    With `after_call` a call is no conflict: the agent is ready after it and its wrap-up.
    """
    with transaction.atomic():
        now = ledger.lock(agent.pk)
        if not now.is_logged_in:
            raise Invalid([Fault(ErrorCode.AGENT_NOT_LOGGED_IN)])
        if now.state and now.state.kind == StateKind.FREE:
            return False
        if after_call and now.state and now.state.is_binding:
            ledger.amend(now, resumes_as=StateKind.FREE, resumes_pause_id=None)
            return True
        if (now.state and now.state.is_in_call) or ledger.call_on_phone(agent.pk):
            raise Conflict(ErrorCode.AGENT_IN_CALL)
        ledger.change_state(now, now.instant(at), State(StateKind.FREE, reason=reason))
        record_by_other(agent, actor, AuditAction.FREE_AGENT, _why(reason))
        return True


def _why(reason: str) -> dict[str, list[str | None]]:
    return {"reason": [None, reason]} if reason else {}


def await_topic(agent: Agent, connection: Connection) -> None:
    """Let the wrap-up after this talk wait for the topic. Do nothing if the agent does not talk in this call."""
    with transaction.atomic():
        now = ledger.lock(agent.pk)
        if now.state and now.state.kind == StateKind.TALKING and now.state.connection_id == connection.pk:
            ledger.amend(now, awaits_topic=True)


def extend_wrap_up(agent: Agent, actor: Actor) -> int | None:
    """Let the wrap-up end later by EXTENSION. Return the call, by its key.

    Return None and do nothing a second time, and without a wrap-up that ends by itself.
    """
    with transaction.atomic():
        now = ledger.lock(agent.pk)
        if not now.state or not now.state.ends_at or now.state.is_extended or now.state.waits_for_topic:
            return None
        ledger.amend(now, ends_at=now.state.ends_at + EXTENSION, is_extended=True)
        return now.state.connection_id


def deactivate(agent: Agent, actor: Actor) -> None:
    """Log out an agent who has left. An inactive agent gets no calls."""
    with transaction.atomic():
        log_out(agent, actor)
        store(agent, is_active=False, updated_at=timezone.now())


# The rest runs within the transaction of a call, whose connection is locked. Agent(pk=…) is enough of an agent.


def ring(agent: Agent, connection: Connection, at: datetime) -> None:
    """Begin the ringing of the agent's phone for a call and record AGENT_RINGING.

    An agent who is in another call stays in that: this call begins for the agent at the end of the other one.
    """
    with transaction.atomic(savepoint=False):
        now = ledger.lock(agent.pk)
        events.agent_ringing(connection, now.login)
        screen_pops.record(connection, now.login, screen_pops.Moment.RING)
        if now.state is None or not now.state.is_in_call:
            state = State(StateKind.RINGING, connection_id=connection.pk)
            ledger.change_state(now, now.instant(at), state.followed_by(now.state.resumption if now.state else None))


def talk(agent: Agent, connection: Connection, at: datetime) -> None:
    """Begin talking. Do nothing if the agent paused or logged out, or is in another call."""
    with transaction.atomic(savepoint=False):
        now = ledger.lock(agent.pk)
        if now.state and now.state.kind == StateKind.RINGING:
            state = State(StateKind.TALKING, connection_id=connection.pk)
            ledger.change_state(now, now.instant(at), state.followed_by(now.state.resumption))
            screen_pops.record(connection, now.login, screen_pops.Moment.ANSWER)


def leave_call(agent: Agent, connection: Connection, at: datetime, wrap_up_seconds: int = 0) -> None:
    """End the call for the agent: wrap-up, then the state after the call. Do nothing for one who paused or left."""
    with transaction.atomic(savepoint=False):
        now = ledger.lock(agent.pk)
        if now.state is None or not now.state.is_in_call or now.state.connection_id != connection.pk:
            return
        moment, before = now.instant(at), now.state.resumption
        if other := ledger.call_on_phone(agent.pk, leaving=connection.pk):
            following: State | None = other.followed_by(before)
        elif seconds := max(wrap_up_seconds, waits := _topic_seconds(connection) if now.state.awaits_topic else 0):
            following = State(
                StateKind.WRAP_UP,
                connection_id=connection.pk,
                ends_at=moment + timedelta(seconds=seconds),
                awaits_topic=waits > 0,
            ).followed_by(before)
        else:
            following = before
        ledger.change_state(now, moment, following)


def _topic_seconds(connection: Connection) -> int:
    """Return how long a wrap-up waits for the topic of the call; 0 if none can be chosen, or the call goes on."""
    queue = connection.queue
    if connection.ended_at is None or queue is None or not queue.topic_minutes:
        return 0
    lacks_topic = not ConnectionTopic.objects.filter(connection=connection).exists()
    return 60 * queue.topic_minutes if lacks_topic and Topic.objects.active().filter(group__queue=queue).exists() else 0


def topic_given(connection: Connection) -> None:
    """End the wait of a wrap-up for the topic of its call: it ends when it would have ended without the wait."""
    if connection.agent_id is None:
        return
    now = ledger.lock(connection.agent_id)
    if now.state and now.state.waits_for_topic and now.state.connection_id == connection.pk and now.state_since:
        regular_end = now.state_since + timedelta(seconds=connection.wrap_up_seconds)
        ledger.amend(now, ends_at=max(regular_end, now.instant(None)), awaits_topic=False)


def end_wrap_ups(now: datetime) -> None:
    with transaction.atomic():
        ledger.end_wrap_ups(now)


def close_long_sessions(now: datetime, limit: timedelta) -> int:
    """Log out the agents who have been logged in, or paused outside a session, for too long. Return their number.

    The session ends when it reached the limit, or with the agent's last action after that.
    """
    closed = 0
    for (agent_id,) in rows_of(ledger.OVERDUE, {"before": now - limit}):
        with transaction.atomic():
            agent = ledger.lock(agent_id)
            since = agent.session_since or agent.state_since
            if since and since <= now - limit:
                ledger.close_session(agent, agent.instant(since + limit), "limit")
                closed += 1
    return closed


# Heartbeats: an agent whose desk or program falls silent gets no calls, and is logged out later. Only sessions in which
# heartbeats have begun are looked at. A call and its wrap-up are left alone.

# The heartbeats of an agent are stored at most so often.
APART = timedelta(seconds=5)
# The most agents of one sweep; the next one goes on.
MOST = 50
# If the clock was set back, the last heartbeat is in the future.
_HEAR = """
UPDATE telephony_agentsession AS session SET heard_at = %(at)s
WHERE agent_id = %(agent)s AND ended_at IS NULL
  AND (heard_at NOT BETWEEN %(apart)s AND %(at)s OR heard_at IS NULL AND %(begins)s)
RETURNING EXISTS (
  SELECT FROM telephony_agentstate AS state JOIN telephony_pause AS pause ON pause.id = state.pause_id
  WHERE state.agent_id = session.agent_id AND state.ended_at IS NULL AND state.kind = 'paused' AND pause.is_automatic
)
"""
# The next sweep takes agents whom another transaction has locked.
_LOCK_SILENT = """
SELECT agent.id, session.heard_at FROM telephony_agentsession AS session
JOIN telephony_agentstate AS state ON state.agent_id = session.agent_id AND state.ended_at IS NULL
JOIN telephony_agent AS agent ON agent.id = session.agent_id
WHERE session.ended_at IS NULL AND state.kind IN ('free', 'preview', 'paused')
  AND (session.heard_at <= %(silent)s AND state.kind <> 'paused' OR session.heard_at <= %(gone)s)
ORDER BY agent.id LIMIT %(most)s FOR NO KEY UPDATE OF agent SKIP LOCKED
"""


def hear(agent_id: int, at: datetime | None = None, *, begins: bool = True) -> None:
    """Store a heartbeat in the agent's session. It ends a pause that only the silence has begun.

    Without `begins` it counts only if heartbeats have begun. Do nothing without a session.
    """
    at = at or timezone.now()
    row = row_of(_HEAR, {"agent": agent_id, "at": at, "apart": at - APART, "begins": begins})
    if not row or not row[0]:
        return
    with transaction.atomic():
        agent = ledger.lock(agent_id)
        if agent.state and agent.state.pause_id == Pause.objects.automatic().pk:
            ledger.change_state(agent, agent.instant(at), State(StateKind.FREE))


def end_silence(now: datetime) -> None:
    """Pause the agents who are silent, and log out those who are so for long, at the second at which it was due."""
    silent, gone = settings.AGENT_SILENT, settings.AGENT_GONE
    limits = {"silent": now - silent if silent else None, "gone": now - gone if gone else None}
    with transaction.atomic():
        for agent_id, heard_at in rows_of(_LOCK_SILENT, {**limits, "most": MOST}):
            agent = ledger.lock(agent_id)
            # The state may have changed before the lock. A call goes on also outside the ledger.
            if agent.state is None or agent.state.is_of_call or ledger.call_on_phone(agent_id):
                continue
            if gone and heard_at <= now - gone:
                ended_by = AgentSession.EndedBy.SILENT
                ledger.close_session(agent, agent.instant(heard_at + gone), ended_by, _reason(gone))
            elif agent.state.kind != StateKind.PAUSED:
                state = State(StateKind.PAUSED, pause_id=Pause.objects.automatic().pk, reason=_reason(silent))
                ledger.change_state(agent, agent.instant(heard_at + silent), state)


def _reason(silence: timedelta) -> str:
    return _now("No heartbeat for %(seconds)d s.") % {"seconds": silence.total_seconds()}
