"""The agent's tickets, missed callers, and numbers of today."""

from datetime import datetime, time, timedelta
from typing import Any

from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.admin import may_see
from callcentre.core.statements import rows_of
from callcentre.core.times import spell_length
from callcentre.web.desk.situation import Situation
from reports import report
from reports.periods import Aggregation
from reports.report import Question
from telephony.customers import customers_of
from telephony.models import Agent, Connection
from tickets.admin.own_tickets import READ, own_tickets

# Tickets that the desk shows.
SHOWN = 8
# Missed callers are shown for this time.
MISSED_FOR = timedelta(hours=8)
MOST_MISSED = 5
# The numbers of today are counted again after so many seconds.
NUMBERS_SECONDS = 15

_OPEN_TICKETS = "SELECT count(*), max(updated_at) FROM tickets_ticket WHERE agent_id = %s AND closed_at IS NULL"
# Missed callers of the agent's queues without an answer, each with the last call, and how often the caller was rung
# since. A caller with whom a call is going on, or who is called back, is left out.
_MISSED = """
SELECT c.id, c.src, c.created_at, c.queue, c.src_number, later.tries, later.tried_at
FROM (
  SELECT DISTINCT ON (c.src_number) c.id, c.src, c.created_at, q.name AS queue, c.src_number
  FROM telephony_queuemember member
  JOIN telephony_queue q ON q.id = member.queue_id
  JOIN telephony_missedcaller m ON m.queue_id = q.id AND m.missed_at > %(since)s AND m.answered_by_id IS NULL
  JOIN telephony_connection c ON c.id = m.connection_id
  WHERE member.agent_id = %(agent)s AND c.src_number ~ '[0-9]'
  ORDER BY c.src_number, c.created_at DESC, c.id DESC
) c
CROSS JOIN LATERAL (
  SELECT count(*) AS tries, max(created_at) AS tried_at FROM telephony_connection out
  WHERE out.dst_number = c.src_number AND out.created_at >= c.created_at AND out.direction = 'OUTBOUND'
    AND EXISTS (SELECT FROM telephony_leg WHERE connection_id = out.id AND role = 'customer')
) later
WHERE NOT EXISTS (SELECT FROM telephony_callback b WHERE b.number = c.src_number AND b.state <> 'ended')
  AND NOT EXISTS (SELECT FROM telephony_connection WHERE dst_number = c.src_number AND state <> 'ended')
  AND NOT EXISTS (SELECT FROM telephony_connection WHERE src_number = c.src_number AND state <> 'ended')
ORDER BY later.tries, c.created_at DESC, c.id DESC LIMIT %(most)s
"""
_MISSED_NAMES = ("pk", "src", "at", "queue", "number", "tries", "tried_at")
# The results that the agent gave: those of calls that the agent had, by the agent's index of calls.
_RESULTS = """
SELECT count(*), count(*) FILTER (WHERE s.is_success)
FROM telephony_connection c
JOIN campaigns_attempt t ON t.connection_id = c.id AND t.result IS NOT NULL
LEFT JOIN campaigns_recordstatus s ON s.id = (t.result->'values'->>'status_id')::bigint
WHERE c.agent_id = %(agent)s AND c.created_at >= %(since)s AND c.campaign_code <> ''
"""


def tickets_facts(desk: Situation) -> Any:
    """Return what changes with each change of the agent's open tickets, and with the minute, for the due times."""
    return rows_of(_OPEN_TICKETS, [desk.agent.pk]), int(desk.now.timestamp() // 60)


def tickets_context(desk: Situation, facts: Any) -> dict[str, Any]:
    rows = own_tickets(desk.agent, desk.now)
    return {
        "tickets": rows[:SHOWN],
        "count": len(rows),
        "is_more": len(rows) == READ,
        "due_count": sum(row.is_due for row in rows),
        "unread_count": sum(row.is_unread for row in rows),
        "may_take": desk.request.user.has_perm("tickets.change_ticket"),
        "may_open": may_see(desk.request.user, "tickets", "ticket"),
    }


def missed_facts(desk: Situation) -> Any:
    """Return the missed callers, those who were tried least first, so that the others do not hide them."""
    return rows_of(_MISSED, {"agent": desk.agent.pk, "since": desk.now - MISSED_FOR, "most": MOST_MISSED})


def missed_context(desk: Situation, facts: Any) -> dict[str, Any]:
    rows = [dict(zip(_MISSED_NAMES, row, strict=True)) for row in facts]
    customers = customers_of({row["number"] for row in rows})
    for row in rows:
        row["uid"] = Connection(pk=row["pk"], created_at=row["at"]).uid
        row["customer"] = customers.get(row["number"])
    return {"missed": rows}


def missed_or_404(agent: Agent, uid: str) -> Connection:
    """Return a call to one of the agent's queues. Raises Http404 for others."""
    calls = Connection.objects.with_uid(uid).filter(direction=Connection.Direction.INBOUND, queue__members__agent=agent)
    if (call := calls.first()) is None:
        raise Http404(_now("This caller was in no queue of yours."))
    return call


def numbers_facts(desk: Situation) -> Any:
    return int(desk.now.timestamp() // NUMBERS_SECONDS)


def numbers_context(desk: Situation, facts: Any) -> dict[str, Any]:
    """Return the agent's figures of today, as the report counts them."""
    begin = timezone.make_aware(datetime.combine(timezone.localdate(desk.now), time.min))
    now = desk.now.replace(microsecond=0)
    agent = desk.agent
    names = {"login": agent.login, "name": agent.name, "surname": agent.surname}
    question = Question({agent.pk: names}, begin, begin + timedelta(days=1), Aggregation.DAY, now)
    row = next(iter(report.page(question, 1, 0)), None)
    results, successes = rows_of(_RESULTS, {"agent": agent.pk, "since": begin})[0]
    if row is None:
        return {"numbers": []}
    return {
        "numbers": [
            (_("calls answered"), f"{row.answered} / {row.offered}"),
            (_("calls placed"), row.calls),
            (_("talk time"), spell_length(row.talk_in_and_out)),
            (_("results"), results),
            (_("of them successes"), successes),
            (_("chats"), row.chats_answered),
            (_("tickets replied to"), row.tickets_answered),
            (_("time in pauses"), spell_length(row.pause_seconds)),
        ]
    }
