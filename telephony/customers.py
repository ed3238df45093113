"""Look-ups of customers. Telephony stores only their ids; the app that has customers registers the look-ups."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

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

_lookups: list[CustomerLookup] = []
_callers: list[CustomerOfCaller] = []
_queries: list[CustomerQuery] = []
_pages: list[CustomerPages] = []


def register_customer_lookup(lookup: CustomerLookup) -> None:
    """Register the look-up by numbers, from AppConfig.ready() of the app that has customers. The last one counts."""
    _lookups[:] = [lookup]


def customers_of(numbers: Collection[str]) -> Mapping[str, Customer]:
    """Return the customers by their numbers; none if no look-up is registered."""
    return _lookups[0](numbers) if _lookups and numbers else {}


def register_customer_of_caller(find: CustomerOfCaller) -> None:
    """Register the function that finds or creates the customer of a caller."""
    _callers[:] = [find]


def customer_of_caller(caller: str, number: str) -> Customer | None:
    """Return the customer of a caller, perhaps a new one."""
    known = customers_of([number]).get(number)
    return _callers[0](caller, number) if known is None and _callers else known


def register_customer_query(query: CustomerQuery) -> None:
    _queries[:] = [query]


def customer_of(column: str) -> str:
    """Return SQL for the id of the customer whose number is in this column."""
    return f"({_queries[0].format(column)})" if _queries else "NULL::bigint"


def name_beside(number: str, label: str) -> str:
    """Return the name of a customer for a place beside the number; "" for one who is named by the number."""
    return "" if comparable(label) == comparable(number) else label


def register_customer_pages(pages: CustomerPages) -> None:
    _pages[:] = [pages]


def pages_of_customers(ids: Collection[int]) -> Mapping[int, tuple[Customer, str]]:
    """Return the known customers by their ids, each with the address of its admin page."""
    return _pages[0](ids) if _pages and ids else {}
