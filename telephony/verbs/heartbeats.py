"""Heartbeats of agents: one whose desk or program falls silent gets no calls, and is logged out later.

Only sessions in which heartbeats have begun are looked at. A call and its wrap-up are left alone.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _now

from callcentre.core.statements import row_of, rows_of
from telephony.models import AgentSession, Pause
from telephony.models.agent_intervals import StateKind
from telephony.verbs import ledger
from telephony.verbs.ledger import State

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
