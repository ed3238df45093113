"""How much of a call its agent talked, listened, and was silent with the customer."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

USER, CUSTOMER, UNKNOWN = "USER", "CUSTOMER", "UNKNOWN"
Span = tuple[float, float]


def ratio(parts: Sequence[Mapping[str, Any]], seconds: float) -> dict[str, float] | None:
    """Per cent of the call's length, which sum to 100; None where nobody knows who said what, or how long it was.

    What both say at once is half talking and half listening.
    """
    length = max([seconds, *(part["end"] for part in parts)])
    if length <= 0 or any(part["speaker"] not in (USER, CUSTOMER) for part in parts):
        return None
    users = _merged((part["begin"], part["end"]) for part in parts if part["speaker"] == USER)
    customers = _merged((part["begin"], part["end"]) for part in parts if part["speaker"] == CUSTOMER)
    both = _seconds(users) + _seconds(customers) - _seconds(_merged([*users, *customers]))
    talk = round(100 * (_seconds(users) - both / 2) / length, 2)
    listen = min(round(100 * (_seconds(customers) - both / 2) / length, 2), round(100 - talk, 2))
    return {"talk": talk, "listen": listen, "silence": abs(round(100 - talk - listen, 2))}


def _merged(spans: Iterable[Span]) -> list[Span]:
    """The same time without overlaps."""
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > begin:
            merged.append((begin, end))
    return merged


def _seconds(spans: Iterable[Span]) -> float:
    return sum(end - begin for begin, end in spans)
