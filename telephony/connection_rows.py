"""Rows of connections as answers show them: a page, one with its details, its talks. Each is one statement."""

from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection

from callcentre.core.field_tables import named_rows, select_list
from callcentre.core.statements import row_of
from telephony.models.connection import ConnectionQuerySet
from telephony.models.connection_fields import CONNECTION_FIELDS, DETAIL_FIELDS

Row = dict[str, Any]

_COUNT = "SELECT count(*) FROM telephony_connection WHERE {where}"
# The inner SELECT finds the page by an index, so that skipped rows are not joined.
_PAGE = """
SELECT
{fields}
FROM (
  SELECT * FROM telephony_connection WHERE {{where}} ORDER BY created_at DESC, id DESC LIMIT %s OFFSET %s
) c
LEFT JOIN telephony_agent a ON a.id = c.agent_id
LEFT JOIN telephony_connectiontopic t ON t.connection_id = c.id
LEFT JOIN telephony_transcription tr ON tr.connection_id = c.id
ORDER BY c.created_at DESC, c.id DESC
"""
LIST = _PAGE.format(fields=select_list(CONNECTION_FIELDS))
DETAILS = _PAGE.format(fields=f"{select_list(DETAIL_FIELDS)},\n  c.id")

# The talks of an inbound call are its answered offers; those of an outbound call its rows of Talk, or, if no agent has
# transferred it, the call itself.
_TALKS = """
SELECT a.login AS agent_login, talk.started_at,
  GREATEST(extract(epoch FROM talk.ended_at - talk.started_at), 0)::integer AS seconds
FROM (
  SELECT o.agent_id, o.answered_at AS started_at, o.ended_at
  FROM telephony_offer o JOIN telephony_connection c ON c.id = o.connection_id AND c.direction = 'INBOUND'
  WHERE o.connection_id = %(id)s AND o.answered_at IS NOT NULL
  UNION ALL
  SELECT agent_id, started_at, ended_at FROM telephony_talk WHERE connection_id = %(id)s
  UNION ALL
  SELECT agent_id, answered_at, ended_at FROM telephony_connection
  WHERE id = %(id)s AND direction = 'OUTBOUND' AND answered_at IS NOT NULL AND NOT has_talks
) talk
JOIN telephony_agent a ON a.id = talk.agent_id
ORDER BY talk.started_at, talk.ended_at, a.login
"""


def talks(pk: int) -> list[Row]:
    """Return the talks of a connection, the earliest first: the agent's login, the start, the whole seconds."""
    with connection.cursor() as cursor:
        cursor.execute(_TALKS, {"id": pk})
        return named_rows(cursor)


def details(connections: ConnectionQuerySet) -> Row | None:
    """Return the row, with DETAIL_FIELDS and the key, of the one connection that the queryset finds, or None."""
    rows = _rows(DETAILS, connections, 1, 0)
    return rows[0] if rows else None


def page(connections: ConnectionQuerySet, limit: int, offset: int) -> tuple[int, list[Row]]:
    """Return the number of connections and the rows of the page, with CONNECTION_FIELDS.

    The queryset filters by columns of its own table only.
    """
    if (condition := _condition(connections)) is None:
        return 0, []
    where, parameters = condition
    (count,) = row_of(_COUNT.format(where=where), parameters)
    return count, _rows(LIST, connections, limit, offset) if offset < count else []


def _rows(select: str, connections: ConnectionQuerySet, limit: int, offset: int) -> list[Row]:
    if (condition := _condition(connections)) is None:
        return []
    where, parameters = condition
    with connection.cursor() as cursor:
        cursor.execute(select.format(where=where), [*parameters, limit, offset])
        return named_rows(cursor)


def _condition(connections: ConnectionQuerySet) -> tuple[str, Any] | None:
    """Compile the condition of a queryset and its parameters; None if it finds nothing."""
    compiler = connections.query.get_compiler(connection=connection)
    try:
        return compiler.compile(connections.query.where) if connections.query.where else ("true", ())
    except EmptyResultSet:
        return None
