"""The address of the rows that a figure of a report counts: reports write it, filters of lists read it."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

# Spans in whole seconds, without their end.
Spans = Sequence[tuple[datetime, datetime]]

PARAMETER = "counted"
_VALUE = re.compile(
    r"\A(?P<way>[a-z_]+)(?P<arguments>(:[0-9]{1,18})*)@(?P<spans>[0-9]{1,10}-[0-9]{1,10}(,[0-9]{1,10}-[0-9]{1,10})*)"
)


def value_of(way: str, spans: Spans) -> str:
    """Build the value of the parameter for rows counted one way (`name`, `name:1`, `name:1:2`, …) in these spans."""
    return f"{way}@" + ",".join(f"{a.timestamp():.0f}-{b.timestamp():.0f}" for a, b in spans)


def read(value: str) -> tuple[str, list[int], Spans] | None:
    """Return the way, at least one argument, and the spans; None if the value names none."""
    if (found := _VALUE.fullmatch(value)) is None:
        return None
    spans = []
    for span in found["spans"].split(","):
        start, end = (datetime.fromtimestamp(int(bound), UTC) for bound in span.split("-"))
        spans.append((start, end))
    return found["way"], [int(argument) for argument in found["arguments"].split(":")[1:]] or [0], spans
