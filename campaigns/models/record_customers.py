"""The customers of records of CRM campaigns: the oldest customer with the number of the record.

The customer's other numbers are additional numbers of the record. The customer is looked up for each answer and never
stored, so that new customers, merges and moved numbers change no record. No record creates a customer.
"""

from collections.abc import Collection
from dataclasses import dataclass

from callcentre.core.statements import Statement, rows_of

# Records found by another number of their customer. Callers add conditions on `x.number` and on the campaign `c`.
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
# SQL: the time zone of the oldest customer with the number `{number}`, "" or NULL if there is none.
CUSTOMER_ZONE = """(
  SELECT customer.time_zone
  FROM tickets_customernumber named JOIN tickets_customer customer ON customer.id = named.customer_id
  WHERE named.number = {number} ORDER BY named.customer_id LIMIT 1
)"""
_ZONES = Statement("""
SELECT given.number, {customer_zone} FROM unnest(%s::text[]) AS given(number)
""").of(customer_zone=CUSTOMER_ZONE.format(number="given.number"))


@dataclass(frozen=True, slots=True)
class RecordCustomer:
    id: int
    label: str
    # In the customer's spelling, without the number of the record.
    other_numbers: list[str]


def zones_of_customers(numbers: Collection[str]) -> dict[str, str]:
    """Return number -> the time zone of its customer, for the numbers of customers who have one."""
    if not numbers:
        return {}
    return {number: zone for number, zone in rows_of(_ZONES, [list(numbers)]) if zone}


def customers_of_records(record_ids: Collection[int]) -> dict[int, RecordCustomer]:
    """Return record -> customer for the records of a CRM campaign that have one, in one statement."""
    if not record_ids:
        return {}
    return {record_id: RecordCustomer(*rest) for record_id, *rest in rows_of(_CUSTOMERS, [list(record_ids)])}
