"""E-mail addresses: their validity and their spelling."""

import re
from collections.abc import Iterable
from email.utils import getaddresses
from functools import reduce
from operator import or_

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db.models import Q
from django.utils.encoding import punycode

from callcentre.core.errors import ErrorCode, Fault

# Local parts that servers accept beside those of Django's validator: with dots in a row or at an end, from Japanese
# mobile networks, and with letters of any script (RFC 6531).
_LOCAL = re.compile(r"[^\s\x00-\x1f\x7f()<>\[\]:;@\\,\"]{1,255}")
LONGEST, LONGEST_NAME = 320, 200


def is_address(text: str) -> bool:
    """Return whether the text is one address: no name, no second address, no character that breaks a header."""
    if not text.isprintable() or len(text) > LONGEST:
        return False
    local, _at, domain = text.rpartition("@")
    # Django's validator knows domains and quoted local parts.
    return _is_valid(text) or (bool(_LOCAL.fullmatch(local)) and _is_valid(f"x@{domain}"))


def any_of(column: str, addresses: Iterable[str]) -> Q:
    """Return the condition that a column is one of these addresses, in any case of letters."""
    return reduce(or_, (Q(**{f"{column}__iexact": address}) for address in addresses), Q(pk__in=[]))


def _is_valid(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True


def needs_smtputf8(address: str) -> bool:
    """Return whether a server must support SMTPUTF8 (RFC 6531) to take mail for this address."""
    return not address.rpartition("@")[0].isascii()


def on_the_wire(address: str) -> str:
    """Return the address as servers exchange it: its domain in ASCII, its local part untouched."""
    local, _at, domain = address.rpartition("@")
    return f"{local}@{punycode(domain)}"


def read_sender(text: str, name: str = "") -> tuple[str, str]:
    """Return address and name of `Jan Kowal <jan@client.example>`; any other text as it is, with the given name."""
    if len(text) > LONGEST or "@" not in text or is_address(text):
        return text, name
    before, _bracket, after = text.rpartition("<")
    if is_address(address := after.strip().removesuffix(">").strip()):
        # The name may have commas without the quotation marks that they need.
        return address, before.strip(' "')[:LONGEST_NAME] or name
    found = [(person, address) for person, address in getaddresses([text]) if address]
    if len(found) == 1 and is_address(found[0][1]):
        return found[0][1], found[0][0].strip()[:LONGEST_NAME] or name
    return text, name


def check_addresses(addresses: Iterable[str], field: str) -> list[Fault]:
    """Return a fault for each text that is no address; `field` is the field of the list."""
    return [
        Fault(ErrorCode.ADDRESS_MALFORMED, f"{field}.{position}")
        for position, address in enumerate(addresses)
        if not is_address(address)
    ]
