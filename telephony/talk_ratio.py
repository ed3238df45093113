"""The shares of a call in which the agent talked, the customer talked, or both were silent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

USER, CUSTOMER, UNKNOWN = "USER", "CUSTOMER", "UNKNOWN"
Span = tuple[float, float]


def ratio(parts: Sequence[Mapping[str, Any]], seconds: float) -> dict[str, float] | None:
    """Return percentages of the call's length that sum to 100; None if a speaker or the length is unknown.

    Time in which both talk counts half for each.
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
    """Return spans that cover the same time without overlaps."""
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > begin:
            merged.append((begin, end))
    return merged


def _seconds(spans: Iterable[Span]) -> float:
    return sum(end - begin for begin, end in spans)
