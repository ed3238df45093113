"""The tickets of the current day: opened and closed, by hour."""

from datetime import datetime

from callcentre.core.statements import rows_of
from callcentre.core.times import zone

# A ticket that was closed today was changed today: the index of changes finds it.
_COUNTS = """
SELECT 'in', extract(hour FROM created_at AT TIME ZONE %(zone)s)::int, count(*)
FROM tickets_ticket WHERE created_at >= %(since)s GROUP BY 2
UNION ALL
SELECT 'closed', extract(hour FROM closed_at AT TIME ZONE %(zone)s)::int, count(*)
FROM tickets_ticket WHERE updated_at >= %(since)s AND closed_at >= %(since)s GROUP BY 2
"""


def of_day(since: datetime) -> dict[tuple[str, int], int]:
    """Return the counts since this midnight, by `in` or `closed` and the hour of the day."""
    found = rows_of(_COUNTS, {"since": since, "zone": zone().key})
    return {(kind, hour): count for kind, hour, count in found}
