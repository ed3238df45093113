"""Answers that customers get outside their tickets: in calls and chats. docs/tickets.md has the table of all answers.

They end the response target alone. Status, first response, `updated_at` and report stay as they are, and no event is
recorded: nothing of it is published.
"""

from datetime import datetime

from django.db import transaction

from callcentre.core.actor import SYSTEM, Actor
from callcentre.core.errors import Conflict
from callcentre.core.statements import Statement, rows_of
from tickets.models.ticket import REPLY_SOURCES, Ticket
from tickets.verbs.due_times import set_columns, unanswered_since
from tickets.verbs.ticket_row import lock_ticket, log_ticket

# The newest contact since the customer waits: a call of an agent to the customer that was answered, not one of a
# dialler, or a message of an agent in a chat. Starts of calls are whole seconds.
_IS_ANSWER = """c.created_at >= date_trunc('second', t.awaiting_since) AND c.answered_at >= t.awaiting_since
    AND c.direction = 'OUTBOUND' AND c.agent_id IS NOT NULL AND c.campaign_code = ''"""
_CONTACTS = Statement("""
SELECT t.id, contact.way, contact.at FROM tickets_ticket t LEFT JOIN tickets_customer owner ON owner.id = t.customer_id
CROSS JOIN LATERAL (
  SELECT 'call' AS way, c.answered_at AS at FROM telephony_connection c
  WHERE c.customer_id = t.customer_id AND {is_answer}
  UNION ALL
  SELECT 'call', c.answered_at FROM telephony_connection c
  WHERE t.sender <> '' AND c.dst_number = t.sender AND {is_answer}
  UNION ALL
  SELECT 'chat', m.created_at FROM tickets_chat h JOIN tickets_chatmessage m ON m.chat_id = h.id
  WHERE h.client_email <> '' AND upper(h.client_email) IN (upper(t.sender), upper(owner.email))
    AND (h.closed_at IS NULL OR h.closed_at >= t.awaiting_since)
    AND m.agent_id IS NOT NULL AND m.created_at >= t.awaiting_since
  ORDER BY at DESC LIMIT 1
) contact
WHERE t.closed_at IS NULL AND t.response_due_at IS NOT NULL AND t.awaiting_since IS NOT NULL
  AND t.source <> ALL(%(others)s)
""").of(is_answer=_IS_ANSWER)


def end_answered_targets() -> None:
    """End the response targets of tickets whose customers were answered in a call or chat. Mail waits for a reply."""
    for ticket_id, way, at in rows_of(_CONTACTS, {"others": list(REPLY_SOURCES)}):
        end_target(Ticket(pk=ticket_id), SYSTEM, way, at)


def end_target(ticket: Ticket, actor: Actor, way: str, at: datetime) -> None:
    """End the response target of a ticket whose customer was answered at this time.

    A message of the customer after that time starts it again.
    """
    with transaction.atomic():
        try:
            ticket = lock_ticket(ticket)
        except Conflict:  # it was deleted meanwhile
            return
        if ticket.awaiting_since is None or ticket.awaiting_since > at:
            return
        columns = set_columns(ticket, {"awaiting_since": unanswered_since(ticket, at)})
        ticket.save(update_fields=list(columns))
        log_ticket(ticket, actor, "answer", {"answered": [None, way]})
