"""The people in calls, as another app knows them: customers, and tickets of their messages. It registers a module.

Telephony stores only ids.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from callcentre.core.scope import Scoped
from telephony.numbers import comparable

if TYPE_CHECKING:
    from telephony.models import Recording


@dataclass(frozen=True, slots=True)
class Customer:
    """A customer. `label` is the name that agents see."""

    id: int
    label: str


_apps: list[Any] = []
register = _apps.append


def customers_of(numbers: Collection[str]) -> Mapping[str, Customer]:
    """Return the customers of numbers in their normal form, of several the oldest, in one query."""
    found: Mapping[str, Customer] = _apps[-1].customers_of(numbers) if numbers else {}
    return found


def customer_of_caller(caller: str, number: str) -> Customer | None:
    """Return the customer of a number, as it was sent and in its normal form, perhaps a new one."""
    found: Customer | None = customers_of([number]).get(number) or _apps[-1].customer_of_caller(caller, number)
    return found


def customer_of(column: str) -> str:
    """Return SQL for the id of the customer whose number is in this column."""
    return f"({_apps[-1].CUSTOMER_OF.format(column)})"


def name_beside(number: str, label: str) -> str:
    """Return the name of a customer for a place beside the number; "" for one who is named by the number."""
    return "" if comparable(label) == comparable(number) else label


def pages_of_customers(ids: Collection[int]) -> Mapping[int, tuple[Customer, str]]:
    """Return the customers that exist, each with the address of its admin page, in one query."""
    found: Mapping[int, tuple[Customer, str]] = _apps[-1].pages_of_customers(ids) if ids else {}
    return found


def ticket_queues(user: Scoped) -> list[tuple[int, str]]:
    """Return the ticket queues that a person may choose, by id."""
    return list(_apps[-1].ticket_queues(user))


def open_ticket(recording: "Recording", ticket_queue_id: int) -> int:
    """Open a ticket for the message of a caller in the chosen ticket queue. Return its id."""
    return int(_apps[-1].open_for_message(recording, ticket_queue_id))
