"""SQL of the distribution: the callers and call-backs that wait, in their order, and the agents who may be rung.

The distribution and the explanation on the page of a call are composed of the same parts.
"""

from datetime import datetime, timedelta
from typing import Any

from callcentre.core.statements import Statement
from telephony.models.browser_phone import PHONE_IS_READY
from telephony.models.callback import CALLBACK_IS_DUE, moment
from telephony.models.skill import IS_ABLE, SKILLS_OF_MEMBER

# An agent who did not take a call does not get it again for this time, and no call-back of its queue. A phone that
# failed gets no call at all.
REST = timedelta(seconds=10)
# No phone rings longer.
LONGEST_RINGING = timedelta(minutes=5)

# The rank of a call or call-back of the queue `q`, the lowest first: the priority of the queue, less the steps of the
# caller, less one step for each so many seconds of the wait.
RANK = """(q.priority - {wait}.priority_steps - CASE WHEN q.step_seconds > 0
  THEN floor(extract(epoch FROM %(now)s::timestamptz - {wait}.waiting_since) / q.step_seconds) ELSE 0 END)"""
WAITS = Statement("""
  SELECT {rank_of_call} AS rank, c.waiting_since, c.id AS connection_id, NULL::bigint AS callback_id, c.queue_id
  FROM telephony_connection c JOIN telephony_queue q ON q.id = c.queue_id
  WHERE c.state = 'waiting' AND c.id <> ALL(%(passed)s)
    AND NOT EXISTS (SELECT 1 FROM telephony_offer o WHERE o.connection_id = c.id AND o.ended_at IS NULL)
    AND (q.longest_wait_seconds = 0 OR c.waiting_since + make_interval(secs => q.longest_wait_seconds) > %(now)s)
  UNION ALL
  SELECT {rank_of_callback}, b.waiting_since, NULL, b.id, b.queue_id
  FROM telephony_callback b JOIN telephony_queue q ON q.id = b.queue_id
  WHERE {callback_is_due} AND b.id <> ALL(%(passed_callbacks)s)
""").of(rank_of_call=RANK.format(wait="c"), rank_of_callback=RANK.format(wait="b"), callback_is_due=CALLBACK_IS_DUE)
# `{}` stands for the name of the waits. Callers and call-backs of one rank by the start of their wait.
ORDER_OF_WAITS = "{0}.rank, {0}.waiting_since, {0}.connection_id, {0}.callback_id"

# What is known of agents: session, state, the last offer.
AGENTS = Statement("""
  SELECT a.id AS agent_id, a.login, a.is_active, a.number, {phone_is_ready} AS phone_is_ready,
    s.id AS session_id, st.kind, st.started_at AS since,
    last.connection_id AS last_call, last.outcome AS last_outcome, last.ended_at AS last_ended_at
  FROM telephony_agent a
  LEFT JOIN telephony_agentsession s ON s.agent_id = a.id AND s.ended_at IS NULL
  LEFT JOIN telephony_agentstate st ON st.agent_id = a.id AND st.ended_at IS NULL
  LEFT JOIN LATERAL (
    SELECT o.connection_id, o.outcome, o.ended_at FROM telephony_offer o
    WHERE o.agent_id = a.id ORDER BY o.offered_at DESC LIMIT 1
  ) last ON true
""").of(phone_is_ready=PHONE_IS_READY)
# The members of queues, with what is known of their agents.
MEMBERS = Statement("""
  SELECT m.queue_id, m.priority, {is_able} AS is_able, held.levels, a.*
  FROM telephony_queuemember m JOIN {{agents}} a ON a.agent_id = m.agent_id {skills_of_member}
""").of(is_able=IS_ABLE, skills_of_member=SKILLS_OF_MEMBER)
# All hold for an agent who may be rung at all, and for a member who may be rung for the wait `w`. The agent or the
# member is `m`. The names are those of the reasons why an agent is not rung.
OF_AGENT = {
    "inactive": "m.is_active",
    "logged_out": "m.session_id IS NOT NULL",
    "not_ready": "m.kind = 'free'",
    "without_number": "m.number <> ''",
    "phone": "m.phone_is_ready",
    "rung": "NOT EXISTS (SELECT 1 FROM telephony_offer o WHERE o.agent_id = m.agent_id AND o.ended_at IS NULL)",
    "supervises": """NOT EXISTS (
      SELECT 1 FROM telephony_supervision s WHERE s.agent_id = m.agent_id AND s.ended_at IS NULL)""",
    "line": """NOT EXISTS (
      SELECT 1 FROM telephony_agentline l WHERE l.agent_id = m.agent_id AND l.ended_at IS NULL
        AND NOT (l.state = 'up' AND l.hangup_asked_at IS NULL AND l.connection_id IS NULL))""",
    "failed": "(m.last_ended_at > %(rested)s AND m.last_outcome = 'failed') IS NOT TRUE",
    "campaign": "m.agent_id <> ALL(%(wanted)s)",
}
OF_MEMBER = {
    "unskilled": "m.is_able",
    "rests": """(m.last_ended_at > %(rested)s AND m.last_outcome NOT IN ('answered', 'failed')
      AND m.last_call = w.connection_id) IS NOT TRUE""",
    "rests_from_callback": """(w.callback_id IS NULL OR NOT EXISTS (
      SELECT 1 FROM telephony_connection c
      WHERE c.agent_id = m.agent_id AND c.created_at > %(rang)s AND c.queue_id = w.queue_id AND c.direction = 'OUTBOUND'
        AND c.answered_at IS NULL AND c.hung_up_by = 'agent' AND c.ended_at > %(rested)s))""",
}
AGENT_MAY_BE_RUNG, MAY_BE_RUNG_FOR_WAIT = (" AND ".join(some.values()) for some in (OF_AGENT, OF_MEMBER))
# Agents by the number of offers of this call, then by priority in the queue, then the more able ones, then by the start
# of their ready time.
ORDER_OF_MEMBERS = """
  (SELECT count(*) FROM telephony_offer o WHERE o.connection_id = w.connection_id AND o.agent_id = m.agent_id),
  m.priority, m.levels DESC, m.since, m.agent_id"""


def values_at(now: datetime) -> dict[str, Any]:
    """Return the parameters of the parts, with no wait and no agent left out."""
    times = {"rested": now - REST, "rang": now - REST - LONGEST_RINGING}
    return {**moment(now), **times, "wanted": [], "passed": [], "passed_callbacks": []}
