"""A page of connections, and one with its talks: few statements that are planned once, as lists are long."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection

from telephony.models.connection import ConnectionQuerySet

_COUNT = "SELECT count(*) FROM telephony_connection WHERE {where}"
# The page first, by an index: of the rows that are passed over nothing is joined. The recording is the first that is
# ours: a call that was held has several, and one that is removed has no file.
_PAGE = """
SELECT {more}c.id, floor(extract(epoch FROM c.created_at))::bigint, floor(extract(epoch FROM c.answered_at))::bigint,
  floor(extract(epoch FROM c.ended_at))::bigint, c.src, c.dst, c.disposition, a.login, c.direction, c.queue_id,
  c.customer_id, t.topic_id, tr.status,
  (SELECT r.name FROM telephony_recording r WHERE r.connection_id = c.id AND r.state = 'ready' ORDER BY r.id LIMIT 1)
FROM (
  SELECT * FROM telephony_connection WHERE {where} ORDER BY created_at DESC, id DESC LIMIT %s OFFSET %s
) c
LEFT JOIN telephony_agent a ON a.id = c.agent_id
LEFT JOIN telephony_connectiontopic t ON t.connection_id = c.id
LEFT JOIN telephony_transcription tr ON tr.connection_id = c.id
ORDER BY c.created_at DESC, c.id DESC
"""


# Each talk of an agent with the customer: of an inbound call its answered offers; of an outbound one its rows of Talk,
# or the call itself if nobody has transferred it.
_TALKS = """
SELECT a.login, talk.started_at, COALESCE(GREATEST(extract(epoch FROM talk.ended_at - talk.started_at), 0), 0)::int
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


@dataclass(frozen=True, slots=True)
class Talk:
    """The time for which one agent talked with the customer; 0 seconds while it goes on."""

    agent_login: str
    started_at: datetime
    seconds: int


def talks(pk: int) -> list[Talk]:
    """List the talks of a connection, the first one first."""
    with connection.cursor() as cursor:
        cursor.execute(_TALKS, {"id": pk})
        return [Talk(*row) for row in cursor.fetchall()]


def one(connections: ConnectionQuerySet) -> tuple[int | None, str, Any] | None:
    """Return the cause, its text and the row (as in `page`) of the connection that the queryset finds, or None."""
    if (condition := _condition(connections)) is None:
        return None
    where, parameters = condition
    with connection.cursor() as cursor:
        cursor.execute(_PAGE.format(more="c.cause, c.cause_text, ", where=where), [*parameters, 1, 0])
        row = cursor.fetchone()
    return (row[0], row[1], row[2:]) if row else None


def page(connections: ConnectionQuerySet, limit: int, offset: int) -> tuple[int, list[Any]]:
    """How many there are, and rows of the page: id; seconds (of the epoch) of start, answer and end; then the rest.

    The queryset is narrowed by columns of its own table only.
    """
    if (condition := _condition(connections)) is None:
        return 0, []
    where, parameters = condition
    with connection.cursor() as cursor:
        cursor.execute(_COUNT.format(where=where), parameters)
        (count,) = cursor.fetchone()
        if offset >= count:
            return count, []
        cursor.execute(_PAGE.format(more="", where=where), [*parameters, limit, offset])
        return count, cursor.fetchall()


def _condition(connections: ConnectionQuerySet) -> tuple[str, Any] | None:
    """Compile the condition of a queryset and its parameters; None if it finds nothing."""
    compiler = connections.query.get_compiler(connection=connection)
    try:
        return compiler.compile(connections.query.where) if connections.query.where else ("true", ())
    except EmptyResultSet:
        return None
