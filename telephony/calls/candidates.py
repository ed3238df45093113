"""SQL of the distribution: the callers and call-backs that wait, in their order, and the agents who may be rung.

The distribution and the explanation on the page of a call are composed of the same parts.
"""

from datetime import datetime, timedelta
from typing import Any

from callcentre.core.statements import Statement
from telephony.models.browser_phone import PHONE_IS_READY
from telephony.models.callback import CALLBACK_IS_DUE, moment
from telephony.models.skill import IS_ABLE, SKILL_OF_MEMBER

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

# The members `m` of queues with what is known of them: agent, session, state, the last offer, skills.
MEMBERS = Statement("""
  FROM telephony_queuemember m
  JOIN telephony_agent a ON a.id = m.agent_id
  LEFT JOIN telephony_agentsession s ON s.agent_id = m.agent_id AND s.ended_at IS NULL
  LEFT JOIN telephony_agentstate st ON st.agent_id = m.agent_id AND st.ended_at IS NULL
  LEFT JOIN LATERAL (
    SELECT o.connection_id, o.outcome, o.ended_at FROM telephony_offer o
    WHERE o.agent_id = m.agent_id ORDER BY o.offered_at DESC LIMIT 1
  ) last ON true {skill_of_member}
""").of(skill_of_member=SKILL_OF_MEMBER)
# All hold for an agent who may be rung for the wait `w`. The names are those of the reasons why an agent is not rung.
CONDITIONS = {
    "inactive": "a.is_active",
    "logged_out": "s.id IS NOT NULL",
    "not_ready": "st.kind = 'free'",
    "unskilled": IS_ABLE,
    "without_number": "a.number <> ''",
    "phone": PHONE_IS_READY,
    "rung": "NOT EXISTS (SELECT 1 FROM telephony_offer o WHERE o.agent_id = m.agent_id AND o.ended_at IS NULL)",
    "supervises": """NOT EXISTS (
      SELECT 1 FROM telephony_supervision s WHERE s.agent_id = m.agent_id AND s.ended_at IS NULL)""",
    "line": """NOT EXISTS (
      SELECT 1 FROM telephony_agentline l WHERE l.agent_id = m.agent_id AND l.ended_at IS NULL
        AND NOT (l.state = 'up' AND l.hangup_asked_at IS NULL AND l.connection_id IS NULL))""",
    "rests": """(
      last.ended_at IS NULL OR last.ended_at <= %(rested)s OR last.outcome = 'answered'
      OR (last.outcome <> 'failed' AND last.connection_id IS DISTINCT FROM w.connection_id))""",
    "rests_from_callback": """(w.callback_id IS NULL OR NOT EXISTS (
      SELECT 1 FROM telephony_connection c
      WHERE c.agent_id = m.agent_id AND c.created_at > %(rang)s AND c.queue_id = w.queue_id AND c.direction = 'OUTBOUND'
        AND c.answered_at IS NULL AND c.hung_up_by = 'agent' AND c.ended_at > %(rested)s))""",
    "campaign": "m.agent_id <> ALL(%(wanted)s)",
}
# Agents by the number of offers of this call, then by priority in the queue, then the more able ones, then by the start
# of their ready time.
ORDER_OF_MEMBERS = """
  (SELECT count(*) FROM telephony_offer o WHERE o.connection_id = w.connection_id AND o.agent_id = m.agent_id),
  m.priority, skill.levels DESC, st.started_at, m.agent_id"""


def values_at(now: datetime) -> dict[str, Any]:
    """Return the parameters of the parts, with no wait and no agent left out."""
    times = {"rested": now - REST, "rang": now - REST - LONGEST_RINGING}
    return {**moment(now), **times, "wanted": [], "passed": [], "passed_callbacks": []}
