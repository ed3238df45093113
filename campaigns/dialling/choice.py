"""The choice of the next records of a campaign, and their reservation, in one statement.

Records are called in the order of their class: CALL; MY_RECORD whose time has come and whose agent is free;
CALL_PROGRESSIVE without a time, or whose time has come; CALL_NO_SOONER_THAN whose time has come, by time; TO_CALL. In
a class the lowest order comes first, records without one last, then the oldest. Each class has an index that begins
with zone and country, so records that are outside their hours cost nothing; records that the dialler passes over until
a time (`held_until`) are in no index.

The statement also judges the numbers of the chosen records: one that is on a do-not-call list, marked wrong, or called
for another record a moment ago, is held instead. A record with additional numbers is judged when it is dialled.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection, transaction

from callcentre.core.statements import row_of, rows_of
from campaigns.models.record import IS_LEASED

# The reservations of a dialler that has died end after this time.
RESERVATION = timedelta(seconds=30)
# Classes in which an agent must be guaranteed: an agent's own records, and records after a drop.
ONE_TO_ONE = ("MY_RECORD", "CALL_PROGRESSIVE")
# After a dropped call, a person is called with an agent guaranteed for this long.
ONE_TO_ONE_AFTER_DROP = timedelta(hours=72)
# A record is held until then if only a change of the record or of a list makes it callable.
FOR_GOOD = datetime(9999, 1, 1, tzinfo=UTC)
# A record whose number is listed is judged again after this. The removal of an entry frees its records at once; so this
# matters only for a record that is held while the entry is removed.
RELISTED = timedelta(days=1)
# If the first records had to be held, the dialler looks at this many more, at most so many times.
WIDER_LOOK, ROUNDS = 1000, 5
# Held records whose time has come that are released in one statement.
RELEASED_AT_ONCE = 5000


class Group(NamedTuple):
    """Records of one zone and one country. `closed_prefixes`: numbers that begin so may not be called now."""

    zone: str
    calling_code: str
    closed_prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReservedRecord:
    """A record that this dialler has reserved. `agent_id` is set for an agent's own record."""

    id: int
    system_status: str
    agent_id: int | None
    needs_agent: bool


def _class(number: int, status: str, order: str, condition: str = "", limit: str = "%(look)s") -> str:
    """Build the CTE that selects the first records of one class, over all open groups."""
    return f"""class{number} AS (
  SELECT found.* FROM open_groups CROSS JOIN LATERAL (
    SELECT r.id, {number} AS class, r."order", r.next_call_at FROM campaigns_record r
    WHERE r.campaign_id = %(campaign)s AND r.system_status = '{status}'
      AND r.zone = open_groups.zone AND r.calling_code = open_groups.calling_code
      AND (open_groups.closed = '' OR NOT r.number LIKE ANY (string_to_array(open_groups.closed, ' ')))
      AND r.held_until IS NULL AND NOT {IS_LEASED} {condition}
    ORDER BY {order} LIMIT %(look)s
  ) AS found ORDER BY {order.replace("r.", "")} LIMIT {limit}
)"""  # noqa: S608  (of our own constants)


