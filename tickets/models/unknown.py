"""The customer of a first mail or a first call: found, or created where the settings say so.

Addresses and numbers are not unique among customers, so no constraint keeps two first mails apart. Each waits for its
turn instead: the second one finds the customer that the first one has created.
"""

from collections.abc import Callable

from django.db import connection

from callcentre.actor import Actor
from telephony.models import Agent
from tickets.addresses import is_address
from tickets.models.customer import Customer
from tickets.models.customer_settings import CustomerSettings

# The space of advisory locks in which an address or a number waits for its turn.
_LOCK_SPACE = 0x63757374
_LONGEST_ADDRESS = Customer._meta.get_field("email").max_length
_LONGEST_SURNAME = Customer._meta.get_field("surname").max_length


def customer_of_sender(actor: Actor, address: str, name: str = "") -> Customer | None:
    """Return the customer of a mail's sender, held until the transaction ends; None where there is none.

    The sender of an address that no mail reaches, and an agent, do not become customers.
    """

    def find() -> Customer | None:
        return Customer.objects.hold_of_email(address)

    def create() -> Customer:
        return Customer.create(actor, surname=_surname(name) or _surname(address), email=address)

    may_be_new = is_address(address) and len(address) <= _LONGEST_ADDRESS
    known = find()
    if known is not None or not may_be_new or Agent.objects.active().filter(email__iexact=address).exists():
        return known
    return _create_once(address.upper(), find, create)


def customer_of_caller(actor: Actor, caller: str, number: str) -> Customer | None:
    """Return the customer who calls, by the number in its normal form; None where there is none.

    A caller who withholds the number, and an extension, do not become customers: their normal form has no `+`.
    """

    def find() -> Customer | None:
        return Customer.objects.with_number(number).first()

    def create() -> Customer:
        return Customer.create(actor, surname=_surname(caller), phone_numbers=[caller])

    known = find()
    return known if known is not None or not number.startswith("+") else _create_once(number, find, create)


def _create_once(key: str, find: Callable[[], Customer | None], create: Callable[[], Customer]) -> Customer | None:
    """Create the customer, if customers are created; of several at once the first does, and the others find it."""
    if not CustomerSettings.is_creating():
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_LOCK_SPACE, key])
    return find() or create()


def _surname(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_SURNAME].strip()
