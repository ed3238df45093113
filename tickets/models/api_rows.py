"""Tickets and customers as the API shows them, a hundred at a time and more: few statements return the answer."""

from collections import defaultdict
from typing import Any

import orjson
from django.db import connection

from callcentre.core.field_tables import named_rows, select_list
from callcentre.core.statements import Statement
from tickets.models.custom_field import CustomField, keys_by_name
from tickets.models.customer_fields import CUSTOMER_FIELDS
from tickets.models.ticket_fields import MESSAGE_FIELDS, TICKET_FIELDS, WHOLE_TICKET_FIELDS

# The ids are found before. PostgreSQL would plan a statement that finds them too each time, for longer than it runs.
_TICKETS = Statement("""
SELECT
{select_list},
  t.custom_fields::text AS custom_fields
FROM unnest(%s::bigint[]) WITH ORDINALITY AS page(id, place)
JOIN tickets_ticket t ON t.id = page.id
JOIN tickets_ticketqueue q ON q.id = t.queue_id
JOIN tickets_ticketstatus s ON s.id = t.status_id
LEFT JOIN tickets_ticketsubstatus ss ON ss.id = t.substatus_id
LEFT JOIN telephony_agent a ON a.id = t.agent_id
ORDER BY page.place
""")
TICKETS = _TICKETS.of(select_list=select_list(TICKET_FIELDS))
WHOLE_TICKETS = _TICKETS.of(select_list=select_list(WHOLE_TICKET_FIELDS))
MESSAGES = Statement("""
SELECT
  m.ticket_id::text AS ticket_id,
{select_list}
FROM tickets_message m LEFT JOIN telephony_agent a ON a.id = m.agent_id
WHERE m.ticket_id = ANY(%s::bigint[]) ORDER BY m.ticket_id, m.created_at, m.id
""").of(select_list=select_list(MESSAGE_FIELDS))
CUSTOMERS = Statement("""
SELECT
{select_list},
  c.custom_fields::text AS custom_fields
FROM tickets_customer c WHERE c.id = ANY(%s::bigint[]) ORDER BY c.id
""").of(select_list=select_list(CUSTOMER_FIELDS))


def read_tickets(ids: list[int], *, with_custom_fields: bool, are_whole: bool = False) -> list[dict[str, Any]]:
    """Return the tickets with these ids, in this order, with their messages; whole ones as an answer of one ticket."""
    if not ids:
        return []
    messages = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(WHOLE_TICKETS if are_whole else TICKETS, [ids])
        tickets = named_rows(cursor)
        cursor.execute(MESSAGES, [ids])
        for message in named_rows(cursor):
            messages[message.pop("ticket_id")].append(message)
    keys = keys_by_name(CustomField.Owner.TICKET) if with_custom_fields else {}
    for ticket in tickets:
        ticket["messages"] = messages[ticket["ticket_id"]]
        values = orjson.loads(ticket.pop("custom_fields"))
        if with_custom_fields:
            ticket["custom_fields"] = {name: values.get(key) for name, key in keys.items()}
    return tickets


def read_customers(ids: list[int]) -> list[dict[str, Any]]:
    """Return the customers with these ids, in the order of ids."""
    with connection.cursor() as cursor:
        cursor.execute(CUSTOMERS, [ids])
        customers = named_rows(cursor)
    keys = keys_by_name(CustomField.Owner.CUSTOMER)
    for customer in customers:
        values = orjson.loads(customer["custom_fields"])
        customer["custom_fields"] = {name: values.get(key) for name, key in keys.items()}
    return customers