# SQL: the end of the do-not-call entries of a number `{number}`, at most `relisted`; NULL if none holds. All beginnings
# of the number are looked up; the whole number is one of them.
LISTED_UNTIL = """(
  SELECT max(LEAST(COALESCE(d.until, %(for_good)s), %(relisted)s)) FROM (
    SELECT * FROM campaigns_donotcall WHERE number = {number}
    UNION ALL
    SELECT * FROM campaigns_donotcall WHERE is_prefix AND number = ANY (ARRAY(
      SELECT left({number}, beginning.size) FROM generate_series(1, length({number})) AS beginning(size)))
  ) AS d
  WHERE (d.campaign_id IS NULL OR d.campaign_id = %(campaign)s)
    AND d.since <= %(now)s AND (d.until IS NULL OR d.until > %(now)s)
)"""
# SQL: the end of the pause after a call of the number for another record than `{record}`; NULL if there was none.
PAUSED_UNTIL = """(
  SELECT max(t.dialled_at + %(pause)s) FROM campaigns_attempt t
  WHERE t.number = {number} AND t.dialled_at > %(now)s - %(pause)s AND t.record_id <> {record}
    AND t.outcome <> 'not_dialled'
)"""
# SQL: the calls of a number `{number}` that matter for its next call: the end of the pause after a call for another
# record than `{record}`, and whether one was dropped a short time ago, for any record.
_CALLS = """
  SELECT max(t.dialled_at + %(pause)s) FILTER (
      WHERE t.dialled_at > %(now)s - %(pause)s AND t.record_id <> {record} AND t.outcome <> 'not_dialled') AS until,
    bool_or(t.outcome = 'dropped' AND t.dialled_at > %(now)s - %(guaranteed)s) AS was_dropped
  FROM campaigns_attempt t
  WHERE t.number = {number} AND t.dialled_at > %(now)s - GREATEST(%(pause)s, %(guaranteed)s)
"""
_BY_ORDER, _BY_TIME = 'r."order", r.id', 'r.next_call_at, r."order", r.id'
_IS_DUE = "AND r.next_call_at <= %(now)s"
# A time is the delay after a drop.
_IS_DUE_OR_UNTIMED = "AND (r.next_call_at IS NULL OR r.next_call_at <= %(now)s)"
_OPEN_GROUPS = """open_groups AS MATERIALIZED (
  SELECT * FROM unnest(%(zones)s::text[], %(codes)s::text[], %(closed)s::text[]) AS g(zone, calling_code, closed)
)"""
_CLASSES = (
    _OPEN_GROUPS,
    _class(1, "CALL", _BY_ORDER),
    _class(2, "MY_RECORD", _BY_ORDER, f"{_IS_DUE} AND r.agent_id = ANY(%(agents)s)"),
    _class(3, "CALL_PROGRESSIVE", _BY_ORDER, _IS_DUE_OR_UNTIMED),
    _class(4, "CALL_NO_SOONER_THAN", _BY_TIME, _IS_DUE),
    # Not read while retries are enough.
    _class(5, "TO_CALL", _BY_ORDER, limit="%(look)s - (SELECT count(*) FROM class4)"),
)
RESERVE = f"""
WITH {", ".join(_CLASSES)}, chosen AS (
  SELECT id, class,
    row_number() OVER (ORDER BY class, CASE WHEN class = 4 THEN next_call_at END, "order", id) AS position
  FROM (
    {" UNION ALL ".join(f"SELECT * FROM class{number}" for number in range(1, 6))}
  ) AS all_classes
  ORDER BY position LIMIT %(look)s
), locked AS (
  SELECT r.id, r.number, r.is_number_wrong, chosen.position
  FROM campaigns_record r JOIN chosen ON chosen.id = r.id
  WHERE NOT {IS_LEASED} AND r.held_until IS NULL FOR NO KEY UPDATE OF r SKIP LOCKED
), judged AS MATERIALIZED (
  SELECT l.id, l.position, calls.was_dropped OR others.was_dropped AS was_dropped, CASE
    WHEN others.can_be_called THEN NULL
    WHEN l.is_number_wrong THEN %(for_good)s
    ELSE GREATEST({LISTED_UNTIL.format(number="l.number")}, calls.until)
    END AS held_until
  FROM locked l
  CROSS JOIN LATERAL ({_CALLS.format(number="l.number", record="l.id")}) AS calls
  CROSS JOIN LATERAL (
    SELECT bool_or(NOT n.is_wrong) AS can_be_called, bool_or(calls.was_dropped) AS was_dropped
    FROM campaigns_additionalnumber n
    CROSS JOIN LATERAL ({_CALLS.format(number="n.number", record="l.id")}) AS calls
    WHERE n.record_id = l.id
  ) AS others
), placed AS (
  SELECT *, row_number() OVER (PARTITION BY held_until IS NULL ORDER BY position) AS place FROM judged
)
UPDATE campaigns_record r SET
  leased_by = CASE WHEN placed.held_until IS NULL THEN %(holder)s ELSE r.leased_by END,
  leased_until = CASE WHEN placed.held_until IS NULL THEN %(until)s ELSE r.leased_until END,
  held_until = placed.held_until
FROM placed WHERE r.id = placed.id AND (placed.held_until IS NOT NULL OR placed.place <= %(count)s)
RETURNING placed.position, r.held_until IS NOT NULL, r.id, r.system_status, r.agent_id,
  COALESCE(r.one_to_one_until > %(now)s, false) OR COALESCE(placed.was_dropped, false)
"""  # noqa: S608  (of our own constants)


HAS_DUE = f"""
WITH {", ".join(_CLASSES)}
SELECT 1 FROM ({" UNION ALL ".join(f"SELECT id FROM class{number}" for number in range(1, 6))}) AS due LIMIT 1
"""  # noqa: S608  (of our own constants)


def _groups_of_status(status: str) -> str:
    """Build the CTE that finds the groups of one status, by one look into the index for each group."""
    first = f"""
    SELECT r.zone, r.calling_code FROM campaigns_record r
    WHERE r.campaign_id = %(campaign)s AND r.system_status = '{status}' AND r.held_until IS NULL"""  # noqa: S608
    order = "ORDER BY r.zone, r.calling_code LIMIT 1"
    return f"""groups_{status.lower()} AS (
  ({first} {order})
  UNION ALL
  SELECT next.zone, next.calling_code FROM groups_{status.lower()} AS g CROSS JOIN LATERAL (
    {first} AND (r.zone, r.calling_code) > (g.zone, g.calling_code) {order}
  ) AS next
)"""  # noqa: S608


