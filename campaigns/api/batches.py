"""Requests with many items."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from callcentre.api.exceptions import renamed
from callcentre.api.fields import Input
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.parsing import Reject

MOST_ITEMS = 10_000


def items_of(
    body: Any, name: str, faults: list[Fault], check: Callable[[dict[str, Any]], object] = lambda item: None
) -> list[dict[str, Any]]:
    """Return the items of a batch.

    Raises Invalid, with the given faults and its own, if the body is no array of objects or `check` rejects one.
    """
    if not isinstance(body, Mapping):
        raise Invalid([*faults, Fault(ErrorCode.BODY_NOT_OBJECT)])
    items = body.get(name)
    if items in (None, "", []):
        raise Invalid([*faults, Fault(ErrorCode.EMPTY, name)])
    if not isinstance(items, list):
        raise Invalid([*faults, Fault(ErrorCode.NOT_LIST, name)])
    if len(items) > MOST_ITEMS:
        raise Invalid([*faults, Fault(ErrorCode.TOO_MANY, name, {"limit": MOST_ITEMS})])
    for place, item in enumerate(items):
        try:
            if not isinstance(item, dict):
                raise Reject(ErrorCode.NOT_OBJECT)
            check(item)
        except Reject as reject:
            faults = [*faults, reject.fault.under(f"{name}.{place}")]
    if faults:
        raise Invalid(faults)
    return items


def messages_of(faults: Iterable[Fault], reader: type[Input]) -> list[str]:
    """Return the messages of the faults, with the names that the reader has on the wire."""
    names = reader.wire_names()
    return [renamed(fault, names).message for fault in faults]
