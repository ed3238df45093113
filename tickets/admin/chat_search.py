"""The search for chats by the client's name or address, and by words of their messages, by indexes alone."""

from typing import Any

from callcentre.core.scope import ALL, Scope
from callcentre.core.search import Hit, SearchText, candidates, ids_inside, read_by_list, union
from callcentre.core.statements import rows_of
from callcentre.core.times import minute
from tickets.models import Chat

MAX_FOUND = 500
_BY_ADDRESS = "SELECT id FROM tickets_chat WHERE UPPER(client_email) LIKE UPPER(%(address)s) AND client_email <> ''"
_WITH_WORDS = """
SELECT chat_id AS id FROM chats_with_words(
  to_tsquery('callcentre_words', %(query)s), to_tsquery('callcentre_words', %(begun)s), %(most)s)
"""
_NEWEST = "SELECT id FROM tickets_chat WHERE id IN ({branches}) ORDER BY created_at DESC, id DESC LIMIT %(most)s"
_HITS = """
SELECT c.id, c.client_name, c.client_email, q.name, a.login, c.created_at
FROM tickets_chat c JOIN telephony_queue q ON q.id = c.queue_id LEFT JOIN telephony_agent a ON a.id = c.agent_id
WHERE c.id IN ({branches}){inside} ORDER BY c.created_at DESC, c.id DESC LIMIT %(shown)s
"""


def find(text: str, scope: Scope = ALL) -> tuple[list[Any], bool]:
    """Return the ids of the chats that a text finds, and whether the search stopped before it found all."""
    search, most = SearchText.read(text), read_by_list(MAX_FOUND, Chat, scope)
    if not (branches := _branches(search)):
        return [], False
    statement = _NEWEST.format(branches=union(branches, most))
    read = [pk for (pk,) in rows_of(statement, search.parameters | {"most": most})]
    ids = ids_inside(read, Chat, scope)[:MAX_FOUND]
    return ids, len(read) == most or len(ids) == MAX_FOUND


def chats(search: SearchText, count: int, scope: Scope = ALL) -> list[Hit]:
    """Return the newest chats that a text finds."""
    if not (branches := _branches(search)):
        return []
    most = candidates(scope)
    values = search.parameters | {"most": most, "shown": count} | scope.by_column
    rows = rows_of(_HITS.format(branches=union(branches, most), inside=scope.sql(Chat, "c")), values)
    return [
        Hit(pk, name, tuple(filter(None, (email, queue, login, minute(at)))))
        for pk, name, email, queue, login, at in rows
    ]


def _branches(search: SearchText) -> list[str]:
    by_address = [_BY_ADDRESS] if search.address else []
    return by_address + ([_WITH_WORDS] if search.query and not search.is_address else [])
