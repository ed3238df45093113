"""Tickets of the last two years, generated inside the database."""

from typing import Any

from django.db import connection, transaction

from callcentre.demonstration import add, data, load
from tickets.models import CustomField, TicketCategory, TicketQueue

QUEUES, CATEGORIES, COMPANIES = 6, 12, 500
SENTENCE = (
    "The parcel has not come yet, although the courier says that it was handed over on Tuesday at noon; please look"
    " into it and tell me what happens next. "
)
_CUSTOMERS = """
WITH companies AS (
INSERT INTO tickets_company (created_at, updated_at, name)
SELECT now(), now(), 'Load test ' || n FROM generate_series(1, %(companies)s) AS n RETURNING id
), new AS (
INSERT INTO tickets_customer (created_at, updated_at, name, surname, email, company_id, identifier, custom_fields)
SELECT now(), now(), 'Load', 'Test ' || n, 'load' || n || '@client.example',
  CASE WHEN n %% 3 > 0 THEN ids[1 + n %% cardinality(ids)] END, '', '{}'
FROM generate_series(1, %(count)s) AS n, (SELECT array_agg(id) AS ids FROM companies) AS companies
RETURNING id
)
SELECT min(id), max(id) FROM new
"""
# Oldest first, so that ids grow with time. Random values come from a seed. Recent tickets are open.
_TICKETS = """
WITH new AS (
INSERT INTO tickets_ticket (subject, source, queue_id, category_id, status_id, agent_id, customer_id, sender,
  sender_name, tags, custom_fields, connected_ids, created_at, updated_at, closed_at, closed_by_id,
  first_agent_responded_at)
SELECT 'Load test ' || n, (ARRAY['email', 'email', 'email', 'www', 'phone', 'marketplace_message'])[1 + n %% 6],
  t.queue_id, (%(categories)s::bigint[])[1 + floor(random() * cardinality(%(categories)s::bigint[]))::int],
  CASE WHEN is_closed THEN closed.id ELSE other.id END, t.agent_id,
  %(first_customer)s + floor(random() * %(customer_count)s)::bigint, 'load' || n || '@client.example', '',
  ARRAY['load', 'test'],
  jsonb_build_object(%(order_number)s::text, 'A-' || n, %(priority)s::text,
                     (ARRAY['low', 'normal', 'high'])[1 + floor(random() * 3)::int]),
  '{}', t.created_at, t.created_at + least(t.worked, now() - t.created_at),
  CASE WHEN is_closed THEN t.created_at + t.worked END, CASE WHEN is_closed THEN t.agent_id END,
  t.created_at + least(interval '30 minutes', now() - t.created_at)
FROM (
  SELECT n, now() - (1 - n::float / %(count)s) * make_interval(days => %(days)s) AS created_at,
    random() * interval '4 days' AS worked, n < %(count)s * 0.99 AND random() < 0.95 AS is_closed,
    (%(agents)s::bigint[])[1 + floor(random() * cardinality(%(agents)s::bigint[]))::int] AS agent_id,
    (%(queues)s::bigint[])[1 + floor(power(random(), 2) * cardinality(%(queues)s::bigint[]))::int] AS queue_id,
    1 + floor(random() * 4)::int AS status
  FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n
) AS t
JOIN LATERAL (SELECT id FROM tickets_ticketstatus WHERE kind = 'closed' ORDER BY "order", id LIMIT 1) AS closed ON true
JOIN LATERAL (
  SELECT id FROM tickets_ticketstatus
  WHERE kind = (ARRAY['new', 'waiting_for_customer', 'postponed', 'in_progress'])[t.status] ORDER BY "order", id LIMIT 1
) AS other ON true
ORDER BY n
RETURNING id
)
SELECT min(id), max(id) FROM new
"""
# A question, an answer and a comment, in the order of time, so that rows of one ticket do not lie together.
_MESSAGES = """
INSERT INTO tickets_message (ticket_id, type, agent_id, author_name, author_address, body, quoted, body_type, comment,
  system_comment, is_automatic, attachments, ratings, created_at)
SELECT t.id, m.type, CASE WHEN m.type <> 'MAIL' THEN t.agent_id END, '', '',
  CASE WHEN m.type <> 'COMMENT' THEN repeat(%(sentence)s, 1 + (t.id %% 5)::int) ELSE '' END, '', 'PLAIN',
  CASE WHEN m.type = 'COMMENT' THEN %(sentence)s ELSE '' END,
  CASE WHEN m.type = 'REPLY' THEN 'Changed status from [New] to [Waiting for customer]' ELSE '' END, false, '{}', '{}',
  least(t.created_at + m.step * interval '30 minutes', t.updated_at)
FROM tickets_ticket AS t CROSS JOIN (VALUES (0, 'MAIL'), (1, 'REPLY'), (2, 'COMMENT')) AS m(step, type)
WHERE t.id BETWEEN %(first_id)s AND %(last_id)s
ORDER BY 14, 1
"""


def generate(count: int) -> None:
    """Create tickets, each with three messages, and a fifth as many customers."""
    fields = add(CustomField, data("tickets")["custom_fields"], owner=CustomField.Owner.TICKET)
    queues = add(TicketQueue, [{"name": f"Load test {number}"} for number in range(1, QUEUES + 1)])
    categories = add(TicketCategory, [{"name": f"Load test {number}"} for number in range(1, CATEGORIES + 1)])
    customers = _customers(max(count // 5, 1))
    parameters: dict[str, Any] = {
        "days": load.DAYS,
        "sentence": SENTENCE,
        **{field.name: str(field.pk) for field in fields},
        "first_customer": customers.start,
        "customer_count": len(customers),
        "agents": load.agents(),
        "queues": [queue.pk for queue in queues],
        "categories": [category.pk for category in categories],
    }
    for batch in load.batches(count):
        with transaction.atomic(), connection.cursor() as cursor:
            # No other session takes an id between the first and the last one.
            cursor.execute("LOCK TABLE tickets_ticket IN SHARE ROW EXCLUSIVE MODE")
            cursor.execute("SELECT setseed(%s)", [batch["first"] / count])
            cursor.execute(_TICKETS, parameters | batch)
            ids = dict(zip(("first_id", "last_id"), cursor.fetchone(), strict=True))
            cursor.execute(_MESSAGES, parameters | ids)
    load.analyse("tickets_ticket", "tickets_message", "tickets_customer")


def _customers(count: int) -> range:
    """Create customers of 500 companies. Return their ids."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE tickets_customer IN SHARE ROW EXCLUSIVE MODE")
        cursor.execute(_CUSTOMERS, {"companies": COMPANIES, "count": count})
        first, last = cursor.fetchone()
    return range(first, last + 1)
