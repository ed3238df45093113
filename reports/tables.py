"""Tables of the report: the rows of a question in chosen columns, a page or all of them in portions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from reports import report
from reports.figures import Row
from reports.measures import Measure
from reports.periods import Aggregation
from reports.report import Question

# The rows that are in memory at one time.
PORTION = 2_000


@dataclass(frozen=True)
class Table:
    """A question, and the columns in which its rows are shown."""

    question: Question
    columns: Sequence[Measure]

    def all(self) -> Iterator[tuple[list[Row], float]]:
        """Yield all rows in portions, and with each portion the share of the whole that is done with it.

        The share grows, and is 1 with the last portion. Rows come by agents and periods, so the last row of a portion
        tells how far it is. How many rows are to come is not known before all of them are read.
        """
        asked, agents = self.question, [*self.question.agents.items()]
        together = max(PORTION // asked.aggregation.periods_in(asked.begin, asked.end), 1)
        for start in range(0, len(agents), together):
            part = dict(agents[start : start + together])
            offset = 0
            while len(rows := report.page(replace(asked, agents=part), PORTION, offset)) == PORTION:
                offset += PORTION
                passed = [*part].index(rows[-1].agent_id) + self._share_until[rows[-1].period]
                yield rows, (start + passed) / len(agents)
            yield rows, (start + len(part)) / len(agents)

    @cached_property
    def _share_until(self) -> dict[str, float]:
        """The share of the span that is over with each period, by the label of the period."""
        asked = self.question
        labels = [f"{hour:02}" for hour in range(24)]
        if asked.aggregation is not Aggregation.HOUR_OF_DAY:
            labels = [asked.aggregation.label(border) for border in asked.aggregation.borders(asked.begin, asked.end)]
        return {label: (place + 1) / len(labels) for place, label in enumerate(labels)}
