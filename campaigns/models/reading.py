"""Reading one record by its number: the service's commonest question, in one statement that is planned once."""

from typing import Any

from django.db import connection

# As campaigns.api.serializers.RECORD_COLUMNS, then the campaign's fields if they are wanted.
_COLUMNS = """
r.id, r.phone_number, r.system_status, s.name, r.status_id, r.called_at, r.created_at, r.next_call_at,
a.name, a.surname, a.login, r.last_note, r.identifier, r."order", r.fields::text,
CASE WHEN %s THEN COALESCE((SELECT jsonb_agg(jsonb_build_array(f.name, f.id) ORDER BY f."order", f.id)
                            FROM campaigns_campaignfield f WHERE f.campaign_id = c.id), '[]')::text END
"""
_FROM = """
FROM campaigns_record r
JOIN campaigns_campaign c ON c.id = r.campaign_id
LEFT JOIN campaigns_recordstatus s ON s.id = r.status_id
LEFT JOIN telephony_agent a ON a.id = r.agent_id
"""
_SELECT = f"SELECT {_COLUMNS} {_FROM}"
_BY_NUMBER = _SELECT + "WHERE r.is_primary AND r.number = %s AND c.code = %s"
_BY_ADDITIONAL_NUMBER = (
    _SELECT
    + "JOIN campaigns_additionalnumber n ON n.record_id = r.id AND n.campaign_id = c.id"
    + " WHERE n.number = %s AND c.code = %s ORDER BY r.id LIMIT 1"
)
_BY_IDENTIFIER = _SELECT + "WHERE r.identifier = %s AND r.identifier <> '' AND c.code = %s"


def _row(sql: str, code: str, key: str, include_fields: bool) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, [include_fields, key, code])
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def by_number(code: str, number: str, *, include_fields: bool, is_searching_additional: bool) -> tuple[Any, ...] | None:
    """The oldest record of the campaign with this number (normal form), else with it as an additional one."""
    row = _row(_BY_NUMBER, code, number, include_fields)
    if row is None and is_searching_additional:
        row = _row(_BY_ADDITIONAL_NUMBER, code, number, include_fields)
    return row


def by_identifier(code: str, identifier: str, *, include_fields: bool) -> tuple[Any, ...] | None:
    return _row(_BY_IDENTIFIER, code, identifier, include_fields)
