"""What of a ticket counts for whom, noted for the sums that reports keep (telephony.verbs.ledger_changes)."""

from telephony.verbs import ledger_changes
from tickets.models.ticket import Ticket

_REPLIES = """
SELECT agent_id, created_at, created_at FROM tickets_message
WHERE ticket_id = %s AND type = 'REPLY' AND agent_id IS NOT NULL
"""


def note_replies(ticket: Ticket) -> None:
    """They are to count in another queue, or as replies to another ticket."""
    ledger_changes.record_rows(_REPLIES, [ticket.pk])


def note_end(ticket: Ticket) -> None:
    """It has been closed, or will not have been."""
    if ticket.closed_by_id and ticket.closed_at:
        ledger_changes.record(ticket.closed_by_id, ticket.closed_at, ticket.closed_at)
