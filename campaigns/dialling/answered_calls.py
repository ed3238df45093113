"""Agents for answered calls: the hooks by which telephony finds, joins and drops, in the transaction of the call.

Locks: the connection, the agent, the attempt, the record, the counts of the day.
"""

from collections.abc import Sequence
from datetime import datetime

from django.utils import timezone

from callcentre.core.changes import store
from callcentre.core.statements import Statement, row_of, rows_of
from campaigns import events
from campaigns.dialling import day_counts
from campaigns.dialling.drop_messages import sound_of
from campaigns.models import Attempt
from campaigns.verbs.results import lock_attempt
from telephony.models import Connection
from telephony.models.connection import IS_ANSWERED_WITHOUT_AGENT, LINE_IS_READY

Outcome = Attempt.Outcome

# A person who was joined later than this after the answer counts as dropped, too.
IN_TIME_SECONDS = 2.0

# The free agent of the campaign with a line who has waited the longest. Agents whom another answer has locked are
# passed over. The state is read again once the agent is locked.
_NEXT_AGENT = Statement("""
SELECT a.id FROM campaigns_attempt t
JOIN campaigns_campaign_agents member ON member.campaign_id = t.campaign_id
JOIN telephony_agent a ON a.id = member.agent_id AND a.is_active AND a.outbound_mode
JOIN telephony_agentstate st ON st.agent_id = a.id AND st.ended_at IS NULL AND st.kind = 'free'
WHERE t.connection_id = %(call)s AND a.id <> ALL(%(passed)s)
  AND EXISTS (SELECT FROM telephony_agentline WHERE agent_id = a.id AND {line_is_ready})
ORDER BY st.started_at, a.id LIMIT 1 FOR NO KEY UPDATE OF a SKIP LOCKED
""").of(line_is_ready=LINE_IS_READY)
# An answered call waits for an agent of one of these campaigns. The agent takes its calls by a line that is ready.
_IS_WANTED = Statement("""
SELECT EXISTS (
  SELECT FROM telephony_connection call
  JOIN campaigns_attempt t ON t.connection_id = call.id
  JOIN campaigns_campaign_agents member ON member.campaign_id = t.campaign_id
  JOIN telephony_agent a ON a.id = member.agent_id AND a.is_active AND a.outbound_mode
  WHERE {is_answered_without_agent} AND a.id = %(agent)s
    AND EXISTS (SELECT FROM telephony_agentline WHERE agent_id = a.id AND {line_is_ready})
)
""").of(is_answered_without_agent=IS_ANSWERED_WITHOUT_AGENT, line_is_ready=LINE_IS_READY)


def next_agent(connection: Connection, passed: Sequence[int]) -> int | None:
    row = row_of(_NEXT_AGENT, {"call": connection.pk, "passed": list(passed)})
    return row[0] if row else None


def is_wanted(agent_id: int) -> bool:
    """Return whether an answered call waits that the agent can take."""
    return bool(rows_of(_IS_WANTED, {"agent": agent_id})[0][0])


def answered(connection: Connection, at: datetime) -> bool:
    """Store the instant of the answer. Return whether the campaign detects machines."""
    attempt = lock_attempt(connection.pk)
    if attempt is None or attempt.answered_at:
        return False
    store(attempt, answered_at=at)
    return bool(attempt.campaign and attempt.campaign.detects_machines)


def detected(connection: Connection, at: datetime, who: str) -> None:
    """Store who has answered, and how long it took to say so."""
    attempt = lock_attempt(connection.pk)
    if attempt is None or attempt.answered_at is None:
        return
    seconds = round((at - attempt.answered_at).total_seconds(), 3)
    attempt.figures = {**attempt.figures, "answered_by": who, "detection_seconds": seconds}
    if who == "machine":
        attempt.outcome = Outcome.MACHINE
    attempt.save(update_fields=["figures", "outcome"])


def joined(connection: Connection) -> None:
    """Store the join, and count the live answer: as a drop, if it came too late.

    The instant is taken when all locks are held, because the person waits for them too.
    """
    attempt = lock_attempt(connection.pk)
    if attempt is None or attempt.joined_at or attempt.outcome:
        return
    day_counts.add(attempt, live_answers=1)
    store(attempt, joined_at=timezone.now(), agent_id=connection.agent_id)
    if _is_late(attempt):
        day_counts.add(attempt, drops=1)


def unjoin(connection: Connection, since: datetime) -> bool:
    """Take the join back, if the call was answered after `since` and no agent was guaranteed."""
    attempt = lock_attempt(connection.pk)
    if attempt is None or attempt.mode != Attempt.Mode.PREDICTIVE:
        return False
    if attempt.answered_at is None or attempt.answered_at < since or attempt.joined_at is None:
        return False
    store(attempt, joined_at=None, agent_id=None)
    day_counts.take_back(attempt, "live_answers")
    return True


def is_unheard(connection: Connection, since: datetime) -> bool:
    """Return whether the person was joined with an agent after `since`."""
    attempt = lock_attempt(connection.pk)
    return bool(attempt and attempt.joined_at and attempt.joined_at >= since)


def waiting() -> list[tuple[int, datetime]]:
    """Return the answered calls without an agent, those with a result of a detection only, the earliest first."""
    open_ones = Attempt.objects.filter(ended_at=None, joined_at=None, outcome="", mode=Attempt.Mode.PREDICTIVE)
    answers = open_ones.filter(answered_at__isnull=False).order_by("answered_at", "id")
    rows = answers.values_list("connection_id", "answered_at")
    return [(connection_id, answered_at) for connection_id, answered_at in rows if answered_at]


def dropped(connection: Connection, at: datetime) -> str:
    """Store the drop, count it, and return the campaign's message."""
    attempt = lock_attempt(connection.pk)
    if attempt is None or attempt.outcome:
        return ""
    counts = drop(attempt)
    attempt.save(update_fields=["outcome"])
    day_counts.add(attempt, **counts)
    return sound_of(attempt.campaign) if attempt.campaign else ""


def drop(attempt: Attempt) -> dict[str, int]:
    """Set the outcome, and record the event. The caller saves the attempt, then adds the returned counts.

    The join to a dead phone has counted the live answer already, and the drop if it came too late.
    """
    attempt.outcome = Outcome.DROPPED
    events.record_dropped(attempt.record_id, attempt.campaign_code, attempt.connection_uid)
    if attempt.joined_at:
        return {} if _is_late(attempt) else {"drops": 1}
    return {"live_answers": 1, "drops": 1}


def _is_late(attempt: Attempt) -> bool:
    """Return whether the person was joined too long after the answer."""
    if attempt.joined_at is None or attempt.answered_at is None:
        return False
    return (attempt.joined_at - attempt.answered_at).total_seconds() > IN_TIME_SECONDS


def transfer_failed(connection: Connection) -> None:
    """Note that the person was lost by a transfer: the record is called again with an agent guaranteed."""
    attempt = lock_attempt(connection.pk)
    if attempt:
        store(attempt, figures={**attempt.figures, "transfer_failed": True})
