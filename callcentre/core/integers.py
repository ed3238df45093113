"""Whole numbers in addresses and forms: ids and page numbers."""

# Every number of 18 digits fits into a bigint. Python refuses to read more than 4,300 digits.
MAX_DIGITS = 18


def integer_of(text: object) -> int | None:
    """Return the number that the digits spell, or None for other texts and for more digits than an id can have."""
    if isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS:
        return int(text)
    return None
