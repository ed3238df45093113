"""Whom a record of a CRM campaign means: the oldest customer with its number, whose other numbers are additional ones.

Looked up whenever it is asked for, never stored: so a customer who comes later, one who is merged and a number that
goes to somebody else leave nothing behind that would have to follow. No record makes a customer.
"""

from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection

# Records that are found by another number of their customer, for a WHERE of numbers and a campaign `c`.
FOUND_BY_CUSTOMER = """
SELECT x.number, r.id AS record_id
FROM tickets_customernumber x
JOIN tickets_customernumber own ON own.customer_id = x.customer_id
JOIN campaigns_campaign c ON c.is_crm
JOIN campaigns_record r ON r.campaign_id = c.id AND r.is_primary AND r.number = own.number
WHERE NOT EXISTS (
  SELECT FROM tickets_customernumber older WHERE older.number = r.number AND older.customer_id < x.customer_id)
"""
_CUSTOMERS = """
SELECT r.id, c.id, trim(c.name || ' ' || c.surname), ARRAY(
  SELECT n.phone_number FROM tickets_customernumber n WHERE n.customer_id = c.id AND n.number <> r.number ORDER BY n.id)
FROM campaigns_record r
CROSS JOIN LATERAL (
  SELECT n.customer_id FROM tickets_customernumber n WHERE n.number = r.number ORDER BY n.customer_id LIMIT 1) AS first
JOIN tickets_customer c ON c.id = first.customer_id
WHERE r.id = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class RecordCustomer:
    id: int
    label: str
    # As they were given to him, without that of the record.
    other_numbers: list[str]


def customers_of_records(record_ids: Collection[int]) -> dict[int, RecordCustomer]:
    """Record -> its customer, of those that have one. The records are those of a CRM campaign. One statement."""
    if not record_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_CUSTOMERS, [list(record_ids)])
        return {record_id: RecordCustomer(*rest) for record_id, *rest in cursor.fetchall()}
