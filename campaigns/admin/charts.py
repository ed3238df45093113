"""Charts of counts as drawings of the page, without a script."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from campaigns.dialling.day_counts import CallCounts

WIDTH, HEIGHT = 600, 120
# Columns that a chart has at least.
FEWEST = 7
# Kind of bar -> its label, from the bottom of a column to its top.
KINDS: dict[str, Any] = {"answered": _("answered"), "dropped": _("dropped"), "others": _("not answered")}


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a column: `kind` is the part, the rest are attributes of the drawing."""

    kind: str
    x: str
    y: str
    width: str
    height: str
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Columns of calls. `most` is the height of the highest, in calls."""

    bars: list[Bar]
    first: str
    last: str
    most: int
    rows: list[CallCounts]


def chart_of(columns: Sequence[CallCounts]) -> Chart:
    """Draw the columns from the first one with calls on: a chart of a new campaign is not empty but for its end."""
    first = next((place for place, column in enumerate(columns) if column.placed), len(columns))
    columns = columns[min(first, max(len(columns) - FEWEST, 0)) :]
    most = max((column.placed for column in columns), default=0)
    step = WIDTH / max(len(columns), 1)
    bars = []
    for place, column in enumerate(columns):
        top = 0.0
        others = column.placed - column.answered - column.dropped
        for kind, count in zip(KINDS, (column.answered, column.dropped, others), strict=True):
            if count <= 0:
                continue
            height = HEIGHT * count / max(most, 1)
            top += height
            title = f"{column.label}: {count} {KINDS[kind]}"
            x, y = f"{place * step + 1:.1f}", f"{HEIGHT - top:.1f}"
            bars.append(Bar(kind, x, y, f"{step - 2:.1f}", f"{height:.1f}", title))
    return Chart(bars, columns[0].label, columns[-1].label, most, [row for row in columns if row.placed])
