"""Rows of records for answers. Reading a record by its number, the most frequent request, is one statement."""

from collections.abc import Collection
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from callcentre.core.field_tables import named_rows, select_list
from callcentre.core.statements import rows_of
from campaigns.models.record_customers import FOUND_BY_CUSTOMER
from campaigns.models.record_fields import RECORD_FIELDS

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
    """Return the record of the campaign with this id, with its fields."""
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