_STATUSES = ("CALL", "MY_RECORD", "CALL_PROGRESSIVE", "CALL_NO_SOONER_THAN", "TO_CALL")
# The groups of a campaign's records, by the indexes of the choice, however many records there are.
GROUPS = f"""
WITH RECURSIVE {", ".join(map(_groups_of_status, _STATUSES))}
{" UNION ".join(f"TABLE groups_{status.lower()}" for status in _STATUSES)}
ORDER BY zone, calling_code
"""
_RELEASE_HELD = """
UPDATE campaigns_record r SET held_until = NULL
FROM (
  SELECT id FROM campaigns_record WHERE held_until <= %s ORDER BY held_until LIMIT %s FOR NO KEY UPDATE SKIP LOCKED
) AS due WHERE r.id = due.id
"""


# The plan suits all values, so a connection keeps it; PostgreSQL by itself would make it anew each time. It uses
# indexes only, since it may have been made while the tables were empty. The commit does not wait for the disk: a lost
# reservation does no harm, as no call has begun.
SETTINGS = """
SET LOCAL plan_cache_mode = force_generic_plan;
SET LOCAL enable_seqscan = off;
SET LOCAL synchronous_commit = off
"""
_GIVE_BACK = """
WITH locked AS (
  SELECT id FROM campaigns_record WHERE id = ANY(%s) AND leased_by = %s ORDER BY id FOR NO KEY UPDATE
)
UPDATE campaigns_record r SET leased_by = '', leased_until = NULL FROM locked WHERE r.id = locked.id
"""


def reserve(
    campaign_id: int,
    holder: str,
    count: int,
    *,
    groups: Collection[Group],
    free_agents: Collection[int],
    now: datetime,
) -> list[ReservedRecord]:
    """Reserve the next records of the campaign, at most `count`, in the order in which they are to be called.

    Records that are held on the way are replaced by the next ones.
    """
    if count < 1 or not groups:
        return []
    values = values_of(campaign_id, holder, groups=groups, free_agents=free_agents, now=now)
    reserved: list[ReservedRecord] = []
    for look in (count, *[max(count, WIDER_LOOK)] * ROUNDS):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(SETTINGS)
            cursor.execute(RESERVE, {**values, "count": count - len(reserved), "look": look})
            rows = sorted(cursor.fetchall())
        reserved += [_reserved(*row) for _position, is_held, *row in rows if not is_held]
        if len(reserved) >= count or not any(is_held for _position, is_held, *_ in rows):
            break
    return reserved


def _reserved(record_id: int, system_status: str, agent_id: int | None, was_dropped: bool) -> ReservedRecord:
    return ReservedRecord(
        record_id,
        system_status,
        agent_id if system_status == "MY_RECORD" else None,
        needs_agent=was_dropped or system_status in ONE_TO_ONE,
    )


def has_due(campaign_id: int, *, groups: Collection[Group], free_agents: Collection[int], now: datetime) -> bool:
    """Return whether a record of the campaign may be called now, as far as it is known without its numbers."""
    if not groups:
        return False
    values = values_of(campaign_id, "", groups=groups, free_agents=free_agents, now=now)
    return row_of(HAS_DUE, values | {"look": 1}) is not None


def values_of(
    campaign_id: int, holder: str, *, groups: Collection[Group], free_agents: Collection[int], now: datetime
) -> dict[str, Any]:
    """Return the values of RESERVE, without `count` and `look`."""
    return {
        "campaign": campaign_id,
        "holder": holder,
        "zones": [group.zone for group in groups],
        "codes": [group.calling_code for group in groups],
        "closed": [" ".join(f"{prefix}%" for prefix in group.closed_prefixes) for group in groups],
        "agents": list(free_agents),
        "now": now,
        "until": now + RESERVATION,
        "for_good": FOR_GOOD,
        "relisted": now + RELISTED,
        "pause": settings.DIAL_PAUSE,
        "guaranteed": ONE_TO_ONE_AFTER_DROP,
    }


def give_back(record_ids: Collection[int], holder: str) -> None:
    """Release reservations that were not used."""
    if not record_ids:
        return
    with connection.cursor() as cursor:
        cursor.execute(_GIVE_BACK, [list(record_ids), holder])


def groups_of(campaign_id: int) -> list[Group]:
    """Return the zones and countries of the campaign's records that may be called now or later."""
    return [Group(*row) for row in rows_of(GROUPS, {"campaign": campaign_id})]


def release_held(now: datetime) -> int:
    """Release the held records whose time has come. Return their number."""
    with connection.cursor() as cursor:
        cursor.execute(_RELEASE_HELD, [now, RELEASED_AT_ONCE])
        return int(cursor.rowcount)
