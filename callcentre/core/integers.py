"""Whole numbers in addresses and forms: ids and pages."""

# 18 digits fit into a bigint. Python refuses to read more than 4,300.
MAX_DIGITS = 18


def integer_of(text: object) -> int | None:
    """Return the number that the digits spell; None for any other text, and for more digits than an id can have."""
    if isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS:
        return int(text)
    return None
