"""The people in calls, as another app knows them: customers, and tickets of their messages. It registers its functions.

Telephony stores only ids.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from callcentre.core.scope import Scoped
from telephony.numbers import comparable


@dataclass(frozen=True, slots=True)
class Customer:
    """A customer. `label` is the name that agents see."""

    id: int
    label: str


# Numbers in their normal form -> their customers, of several the oldest, in one query.
CustomerLookup = Callable[[Collection[str]], Mapping[str, Customer]]

# SQL for the id of a number's customer, or NULL. `{}` stands for a column with the number.
CustomerQuery = str

# Ids of customers -> the customers that exist, and the addresses of their admin pages, in one query.
CustomerPages = Callable[[Collection[int]], Mapping[int, tuple[Customer, str]]]

# A caller's number, as it was sent and in its normal form -> the customer, perhaps a new one. Called in a transaction.
CustomerOfCaller = Callable[[str, str], Customer | None]

# The app that has customers appends its own when it is ready. Until then no customer is known.
_lookups: list[CustomerLookup] = [lambda numbers: {}]
_callers: list[CustomerOfCaller] = [lambda caller, number: None]
_queries: list[CustomerQuery] = ["SELECT NULL::bigint"]
_pages: list[CustomerPages] = [lambda ids: {}]
register_customer_lookup, register_customer_of_caller = _lookups.append, _callers.append
register_customer_query, register_customer_pages = _queries.append, _pages.append


def customers_of(numbers: Collection[str]) -> Mapping[str, Customer]:
    """Return the customers by their numbers."""
    return _lookups[-1](numbers) if numbers else {}


def customer_of_caller(caller: str, number: str) -> Customer | None:
    """Return the customer of a caller, perhaps a new one."""
    return customers_of([number]).get(number) or _callers[-1](caller, number)


def customer_of(column: str) -> str:
    """Return SQL for the id of the customer whose number is in this column."""
    return f"({_queries[-1].format(column)})"


def name_beside(number: str, label: str) -> str:
    """Return the name of a customer for a place beside the number; "" for one who is named by the number."""
    return "" if comparable(label) == comparable(number) else label


def pages_of_customers(ids: Collection[int]) -> Mapping[int, tuple[Customer, str]]:
    """Return the known customers by their ids, each with the address of its admin page."""
    return _pages[-1](ids) if ids else {}


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


# The ticket queues that a person may choose, by id.
Choices = Callable[[Scoped], list[tuple[int, str]]]
# A message and the chosen ticket queue -> the new ticket. Called in a transaction.
Opener = Callable[[CallersMessage, int], int]

_choices: list[Choices] = [lambda user: []]
_openers: list[Opener] = []
register_choices, register_opener = _choices.append, _openers.append


def ticket_queues(user: Scoped) -> list[tuple[int, str]]:
    return _choices[-1](user)


def open_ticket(message: CallersMessage, ticket_queue_id: int) -> int | None:
    """Open a ticket and return its id; None if no app has tickets."""
    return _openers[-1](message, ticket_queue_id) if _openers else None
