"""The search for customers by name, number, address, identifier or id, by indexes alone."""

from django.db import connection

from callcentre.core.integers import integer_of
from callcentre.core.phone import PhoneError, normalise

# The most customers found; people narrow a search with more results.
MAX_FOUND = 500

# Each part has an index of its own. `id + 0` keeps the planner from scanning the index of the primary key instead.
_FIND = """
SELECT id FROM tickets_customer WHERE id = %(id)s
UNION
SELECT customer_id FROM tickets_customernumber WHERE number = %(number)s
UNION
SELECT id FROM tickets_customer WHERE UPPER(email) = UPPER(%(text)s) AND email <> ''
UNION
SELECT id FROM tickets_customer WHERE identifier = %(text)s AND identifier <> '' AND merged_into_id IS NULL
UNION
(SELECT id FROM tickets_customer WHERE {words} ORDER BY id + 0 DESC LIMIT %(most)s)
LIMIT %(most)s
"""
_WORD = "(UPPER(surname) LIKE UPPER(%(word{n})s) OR UPPER(name) LIKE UPPER(%(word{n})s))"


def ids_found(text: str) -> list[int]:
    """Return the ids of the customers whom a text finds."""
    text = text.replace("\0", "").strip()
    try:
        number = normalise(text)
    except PhoneError:
        number = ""
    patterns = {f"word{n}": _pattern(word) for n, word in enumerate(text.split()[:5])}
    words = " AND ".join(_WORD.format(n=n) for n in range(len(patterns))) or "false"
    values = {"id": integer_of(text), "number": number, "text": text, "most": MAX_FOUND, **patterns}
    with connection.cursor() as cursor:
        cursor.execute(_FIND.format(words=words), values)
        return [pk for (pk,) in cursor.fetchall()]


def _pattern(word: str) -> str:
    """Return the pattern of a word inside a name, or at its beginning if the word is too short for the index."""
    pattern = pattern_of(word)
    return pattern[1:] if len(word) < 3 else pattern


def pattern_of(word: str) -> str:
    """Return the LIKE pattern of texts that contain a word."""
    return "%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
