"""Searches of agents, few rows that are read without an index, and of calls, by indexes alone, the newest first."""

from datetime import datetime
from typing import Any

from django.db.models import Model

from callcentre.core.scope import ALL, Scope
from callcentre.core.search import Hit, SearchText, candidates, ids_inside, read_by_list, union
from callcentre.core.statements import rows_of
from callcentre.core.times import second
from telephony.call_lookups import of_keys, registered_branches
from telephony.models import Agent, Connection
from telephony.models.connection import UID
from telephony.numbers import comparable

AGENT_NAMES = "callcentre_name(login || ' ' || name, surname)"
_AGENTS = """
SELECT id, login, name, surname, number, is_active FROM telephony_agent a
WHERE ({words} OR number <> '' AND number = %(text)s OR email <> '' AND UPPER(email) LIKE UPPER(%(address)s)){inside}
ORDER BY is_active DESC, login LIMIT %(shown)s
"""


def agents(search: SearchText, count: int, scope: Scope = ALL) -> list[Hit]:
    """Return agents by login, name, SIP number or address, active ones first."""
    if not search.patterns:
        return []
    statement = _AGENTS.format(words=search.like_words(AGENT_NAMES), inside=scope.sql(Agent, "a"))
    rows = rows_of(statement, {**search.parameters, "shown": count, **scope.by_column})
    return [
        Hit(pk, f"{login} ({full})" if (full := f"{name} {surname}".strip()) else login, (number,) if number else ())
        for pk, login, name, surname, number, _is_active in rows
    ]


MAX_FOUND = 500
# The calls among which parts of calls are found: not every call has a recording.
MOST_OF_PARTS = 1_000

_OF_NUMBER = (
    "SELECT id FROM telephony_connection WHERE src_number = %(number)s ORDER BY created_at DESC, id DESC",
    "SELECT id FROM telephony_connection WHERE dst_number = %(number)s ORDER BY created_at DESC, id DESC",
)
# The normal form of the customer's number, as the index of endings has it.
_CUSTOMER_NUMBER = "reverse(CASE WHEN direction = 'INBOUND' THEN src_number ELSE dst_number END)"
# Some calls whose customer's number ends so, and the open ones.
_OF_ENDING = (
    f"SELECT id FROM telephony_connection WHERE state = 'ended' AND {_CUSTOMER_NUMBER} LIKE {{ending}}",  # noqa: S608
    f"SELECT id FROM telephony_connection WHERE state <> 'ended' AND {_CUSTOMER_NUMBER} LIKE {{ending}}",  # noqa: S608
)
_AGENT_IDS = "SELECT id FROM telephony_agent WHERE {words}"
_QUEUES = "SELECT id FROM telephony_queue WHERE {words}"
_OF_ID = "SELECT id FROM telephony_connection WHERE id = %(id)s AND created_at = to_timestamp(%(epoch)s)"
_NEWEST = """
SELECT found.id FROM ({branches}) AS found(id) CROSS JOIN LATERAL (
  SELECT c.created_at FROM telephony_connection c WHERE c.id = found.id LIMIT 1) AS call
ORDER BY call.created_at DESC, found.id DESC LIMIT %(most)s
"""
_HITS = """
SELECT c.id, c.created_at, c.direction, c.src, c.dst, c.disposition, c.state, a.login
FROM telephony_connection c LEFT JOIN telephony_agent a ON a.id = c.agent_id
WHERE c.id IN ({branches}){inside} ORDER BY c.created_at DESC, c.id DESC LIMIT %(shown)s
"""
# The newest of each pair of direction and result, then the newest of these. An index has the order within a pair.
_OF_RESULTS = """
SELECT newest.id
FROM unnest(%(directions)s::text[]) AS direction CROSS JOIN unnest(%(dispositions)s::text[]) AS disposition
CROSS JOIN LATERAL (
  SELECT c.id, c.created_at FROM telephony_connection c
  WHERE c.direction = direction.direction AND c.disposition = disposition.disposition
    AND c.created_at >= %(since)s AND c.created_at < %(until)s{inside}
  ORDER BY c.created_at DESC, c.id DESC LIMIT %(most)s
) newest ORDER BY newest.created_at DESC, newest.id DESC LIMIT %(most)s
"""


def ids_found(text: str, scope: Scope = ALL, model: type[Model] = Connection) -> tuple[list[int], bool]:
    """Return the keys of the calls that a text finds, or of the rows of a model that belong to them by `connection`.

    It finds them by the id of the call, the number of either side in any spelling, the agent, the queue, and what other
    apps have registered. The second value is whether the search stopped before it found all.
    """
    ids, is_cut = _calls_found(text, scope, model)
    if model is not Connection:
        ids = list(model._default_manager.filter(connection__in=ids).order_by().values_list("pk", flat=True))
    return ids[:MAX_FOUND], is_cut or len(ids) > MAX_FOUND


def _calls_found(text: str, scope: Scope, model: type[Model]) -> tuple[list[int], bool]:
    found = list(Connection.objects.with_uid(text.strip()).values_list("pk", flat=True))
    if found:
        return found, False
    search = SearchText.read(text)
    is_part = model is not Connection
    most = read_by_list(MOST_OF_PARTS if is_part else MAX_FOUND, Connection, scope)
    branches = [*_OF_NUMBER, *search.with_endings(*_OF_ENDING), *registered_branches(search)]
    if search.patterns:
        branches += [
            of_keys("agent_id", _AGENT_IDS.format(words=search.like_words(AGENT_NAMES))),
            of_keys("queue_id", _QUEUES.format(words=search.like_words("callcentre_name(name)"))),
        ]
    branches = [branch.replace("{most}", str(most)) for branch in branches]
    values = {**search.parameters, "number": comparable(text.replace("\0", "")), "most": most}
    read = [pk for (pk,) in rows_of(_NEWEST.format(branches=union(branches, most)), values)]
    ids = ids_inside(read, Connection, scope)
    return ids if is_part else ids[:MAX_FOUND], len(read) == most or (not is_part and len(ids) >= MAX_FOUND)


def calls(search: SearchText, count: int, scope: Scope = ALL) -> list[Hit]:
    """Return the newest calls with this number, this end of the customer's number, or this id."""
    branches = [*_OF_NUMBER, *search.with_endings(*_OF_ENDING)] if search.number else []
    values = search.parameters | {"shown": count} | scope.by_column
    if found := UID.fullmatch(search.text):
        branches = [_OF_ID]
        values |= found.groupdict()
    if not branches:
        return []
    statement = _HITS.format(branches=union(branches, candidates(scope)), inside=scope.sql(Connection, "c"))
    return [_hit(row) for row in rows_of(statement, values)]


def _hit(row: tuple[Any, ...]) -> Hit:
    pk, created_at, direction, src, dst, disposition, state, login = row
    call = Connection(direction=direction, disposition=disposition, state=state)
    result = str(call.get_disposition_display() or call.get_state_display())
    return Hit(pk, f"{src} → {dst}", tuple(filter(None, (second(created_at), result, login))))


def newest_with_result(
    direction: str, disposition: str, since: datetime | None, until: datetime | None, *, count: int, scope: Scope = ALL
) -> list[int]:
    """Return the keys of the newest connections with a direction and a result; "" stands for any."""
    values = {
        "directions": [direction] if direction else Connection.Direction.values,
        "dispositions": [disposition] if disposition else ["", *Connection.Disposition.values],
        "since": since or "-infinity",
        "until": until or "infinity",
        "most": count,
        **scope.by_column,
    }
    return [pk for (pk,) in rows_of(_OF_RESULTS.format(inside=scope.sql(Connection, "c")), values)]
