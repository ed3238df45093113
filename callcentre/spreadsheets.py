"""Cells of the CSV files that we write: nothing that somebody entered becomes a formula of whoever opens them.

A spreadsheet takes a cell for a formula that starts with = + - or @, also behind blanks, and some drop a tab or a line
break in front. Such a cell gets an apostrophe, which our imports take away again. Cells of digits and the separators of
phone numbers stay as they are: +48 22 555 01 01 is harmless, and useless with an apostrophe.
"""

import re

_BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"
# From the start of a cell: these mean the same to Python and to PostgreSQL.
FORMULA = f"^'*(?:[{_BLANKS}]*[=+@＝＋－＠-]|[\t\n\r])"
NUMBER = r"^ *[-+]?[0-9 ()./-]+\Z"
_FORMULA, _NUMBER = re.compile(FORMULA), re.compile(NUMBER)


def harmless(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.match(text) else text


def as_entered(cell: str) -> str:
    """The cell without the apostrophe that `harmless` has put there."""
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell[1:]) else cell
