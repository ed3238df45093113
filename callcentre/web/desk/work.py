"""The agent's tickets, missed callers, and numbers of today."""

from dataclasses import dataclass
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
from telephony.models import Agent, Connection
from tickets.admin.ticket_page_sidebar import dues_of
from tickets.due_tickets import SOON
from tickets.models import Ticket

# Tickets that are read, and those that the desk shows.
READ, SHOWN = 200, 8
# Missed callers are shown for this time.
MISSED_FOR = timedelta(hours=8)
MOST_MISSED = 5
# The numbers of today are counted again after so many seconds.
NUMBERS_SECONDS = 15

_OPEN_TICKETS = "SELECT count(*), max(updated_at) FROM tickets_ticket WHERE agent_id = %s AND closed_at IS NULL"
# Callers of the agent's queues who were not answered, and since then neither answered nor called.
_MISSED = """
SELECT DISTINCT ON (c.src_number) c.id, c.src, c.created_at, q.name, c.src_number
FROM telephony_queuemember m
JOIN telephony_queue q ON q.id = m.queue_id
JOIN telephony_connection c ON c.queue_id = q.id AND c.created_at > %(since)s AND c.direction = 'INBOUND'
  AND c.disposition = 'NO ANSWER'
WHERE m.agent_id = %(agent)s AND c.answered_at IS NULL AND c.src_number ~ '[0-9]'
AND NOT EXISTS (
  SELECT FROM telephony_connection later WHERE later.dst_number = c.src_number AND later.created_at >= c.created_at
    AND later.direction = 'OUTBOUND')
AND NOT EXISTS (
  SELECT FROM telephony_connection later WHERE later.src_number = c.src_number AND later.created_at >= c.created_at
    AND later.direction = 'INBOUND' AND (later.answered_at IS NOT NULL OR later.state <> 'ended'))
ORDER BY c.src_number, c.created_at DESC
"""
# The results that the agent gave: those of calls that the agent had, by the agent's index of calls.
_RESULTS = """
SELECT count(*), count(*) FILTER (WHERE s.is_success)
FROM telephony_connection c
JOIN campaigns_attempt t ON t.connection_id = c.id AND t.result IS NOT NULL
LEFT JOIN campaigns_recordstatus s ON s.id = (t.result->'values'->>'status_id')::bigint
WHERE c.agent_id = %(agent)s AND c.created_at >= %(since)s AND c.campaign_code <> ''
"""


# Tickets


def tickets_facts(desk: Situation) -> Any:
    """Return what changes with each change of the agent's open tickets, and with the minute, for the due times."""
    return rows_of(_OPEN_TICKETS, [desk.agent.pk]), int(desk.now.timestamp() // 60)


@dataclass(frozen=True, slots=True)
class OwnTicket:
    ticket: Ticket
    due: Any
    # The customer wrote last.
    is_unread: bool

    @property
    def is_due(self) -> bool:
        return self.due is not None and self.due.colour != "info"


def tickets_context(desk: Situation, facts: Any) -> dict[str, Any]:
    """Return the agent's open tickets: first those that are due soonest, then the unread ones."""
    mine = Ticket.objects.filter(agent=desk.agent, closed_at=None).order_by("-updated_at", "-id")
    rows = [_own(ticket, desk.now) for ticket in mine.select_related("status", "customer")[:READ]]
    rows.sort(key=lambda row: (not row.is_due, row.due.at if row.is_due else desk.now + SOON, not row.is_unread))
    return {
        "tickets": rows[:SHOWN],
        "count": len(rows),
        "is_more": len(rows) == READ,
        "due_count": sum(row.is_due for row in rows),
        "unread_count": sum(row.is_unread for row in rows),
        "may_open": may_see(desk.request.user, "tickets", "ticket"),
    }


def _own(ticket: Ticket, now: datetime) -> OwnTicket:
    dues = sorted(dues_of(ticket, now), key=lambda due: due.at)
    is_unread = ticket.awaiting_since is not None or ticket.first_agent_responded_at is None
    return OwnTicket(ticket, dues[0] if dues else None, is_unread)


# Missed callers


def missed_facts(desk: Situation) -> Any:
    rows = rows_of(_MISSED, {"agent": desk.agent.pk, "since": desk.now - MISSED_FOR})
    return sorted(rows, key=lambda row: row[2], reverse=True)[:MOST_MISSED]


def missed_context(desk: Situation, facts: Any) -> dict[str, Any]:
    return {
        "missed": [
            {"pk": pk, "uid": Connection(pk=pk, created_at=at).uid, "number": number, "at": at, "queue": queue}
            for pk, number, at, queue, _normal_form in facts
        ]
    }


def missed_or_404(agent: Agent, uid: str) -> Connection:
    """Return a call to one of the agent's queues. Raises Http404 for others."""
    calls = Connection.objects.with_uid(uid).filter(direction=Connection.Direction.INBOUND, queue__members__agent=agent)
    if (call := calls.first()) is None:
        raise Http404(_now("This caller was in no queue of yours."))
    return call


# Numbers


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
