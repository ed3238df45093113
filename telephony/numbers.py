"""Numbers of calls, as they are compared: public ones in their normal form, a phone's name as it stands."""

from callcentre.core.phone import MAX_RAW_LENGTH, PhoneError, normalise


def comparable(raw: str) -> str:
    """The form in which two spellings of one number are equal; what is no number (`anonymous`) is itself."""
    try:
        return normalise(raw)
    except PhoneError:
        return raw.strip()[:MAX_RAW_LENGTH]
