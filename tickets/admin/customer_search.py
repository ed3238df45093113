"""Finding few customers among millions: by name, number, address, identifier or id."""

from django.db import connection

from callcentre.core.integers import integer_of
from callcentre.core.phone import PhoneError, normalise

# More than this, and people say more.
MAX_FOUND = 500

# Each part has an index of its own; the sum keeps the planner from walking along the primary key until it meets one.
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
    """Anywhere in a name; a word too short for the index begins one."""
    escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"{escaped}%" if len(word) < 3 else f"%{escaped}%"
