"""The scripts of campaigns. A field's name in braces stands for the record's value."""

import re
from collections.abc import Iterable, Mapping

# Each record has it, also that of a CRM campaign.
PHONE_NUMBER = "phone_number"
_PLACE = re.compile(r"\{([^{}]*)\}")


def unknown_fields(script: str, names: Iterable[str]) -> list[str]:
    """Return the names in braces that are no fields, each once."""
    known = {PHONE_NUMBER, *(name.strip() for name in names)}
    return [name for name in dict.fromkeys(place.strip() for place in _PLACE.findall(script)) if name not in known]


def filled(script: str, values: Mapping[str, str]) -> str:
    """Put values of the record into the places of a script. A field that was deleted since leaves a gap: "…"."""
    return _PLACE.sub(lambda place: values.get(place[1].strip(), "…"), script)
