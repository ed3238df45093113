"""All rows of a report, in portions that are in memory one at a time."""

from collections.abc import Iterator
from dataclasses import replace

from reports import report
from reports.figures import Row
from reports.periods import Aggregation
from reports.report import Question

# The most rows of a portion.
PORTION = 2_000


def portions(asked: Question) -> Iterator[tuple[list[Row], float]]:
    """Yield all rows in portions, and with each portion the share of the whole that is done with it.

    The share grows, and is 1 with the last portion. Rows come by agents and periods, so the last row of a portion
    tells how far it is. How many rows are to come is not known before all of them are read.
    """
    agents = [*asked.agents.items()]
    together = max(PORTION // asked.aggregation.periods_in(asked.begin, asked.end), 1)
    share_until = _share_until(asked)
    for start in range(0, len(agents), together):
        part = dict(agents[start : start + together])
        offset = 0
        while len(rows := report.page(replace(asked, agents=part), PORTION, offset)) == PORTION:
            offset += PORTION
            passed = [*part].index(rows[-1].agent_id) + share_until[rows[-1].period]
            yield rows, (start + passed) / len(agents)
        yield rows, (start + len(part)) / len(agents)


def _share_until(asked: Question) -> dict[str, float]:
    """Return the share of the span that is over with each period, by the label of the period."""
    labels = [f"{hour:02}" for hour in range(24)]
    if asked.aggregation is not Aggregation.HOUR_OF_DAY:
        labels = [asked.aggregation.label(border) for border in asked.aggregation.borders(asked.begin, asked.end)]
    return {label: (place + 1) / len(labels) for place, label in enumerate(labels)}
