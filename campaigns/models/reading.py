"""Reading one record by its number: the service's commonest question, in one statement that is planned once."""

from typing import Any

from django.db import connection

from campaigns.models.crm import FOUND_BY_CUSTOMER

# As campaigns.api.serializers.RECORD_COLUMNS, then the campaign's fields if they are wanted.
_COLUMNS = """
r.id, r.phone_number, r.system_status, s.name, r.status_id, r.called_at, r.created_at, r.next_call_at,
a.name, a.surname, a.login, r.last_note, r.identifier, r."order", r.fields::text,
CASE WHEN %(include_fields)s THEN COALESCE((SELECT jsonb_agg(jsonb_build_array(f.name, f.id) ORDER BY f."order", f.id)
                            FROM campaigns_campaignfield f WHERE f.campaign_id = c.id), '[]')::text END
"""
_FROM = """
FROM campaigns_record r
JOIN campaigns_campaign c ON c.id = r.campaign_id
LEFT JOIN campaigns_recordstatus s ON s.id = r.status_id
LEFT JOIN telephony_agent a ON a.id = r.agent_id
"""
_SELECT = f"SELECT {_COLUMNS} {_FROM}"
_BY_NUMBER = _SELECT + "WHERE r.is_primary AND r.number = %(key)s AND c.code = %(code)s"
_BY_ADDITIONAL_NUMBER = f"""{_SELECT} WHERE r.id IN (
  SELECT n.record_id FROM campaigns_additionalnumber n JOIN campaigns_campaign c ON c.id = n.campaign_id
  WHERE n.number = %(key)s AND c.code = %(code)s
  UNION ALL
  SELECT found.record_id FROM ({FOUND_BY_CUSTOMER} AND x.number = %(key)s AND c.code = %(code)s) AS found
) ORDER BY r.id LIMIT 1"""  # noqa: S608  (texts of ours)
_BY_IDENTIFIER = f"""{_SELECT} WHERE r.identifier = ANY(%(key)s) AND r.identifier <> '' AND c.code = %(code)s
ORDER BY length(r.identifier) DESC LIMIT 1"""


def _row(sql: str, code: str, key: str | list[str], include_fields: bool) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, {"include_fields": include_fields, "key": key, "code": code})
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def by_number(code: str, number: str, *, include_fields: bool, is_searching_additional: bool) -> tuple[Any, ...] | None:
    """The oldest record of the campaign with this number (normal form), else with it as an additional one."""
    row = _row(_BY_NUMBER, code, number, include_fields)
    if row is None and is_searching_additional:
        row = _row(_BY_ADDITIONAL_NUMBER, code, number, include_fields)
    return row


def by_identifier(code: str, identifier: str, *, include_fields: bool) -> tuple[Any, ...] | None:
    """Return the record with exactly this identifier, else the one with the identifier before a trailing slash."""
    return _row(_BY_IDENTIFIER, code, [identifier, identifier.removesuffix("/")], include_fields)
