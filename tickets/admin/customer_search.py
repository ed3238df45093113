"""The search for customers by name, number, address, identifier or id, by indexes alone. So for companies."""

from callcentre.core.integers import integer_of
from callcentre.core.scope import ALL, Scope
from callcentre.core.search import CANDIDATES, Hit, SearchText, union
from callcentre.core.statements import rows_of

# The most customers found; people narrow a search with more results.
MAX_FOUND = 500

_BY_ID = "SELECT id FROM tickets_customer WHERE id = %(id)s"
_BY_NUMBER = "SELECT customer_id FROM tickets_customernumber WHERE number = %(number)s"
_BY_ENDING = "SELECT customer_id FROM tickets_customernumber WHERE reverse(number) LIKE {ending}"
_BY_EMAIL = "SELECT id FROM tickets_customer WHERE UPPER(email) LIKE UPPER(%(address)s) AND email <> ''"
_BY_IDENTIFIER = """
SELECT id FROM tickets_customer WHERE identifier = %(text)s AND identifier <> '' AND merged_into_id IS NULL
"""
_NAME = "callcentre_name(name, surname)"
# `+ 0` keeps the planner from scanning the index of the primary key instead of that of names.
_BY_NAME = "SELECT id FROM tickets_customer WHERE {words} ORDER BY id + 0 DESC"
# The first matches of the index, as the newest ones would take the time of all.
_SOME_BY_NAME = "SELECT id FROM tickets_customer WHERE merged_into_id IS NULL AND {words}"
# The customer into whom one with this address was merged is found too.
_HITS = """
SELECT c.id, trim(c.name || ' ' || c.surname), c.email, o.name,
  (SELECT n.phone_number FROM tickets_customernumber n WHERE n.customer_id = c.id ORDER BY n.id LIMIT 1)
FROM tickets_customer c LEFT JOIN tickets_company o ON o.id = c.company_id
WHERE c.merged_into_id IS NULL AND c.id IN (
  SELECT COALESCE(f.merged_into_id, f.id) FROM tickets_customer f WHERE f.id IN ({branches}))
ORDER BY c.id DESC LIMIT %(shown)s
"""
# The newest calls of each customer, and with each number of a customer.
_CALLS = """
SELECT calls.id FROM ({ids}) AS found(id) CROSS JOIN LATERAL (
  (SELECT c.id, c.created_at FROM telephony_connection c WHERE c.customer_id = found.id
   ORDER BY c.created_at DESC LIMIT {{most}})
  UNION ALL
  SELECT of_number.id, of_number.created_at FROM tickets_customernumber n CROSS JOIN LATERAL (
    (SELECT c.id, c.created_at FROM telephony_connection c WHERE c.src_number = n.number
     ORDER BY c.created_at DESC, c.id DESC LIMIT {{most}})
    UNION ALL
    (SELECT c.id, c.created_at FROM telephony_connection c WHERE c.dst_number = n.number
     ORDER BY c.created_at DESC, c.id DESC LIMIT {{most}})) AS of_number
  WHERE n.customer_id = found.id) AS calls
ORDER BY calls.created_at DESC, calls.id DESC
"""
_COMPANIES = "SELECT id, name FROM tickets_company WHERE {words} LIMIT %(shown)s"


def ids_found(text: str) -> list[int]:
    """Return the ids of the customers whom a text finds."""
    search = SearchText.read(text)
    branches = [_BY_ID, *_branches(search), *_names(search, _BY_NAME)]
    values = {**search.parameters, "id": integer_of(search.text)}
    return [pk for (pk,) in rows_of(union(branches, MAX_FOUND), values)[:MAX_FOUND]]


def customers(search: SearchText, count: int, scope: Scope = ALL) -> list[Hit]:
    """Return customers whom a text finds, newest first."""
    names = [] if search.is_address or search.endings else _names(search, _SOME_BY_NAME)
    branches = [*_branches(search), *names]
    if not branches:
        return []
    statement = _HITS.format(branches=union(branches, CANDIDATES))
    rows = rows_of(statement, {**search.parameters, "shown": count})
    return [
        Hit(pk, full, tuple(note for note in (number, email, company) if note and note != full))
        for pk, full, email, company, number in rows
    ]


def call_branches(search: SearchText) -> list[str]:
    """Return the SELECT of the calls of the customers whom a text finds otherwise than by number."""
    branches = [] if search.number else [*_branches(search), *_names(search, _SOME_BY_NAME)]
    return [_CALLS.format(ids=union(branches, MAX_FOUND))] if branches else []


def companies(search: SearchText, count: int, scope: Scope = ALL) -> list[Hit]:
    """Return companies with these words in their name."""
    if not search.patterns or search.is_address:
        return []
    statement = _COMPANIES.format(words=search.like_words("callcentre_name(name)"))
    return [Hit(pk, name) for pk, name in rows_of(statement, {**search.parameters, "shown": count})]


def _branches(search: SearchText) -> list[str]:
    """Return the parts of a UNION that find customers otherwise than by name. Each has an index of its own."""
    found = [_BY_IDENTIFIER] if search.text else []
    if search.address:
        found.append(_BY_EMAIL)
    elif search.number:
        found += search.with_endings(_BY_ENDING) or [_BY_NUMBER]
    return found


def _names(search: SearchText, branch: str) -> list[str]:
    return [branch.format(words=search.like_words(_NAME))] if search.patterns else []
