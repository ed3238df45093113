"""The people in calls, as another app knows them: customers, and tickets of their messages. It registers a module.

Telephony stores only ids.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from callcentre.core.scope import Scoped
from telephony.numbers import comparable


@dataclass(frozen=True, slots=True)
class Customer:
    """A customer. `label` is the name that agents see."""

    id: int
    label: str


class Known(Protocol):
    """The look-ups of the app of customers and tickets, each of one query."""

    # SQL for the id of a number's customer, or NULL. `{}` stands for a column with the number.
    CUSTOMER_OF: str

    def customers_of(self, numbers: Collection[str], /) -> Mapping[str, Customer]:
        """Return the customers of numbers in their normal form, of several the oldest."""

    def customer_of_caller(self, caller: str, number: str, /) -> Customer | None:
        """Return the customer of a number, as it was sent and in its normal form, perhaps a new one."""

    def pages_of_customers(self, ids: Collection[int], /) -> Mapping[int, tuple[Customer, str]]:
        """Return the customers that exist, each with the address of its admin page."""

    def ticket_queues(self, user: Scoped, /) -> list[tuple[int, str]]:
        """Return the ticket queues that a person may choose, by id."""

    def open_for_message(self, message: "CallersMessage", ticket_queue_id: int, /) -> int:
        """Open a ticket for a message in the chosen ticket queue, and return its id."""


_apps: list[Known] = []
register = _apps.append


def customers_of(numbers: Collection[str]) -> Mapping[str, Customer]:
    """Return the customers by their numbers."""
    return _apps[-1].customers_of(numbers) if numbers else {}


def customer_of_caller(caller: str, number: str) -> Customer | None:
    """Return the customer of a caller, perhaps a new one."""
    return customers_of([number]).get(number) or _apps[-1].customer_of_caller(caller, number)


def customer_of(column: str) -> str:
    """Return SQL for the id of the customer whose number is in this column."""
    return f"({_apps[-1].CUSTOMER_OF.format(column)})"


def name_beside(number: str, label: str) -> str:
    """Return the name of a customer for a place beside the number; "" for one who is named by the number."""
    return "" if comparable(label) == comparable(number) else label


def pages_of_customers(ids: Collection[int]) -> Mapping[int, tuple[Customer, str]]:
    """Return the known customers by their ids, each with the address of its admin page."""
    return _apps[-1].pages_of_customers(ids) if ids else {}


@dataclass(frozen=True, slots=True)
class CallersMessage:
    """A message of a caller: who left it, when, for which queue, and the page that has the recording.

    `seconds` is 0 if the recording could not be fetched.
    """

    number: str
    customer_id: int | None
    queue: str
    at: datetime
    seconds: int
    path: str


def ticket_queues(user: Scoped) -> list[tuple[int, str]]:
    return _apps[-1].ticket_queues(user)


def open_ticket(message: CallersMessage, ticket_queue_id: int) -> int:
    return _apps[-1].open_for_message(message, ticket_queue_id)
