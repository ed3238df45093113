"""Who is calling? Telephony knows customers as a plain id: the app that has them registers how to look them up."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Customer:
    """`label` is what an agent sees of the customer: a name."""

    id: int
    label: str


# Numbers in their normal form -> the customer of each that has one; of several the oldest. So many numbers, one query.
CustomerLookup = Callable[[Collection[str]], Mapping[str, Customer]]

# SQL of the same: the id of one number's customer, or NULL. `{}` stands for a column with the number.
CustomerQuery = str

# Ids of customers -> each of them that there is, and the address of its page in the back office. One query.
CustomerPages = Callable[[Collection[int]], Mapping[int, tuple[Customer, str]]]

# A caller's number, as it was sent and in its normal form -> the customer, perhaps a new one. Called in a transaction.
CustomerOfCaller = Callable[[str, str], Customer | None]

_lookups: list[CustomerLookup] = []
_callers: list[CustomerOfCaller] = []
_queries: list[CustomerQuery] = []
_pages: list[CustomerPages] = []


def register_customer_lookup(lookup: CustomerLookup) -> None:
    """Called by AppConfig.ready() of the app that has customers; the last one registered counts."""
    _lookups[:] = [lookup]


def customers_of(numbers: Collection[str]) -> Mapping[str, Customer]:
    """Number -> customer; empty where nobody has registered."""
    return _lookups[0](numbers) if _lookups and numbers else {}


def register_customer_of_caller(find: CustomerOfCaller) -> None:
    """Register who finds the customer of a caller, and creates one; the last one registered counts."""
    _callers[:] = [find]


def customer_of_caller(caller: str, number: str) -> Customer | None:
    """Return the customer of a caller; a new one where customers of unknown callers are created."""
    known = customers_of([number]).get(number)
    return _callers[0](caller, number) if known is None and _callers else known


def register_customer_query(query: CustomerQuery) -> None:
    """Called likewise."""
    _queries[:] = [query]


def customer_of(column: str) -> str:
    """SQL: the id of the customer whose number is in this column, for a statement that writes it down."""
    return f"({_queries[0].format(column)})" if _queries else "NULL::bigint"


def register_customer_pages(pages: CustomerPages) -> None:
    """Called likewise."""
    _pages[:] = [pages]


def pages_of_customers(ids: Collection[int]) -> Mapping[int, tuple[Customer, str]]:
    """Without those whom nobody knows."""
    return _pages[0](ids) if _pages and ids else {}
