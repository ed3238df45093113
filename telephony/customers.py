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

_lookups: list[CustomerLookup] = []


def register_customer_lookup(lookup: CustomerLookup) -> None:
    """Called by AppConfig.ready() of the app that has customers; the last one registered counts."""
    _lookups[:] = [lookup]


def customers_of(numbers: Collection[str]) -> Mapping[str, Customer]:
    """Number -> customer; empty where nobody has registered."""
    return _lookups[0](numbers) if _lookups and numbers else {}
