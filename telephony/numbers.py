"""Numbers of calls in the form in which they are compared."""

from callcentre.core.phone import MAX_RAW_LENGTH, PhoneError, normalise


def comparable(raw: str) -> str:
    """Return the normal form of a number. A text that is no number, as `anonymous` or a SIP name, stays as it is."""
    try:
        return normalise(raw)
    except PhoneError:
        return raw.strip()[:MAX_RAW_LENGTH]


def is_number(text: str) -> bool:
    """Return whether this normal form is a number. Callers who show none have another text, or none."""
    return text.removeprefix("+").isdecimal()
