"""The choice of the next records of a campaign, and their reservation, in one statement.

Records are called in the order of their class: CALL; MY_RECORD whose time has come and whose agent is free;
CALL_PROGRESSIVE; CALL_NO_SOONER_THAN whose time has come, by time; TO_CALL. In a class the lowest order comes first,
records without one last, then the oldest. Each class has an index that begins with the zone, so records whose zone is
closed cost nothing; records that the dialler passes over until a time (`held_until`) are in no index.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from callcentre.core.field_tables import named_rows
from campaigns.models.record import IS_LEASED

# A dialler that dies frees its records after this.
RESERVATION = timedelta(seconds=30)
# Classes in which an agent must be guaranteed: an agent's own records, and records after a drop.
ONE_TO_ONE = ("MY_RECORD", "CALL_PROGRESSIVE")


@dataclass(frozen=True, slots=True)
class ReservedRecord:
    """A record that this dialler has reserved. `agent_id` is set for an agent's own record."""

    id: int
    system_status: str
    agent_id: int | None
    needs_agent: bool


def _class(number: int, status: str, order: str, condition: str = "") -> str:
    """Build the CTE that selects the first records of one class, over all open zones."""
    return f"""class{number} AS (
  SELECT found.* FROM open_zones CROSS JOIN LATERAL (
    SELECT r.id, {number} AS class, r."order", r.next_call_at FROM campaigns_record r
    WHERE r.campaign_id = %(campaign)s AND r.system_status = '{status}' AND r.zone = open_zones.zone
      AND r.held_until IS NULL AND NOT {IS_LEASED} {condition}
    ORDER BY {order} LIMIT %(count)s
  ) AS found ORDER BY {order.replace("r.", "")} LIMIT %(count)s
)"""  # noqa: S608  (of our own constants)


_BY_ORDER, _BY_TIME = 'r."order", r.id', 'r.next_call_at, r."order", r.id'
_IS_DUE = "AND r.next_call_at <= %(now)s"
_CLASSES = (
    _class(1, "CALL", _BY_ORDER),
    _class(2, "MY_RECORD", _BY_ORDER, f"{_IS_DUE} AND r.agent_id = ANY(%(agents)s)"),
    _class(3, "CALL_PROGRESSIVE", _BY_ORDER),
    _class(4, "CALL_NO_SOONER_THAN", _BY_TIME, _IS_DUE),
    _class(5, "TO_CALL", _BY_ORDER),
)
RESERVE = f"""
WITH open_zones AS (SELECT unnest(%(zones)s::text[]) AS zone),
{", ".join(_CLASSES)},
chosen AS (
  SELECT id, class,
    row_number() OVER (ORDER BY class, CASE WHEN class = 4 THEN next_call_at END, "order", id) AS position
  FROM (
    {" UNION ALL ".join(f"SELECT * FROM class{number}" for number in range(1, 6))}
  ) AS all_classes
  ORDER BY position LIMIT %(count)s
), locked AS (
  SELECT r.id, chosen.position FROM campaigns_record r JOIN chosen ON chosen.id = r.id
  WHERE NOT {IS_LEASED} FOR NO KEY UPDATE OF r SKIP LOCKED
)
UPDATE campaigns_record r SET leased_by = %(holder)s, leased_until = %(until)s
FROM locked WHERE r.id = locked.id
RETURNING r.id, r.system_status, r.agent_id, locked.position, r.one_to_one_until > %(now)s AS needs_agent
"""  # noqa: S608  (of our own constants)

# The zones of a campaign's records, by the indexes of the choice, however many records there are.
_ZONES = """
WITH RECURSIVE zones AS (
  SELECT status, (SELECT min(r.zone) FROM campaigns_record r
    WHERE r.campaign_id = %(campaign)s AND r.system_status = status AND r.held_until IS NULL) AS zone
  FROM unnest(ARRAY['CALL', 'MY_RECORD', 'CALL_PROGRESSIVE', 'CALL_NO_SOONER_THAN', 'TO_CALL']) AS status
  UNION ALL
  SELECT status, (SELECT min(r.zone) FROM campaigns_record r
    WHERE r.campaign_id = %(campaign)s AND r.system_status = status AND r.held_until IS NULL AND r.zone > zones.zone)
  FROM zones WHERE zones.zone IS NOT NULL
)
SELECT DISTINCT zone FROM zones WHERE zone IS NOT NULL ORDER BY zone
"""


def reserve(
    campaign_id: int,
    holder: str,
    count: int,
    *,
    zones: Collection[str],
    free_agents: Collection[int],
    now: datetime,
) -> list[ReservedRecord]:
    """Reserve the next records of the campaign, at most `count`, in the order in which they are to be called."""
    if count < 1 or not zones:
        return []
    values: dict[str, Any] = {
        "campaign": campaign_id,
        "holder": holder,
        "count": count,
        "zones": list(zones),
        "agents": list(free_agents),
        "now": now,
        "until": now + RESERVATION,
    }
    with connection.cursor() as cursor:
        cursor.execute(RESERVE, values)
        rows = named_rows(cursor)
    return [
        ReservedRecord(
            row["id"],
            row["system_status"],
            row["agent_id"] if row["system_status"] == "MY_RECORD" else None,
            needs_agent=bool(row["needs_agent"]) or row["system_status"] in ONE_TO_ONE,
        )
        for row in sorted(rows, key=lambda row: row["position"])
    ]


def give_back(record_ids: Collection[int], holder: str) -> None:
    """Release reservations that were not used."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE campaigns_record SET leased_by = '', leased_until = NULL WHERE id = ANY(%s) AND leased_by = %s",
            [list(record_ids), holder],
        )


def zones_of(campaign_id: int) -> list[str]:
    """Return the zones of the campaign's records that may be called now or later."""
    with connection.cursor() as cursor:
        cursor.execute(_ZONES, {"campaign": campaign_id})
        return [zone for (zone,) in cursor.fetchall()]
