"""Rows of records for answers. Reading a record by its number, the most frequent request, is one statement."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from callcentre.core.field_tables import named_rows, select_list
from callcentre.core.statements import Statement, rows_of
from campaigns.models.record_fields import RECORD_FIELDS

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


_FROM = """
FROM campaigns_record r
JOIN campaigns_campaign c ON c.id = r.campaign_id
LEFT JOIN campaigns_recordstatus s ON s.id = r.status_id
LEFT JOIN telephony_agent a ON a.id = r.agent_id
"""
# `fields` are the record's values, `campaign_fields` the names and ids of the campaign's fields if they are wanted.
SELECT = f"""
SELECT
{select_list(RECORD_FIELDS)},
  r.fields,
  CASE WHEN %(include_fields)s THEN COALESCE((
    SELECT jsonb_agg(jsonb_build_array(f.name, f.id) ORDER BY f."order", f.id)
    FROM campaigns_campaignfield f WHERE f.campaign_id = c.id), '[]') END AS campaign_fields
{_FROM}
"""  # noqa: S608  (composed of our own table)
_BY_NUMBER = SELECT + "WHERE r.is_primary AND r.number = %(key)s AND c.code = %(code)s"
_BY_ADDITIONAL_NUMBER = f"""{SELECT} WHERE r.id IN (
  SELECT n.record_id FROM campaigns_additionalnumber n JOIN campaigns_campaign c ON c.id = n.campaign_id
  WHERE n.number = %(key)s AND c.code = %(code)s
  UNION ALL
  SELECT found.record_id FROM ({FOUND_BY_CUSTOMER} AND x.number = %(key)s AND c.code = %(code)s) AS found
) ORDER BY r.id LIMIT 1"""  # noqa: S608  (composed of our own table)
_BY_IDENTIFIER = f"""{SELECT} WHERE r.identifier = ANY(%(key)s) AND r.identifier <> '' AND c.code = %(code)s
ORDER BY length(r.identifier) DESC LIMIT 1"""
_BY_ID = SELECT + "WHERE r.id = %(key)s AND c.code = %(code)s"
_OF_PAGE = f"""
SELECT
{select_list(RECORD_FIELDS)},
  r.fields
{_FROM}
"""
_IDS_BY_NUMBER = "SELECT number, id FROM campaigns_record WHERE campaign_id = %s AND is_primary AND number = ANY(%s)"
# Ids of records with one of the numbers, also as an additional one. Each index of a number begins with the campaign, so
# callers name the campaigns.
IDS_WITH_NUMBERS = """
SELECT id FROM campaigns_record WHERE campaign_id = ANY(%(campaigns)s) AND is_primary AND number = ANY(%(numbers)s)
UNION
SELECT id FROM campaigns_record WHERE campaign_id = ANY(%(campaigns)s) AND NOT is_primary AND number = ANY(%(numbers)s)
UNION
SELECT record_id FROM campaigns_additionalnumber
WHERE campaign_id = ANY(%(campaigns)s) AND number = ANY(%(numbers)s)
"""
_TAKEN_IDENTIFIERS = """
SELECT identifier FROM campaigns_record WHERE campaign_id = %s AND identifier <> '' AND identifier = ANY(%s)
"""

Row = dict[str, Any]


def _row(sql: str, code: str, key: str | list[str] | int, include_fields: bool) -> Row | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, {"include_fields": include_fields, "key": key, "code": code})
        rows = named_rows(cursor)
    return rows[0] if rows else None


def by_number(code: str, number: str, *, include_fields: bool, is_searching_additional: bool) -> Row | None:
    """Return the oldest record of the campaign with this number (normal form), else with it as an additional one."""
    row = _row(_BY_NUMBER, code, number, include_fields)
    if row is None and is_searching_additional:
        row = _row(_BY_ADDITIONAL_NUMBER, code, number, include_fields)
    return row


def by_identifier(code: str, identifier: str, *, include_fields: bool) -> Row | None:
    """Return the record with exactly this identifier, else the one with the identifier before a trailing slash."""
    return _row(_BY_IDENTIFIER, code, [identifier, identifier.removesuffix("/")], include_fields)


def by_id(code: str, record_id: int) -> Row | None:
    return _row(_BY_ID, code, record_id, True)


def of_page(ids: "QuerySet[Any, Any]") -> list[Row]:
    """Return the records with the ids that the query selects, oldest first."""
    selected, values = ids.query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(f"{_OF_PAGE} WHERE r.id IN ({selected}) ORDER BY r.id", values)
        return named_rows(cursor)


def ids_by_number(campaign_id: int, numbers: Collection[str]) -> dict[str, int]:
    """Return number -> id of the primary records with these numbers (normal forms)."""
    return dict(rows_of(_IDS_BY_NUMBER, [campaign_id, [*numbers]])) if numbers else {}


def taken_identifiers(campaign_id: int, identifiers: Collection[str]) -> set[str]:
    """Return the identifiers that records of the campaign already have."""
    taken = rows_of(_TAKEN_IDENTIFIERS, [campaign_id, [*identifiers]]) if identifiers else []
    return {identifier for (identifier,) in taken}
