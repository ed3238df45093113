"""The customers of first mails and first calls: found, or created if the settings say so.

Addresses and numbers are not unique among customers, so no constraint keeps two first mails apart. An advisory lock
does: the second mail waits, and then finds the customer that the first one has created.
"""

from collections.abc import Callable

from django.db import connection

from callcentre.core.actor import Actor
from callcentre.core.phone import PhoneError, normalise
from tickets.addresses import is_address
from tickets.models.customer import Customer
from tickets.verbs.customers import add_customer, create_customer

# The space of advisory locks for addresses and numbers.
_LOCK_SPACE = 0x63757374
# Returns a row, and acquires the lock, if unknown customers are created and no agent has the address.
_LOCK = """
SELECT pg_advisory_xact_lock(%s, hashtext(%s)) FROM tickets_customersettings
WHERE creates_unknown AND NOT EXISTS (
  SELECT 1 FROM telephony_agent WHERE is_active AND email <> '' AND UPPER(email) = UPPER(%s)
)
"""
_LONGEST_ADDRESS = Customer._meta.get_field("email").max_length or 0
_LONGEST_SURNAME = Customer._meta.get_field("surname").max_length or 0


def customer_of_sender(actor: Actor, address: str, name: str = "") -> Customer | None:
    """Return the customer of a mail's sender, held until the transaction ends, or None.

    No customer is created for an agent, nor for an address that mail cannot reach.
    """

    def find() -> Customer | None:
        return Customer.objects.hold_of_email(address)

    def create() -> Customer:
        return add_customer(actor, surname=_surname(name) or _surname(address), email=address)

    if (known := find()) is not None:
        return known
    may_be_new = is_address(address) and len(address) <= _LONGEST_ADDRESS
    return _create_once(address.upper(), find, create, address) if may_be_new else None


def customer_of_caller(actor: Actor, caller: str, number: str) -> Customer | None:
    """Return the customer of a caller whose number, in its normal form, no customer had before, or None.

    No customer is created for a withheld number, nor for an extension: their normal forms have no `+`.
    """
    if not _is_public(caller):
        return None

    def find() -> Customer | None:
        return Customer.objects.with_number(number).first()

    def create() -> Customer:
        return create_customer(actor, surname=_surname(caller), phone_numbers=[caller])

    return _create_once(number, find, create)


def _create_once(
    key: str, find: Callable[[], Customer | None], create: Callable[[], Customer], address: str = ""
) -> Customer | None:
    """Create the customer if the settings say so. Of concurrent transactions the first creates, the others find it."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [_LOCK_SPACE, key, address])
        if cursor.fetchone() is None:
            return None
    return find() or create()


def _is_public(caller: str) -> bool:
    try:
        return normalise(caller).startswith("+")
    except PhoneError:
        return False


def _surname(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_SURNAME].strip()
