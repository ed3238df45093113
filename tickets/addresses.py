"""E-mail addresses: which ones mail can be sent to."""

from collections.abc import Iterable

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from callcentre.errors import ErrorCode, Fault


def is_address(text: str) -> bool:
    """Whether this is one address, and nothing beside it: no name, no second one, nothing that breaks a header."""
    try:
        validate_email(text)
    except ValidationError:
        return False
    return text.isprintable()


def check_addresses(addresses: Iterable[str], field: str) -> list[Fault]:
    """A fault for each that is none; `field` is that of the list."""
    return [
        Fault(ErrorCode.ADDRESS_MALFORMED, f"{field}.{position}")
        for position, address in enumerate(addresses)
        if not is_address(address)
    ]
