"""Entries in the log of ledger changes (telephony.models.change_log), from which reports find stale sums."""

from telephony.models import change_log
from tickets.models.ticket import Ticket

_REPLIES = """
SELECT agent_id, created_at, created_at FROM tickets_message
WHERE ticket_id = %s AND type = 'REPLY' AND agent_id IS NOT NULL
"""


def log_replies(ticket: Ticket) -> None:
    """Log the ticket's replies: they now count for another queue or another ticket."""
    change_log.note_rows(_REPLIES, [ticket.pk])


def log_end(ticket: Ticket) -> None:
    """Log the end of the ticket: it was closed, or reopened, or counts for another queue."""
    if ticket.closed_by_id and ticket.closed_at:
        change_log.note(ticket.closed_by_id, ticket.closed_at, ticket.closed_at)
