"""The search for agents: few rows, read without an index."""

from callcentre.core.scope import ALL, Scope
from callcentre.core.search import Hit, SearchText
from callcentre.core.statements import rows_of
from telephony.models import Agent

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
