"""Entries in the log of ledger changes (telephony.verbs.ledger_changes), from which reports find stale sums."""

from telephony.verbs import ledger_changes
from tickets.models.ticket import Ticket

_REPLIES = """
SELECT agent_id, created_at, created_at FROM tickets_message
WHERE ticket_id = %s AND type = 'REPLY' AND agent_id IS NOT NULL
"""


def log_replies(ticket: Ticket) -> None:
    """Log the ticket's replies: they now count for another queue or another ticket."""
    ledger_changes.record_rows(_REPLIES, [ticket.pk])


def log_end(ticket: Ticket) -> None:
    """Log the end of the ticket: it was closed, or reopened, or counts for another queue."""
    if ticket.closed_by_id and ticket.closed_at:
        ledger_changes.record(ticket.closed_by_id, ticket.closed_at, ticket.closed_at)
