"""All rows of a report, in portions that are in memory one at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from reports.description import Report
from reports.periods import Aggregation
from reports.report import Question

# The most rows of a portion.
PORTION = 2_000


def portions(described: Report, asked: Question) -> Iterator[tuple[Sequence[Any], float]]:
    """Yield all rows in portions, and with each portion the share of the whole that is done with it.

    The share grows, and is 1 with the last portion. Rows come by agents or queues and by periods, so the last row of a
    portion tells how far it is. How many rows are to come is not known before all of them are read.
    """
    agents = [*asked.subjects.items()]
    together = max(PORTION // asked.aggregation.periods_in(asked.begin, asked.end), 1)
    share_until = _share_until(asked)
    for start in range(0, len(agents), together):
        part = dict(agents[start : start + together])
        offset = 0
        while len(rows := described.answer(replace(asked, subjects=part), PORTION, offset).rows) == PORTION:
            offset += PORTION
            passed = [*part].index(rows[-1].subject_id) + share_until[rows[-1].period]
            yield rows, (start + passed) / len(agents)
        yield rows, (start + len(part)) / len(agents)


def _share_until(asked: Question) -> dict[str, float]:
    """Return the share of the span that is over with each period, by the label of the period."""
    labels = [f"{hour:02}" for hour in range(24)]
    if asked.aggregation is not Aggregation.HOUR_OF_DAY:
        labels = [asked.aggregation.label(border) for border in asked.aggregation.borders(asked.begin, asked.end)]
    return {label: (place + 1) / len(labels) for place, label in enumerate(labels)}
