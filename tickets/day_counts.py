"""The tickets of the current day: opened and closed, by hour."""

from datetime import datetime

from callcentre.core.scope import ALL, Scope
from callcentre.core.statements import rows_of
from callcentre.core.times import zone
from tickets.models import Ticket

# A ticket that was closed today was changed today: the index of changes finds it.
_COUNTS = """
SELECT 'in', extract(hour FROM created_at AT TIME ZONE %(zone)s)::int, count(*)
FROM tickets_ticket t WHERE created_at >= %(since)s{inside} GROUP BY 2
UNION ALL
SELECT 'closed', extract(hour FROM closed_at AT TIME ZONE %(zone)s)::int, count(*)
FROM tickets_ticket t WHERE updated_at >= %(since)s AND closed_at >= %(since)s{inside} GROUP BY 2
"""


def of_day(since: datetime, scope: Scope = ALL) -> dict[tuple[str, int], int]:
    """Return the counts since this midnight within the scope, by `in` or `closed` and the hour of the day."""
    values = {"since": since, "zone": zone().key, **scope.by_column}
    found = rows_of(_COUNTS.format(inside=scope.sql(Ticket, "t")), values)
    return {(kind, hour): count for kind, hour, count in found}
