"""Searches of connections by indexes alone, the newest first."""

from datetime import datetime

from django.db import connection

from telephony.models import Connection
from telephony.numbers import comparable

# The most results of a search by number.
MAX_FOUND = 500

_OF_NUMBER = """
(SELECT id FROM telephony_connection WHERE src_number = %(number)s ORDER BY created_at DESC, id DESC LIMIT %(most)s)
UNION
(SELECT id FROM telephony_connection WHERE dst_number = %(number)s ORDER BY created_at DESC, id DESC LIMIT %(most)s)
"""
# The newest of each pair of direction and result, then the newest of these. An index has the order within a pair.
_OF_RESULTS = """
SELECT newest.id
FROM unnest(%(directions)s::text[]) AS direction CROSS JOIN unnest(%(dispositions)s::text[]) AS disposition
CROSS JOIN LATERAL (
  SELECT c.id, c.created_at FROM telephony_connection c
  WHERE c.direction = direction.direction AND c.disposition = disposition.disposition
    AND c.created_at >= %(since)s AND c.created_at < %(until)s
  ORDER BY c.created_at DESC, c.id DESC LIMIT %(most)s
) newest ORDER BY newest.created_at DESC, newest.id DESC LIMIT %(most)s
"""


def ids_found(text: str) -> list[int]:
    """Return the keys of the connections with this id of the wire, or this number of either side in any spelling."""
    found = list(Connection.objects.with_uid(text.strip()).values_list("pk", flat=True))
    return found or _ids(_OF_NUMBER, number=comparable(text.replace("\0", "")), most=MAX_FOUND)


def newest_with_result(
    direction: str, disposition: str, since: datetime | None, until: datetime | None, count: int
) -> list[int]:
    """Return the keys of the newest connections with a direction and a result; "" stands for any."""
    return _ids(
        _OF_RESULTS,
        directions=[direction] if direction else Connection.Direction.values,
        dispositions=[disposition] if disposition else ["", *Connection.Disposition.values],
        since=since or "-infinity",
        until=until or "infinity",
        most=count,
    )


def _ids(statement: str, **values: object) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)  # type: ignore[arg-type]
        return [pk for (pk,) in cursor.fetchall()]
