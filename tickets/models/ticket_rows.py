"""Tickets as the interface shows them, a hundred at a time: two statements, whose rows are the answer already."""

from collections import defaultdict
from typing import Any

import orjson
from django.conf import settings
from django.db import connection

from tickets.models.custom_field import CustomField


def _minute(column: str) -> str:
    """Times are spelled by the database: reading and spelling so many of them in Python costs more than the rest."""
    return f"COALESCE(to_char({column} AT TIME ZONE '{settings.TIME_ZONE}', 'YYYY-MM-DD HH24:MI'), '')"


def _seconds(column: str) -> str:
    """Whole ones since the ticket was created."""
    return f"floor(extract(epoch FROM {column} - t.created_at))::bigint"


# The interface's name -> what it is of the rows t (ticket), q (its queue), s, ss (statuses), a (agent).
_TICKET = {
    "ticket_id": "t.id::text",
    "user_login": "COALESCE(a.login, '')",
    "from": "t.sender",
    "ticket_queue_name": "q.name",
    "ticket_queue_id": "t.queue_id",
    "subject": "t.subject",
    "category_id": "t.category_id",
    "source": "t.source",
    "status_id": "t.status_id::text",
    "substatus_id": "COALESCE(t.substatus_id::text, '')",
    "tags": "t.tags",
    "customer_id": "t.customer_id",
    "full_status_name": "s.name || COALESCE(' - ' || ss.name, '')",
    "created_at": _minute("t.created_at"),
    "updated_at": _minute("t.updated_at"),
    "closed_at": _minute("t.closed_at"),
    "close_time": _seconds("t.closed_at"),
    "first_agent_responded_at": _minute("t.first_agent_responded_at"),
    "first_agent_response_time": _seconds("t.first_agent_responded_at"),
    "messages": "t.id",
    "connected_ticket_ids": "t.connected_ids",
    "custom_fields": "t.custom_fields::text",
}
_MESSAGE = {
    "message_id": "m.id",
    "user_login": "COALESCE(a.login, '')",
    "type": "m.type",
    "body": "m.body || m.quoted",
    "comment": "m.comment",
    "system_comment": "m.system_comment",
    "created_at": _minute("m.created_at"),
    "attachments": "m.attachments",
    "ratings": "m.ratings",
}
# By ids that were found before: a statement that finds them as well is planned anew each time, for longer than it runs.
_TICKETS = f"""
SELECT {", ".join(_TICKET.values())}
FROM unnest(%s::bigint[]) WITH ORDINALITY AS page(id, place)
JOIN tickets_ticket t ON t.id = page.id
JOIN tickets_ticketqueue q ON q.id = t.queue_id
JOIN tickets_ticketstatus s ON s.id = t.status_id
LEFT JOIN tickets_ticketsubstatus ss ON ss.id = t.substatus_id
LEFT JOIN telephony_agent a ON a.id = t.agent_id
ORDER BY page.place
"""  # noqa: S608
_MESSAGES = f"""
SELECT m.ticket_id, {", ".join(_MESSAGE.values())}
FROM tickets_message m LEFT JOIN telephony_agent a ON a.id = m.agent_id
WHERE m.ticket_id = ANY(%s::bigint[]) ORDER BY m.ticket_id, m.created_at, m.id
"""  # noqa: S608


def read_tickets(ids: list[int], *, with_custom_fields: bool) -> list[dict[str, Any]]:
    """These tickets, in this order, with their messages."""
    if not ids:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_TICKETS, [ids])
        tickets = [dict(zip(_TICKET, row, strict=True)) for row in cursor.fetchall()]
        messages = defaultdict(list)
        cursor.execute(_MESSAGES, [ids])
        for ticket_id, *message in cursor.fetchall():
            messages[ticket_id].append(dict(zip(_MESSAGE, message, strict=True)))
    fields = CustomField.objects.by_name(CustomField.Owner.TICKET) if with_custom_fields else {}
    keys_of = {name: str(field.pk) for name, field in fields.items()}
    for ticket in tickets:
        ticket["close_time"] = _duration(ticket["close_time"], 3)
        ticket["first_agent_response_time"] = _duration(ticket["first_agent_response_time"], 2)
        ticket["messages"] = messages[ticket["messages"]]
        values = orjson.loads(ticket.pop("custom_fields"))
        if with_custom_fields:
            ticket["custom_fields"] = {name: values.get(key) for name, key in keys_of.items()}
    return tickets


def _duration(seconds: int | None, hours: int) -> str:
    """`hh:mm:ss` with so many digits for the hours, more where they are needed; "" where it has not ended."""
    if seconds is None:
        return ""
    minutes, seconds = divmod(max(seconds, 0), 60)
    return f"{minutes // 60:0{hours}}:{minutes % 60:02}:{seconds:02}"
