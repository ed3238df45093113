"""A page of connections: two statements that are planned once, as the list is read by the million."""

from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection

from telephony.models.connection import ConnectionQuerySet

_COUNT = "SELECT count(*) FROM telephony_connection WHERE {where}"
# The page first, by an index: of the rows that are passed over nothing is joined. The recording is the first that is
# ours: a call that was held has several, and one that is removed has no file.
_PAGE = """
SELECT c.id, floor(extract(epoch FROM c.created_at))::bigint, floor(extract(epoch FROM c.answered_at))::bigint,
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


def page(connections: ConnectionQuerySet, limit: int, offset: int) -> tuple[int, list[Any]]:
    """How many there are, and rows of the page: id; seconds (of the epoch) of start, answer and end; then the rest.

    The queryset is narrowed by columns of its own table only.
    """
    compiler = connections.query.get_compiler(connection=connection)
    try:
        where, parameters = compiler.compile(connections.query.where) if connections.query.where else ("true", ())
    except EmptyResultSet:
        return 0, []
    with connection.cursor() as cursor:
        cursor.execute(_COUNT.format(where=where), parameters)
        (count,) = cursor.fetchone()
        if offset >= count:
            return count, []
        cursor.execute(_PAGE.format(where=where), [*parameters, limit, offset])
        return count, cursor.fetchall()
