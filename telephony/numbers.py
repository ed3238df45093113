"""Numbers of calls in the form in which they are compared."""

from callcentre.core.errors import Fault
from callcentre.core.phone import MAX_RAW_LENGTH, PhoneError, normalise


def comparable(raw: str) -> str:
    """Return the normal form of a number. A text that is no number, as `anonymous` or a SIP name, stays as it is."""
    try:
        return normalise(raw)
    except PhoneError:
        return raw.strip()[:MAX_RAW_LENGTH]


def read_number(raw: str, faults: list[Fault]) -> str:
    """Return the normal form of the `phone_number` of a request, or "" and add the fault of one that is no number."""
    try:
        return normalise(raw) if raw else ""
    except PhoneError as error:
        faults.append(error.fault("phone_number"))
        return ""


def is_number(text: str) -> bool:
    """Return whether this normal form is a number. Callers who show none have another text, or none."""
    return text.removeprefix("+").isdecimal()
