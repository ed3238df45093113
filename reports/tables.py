"""Tables of the report: the rows of a question in chosen columns, a page or all of them in portions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from reports import report
from reports.measures import IN_TIME, SERVICE_LEVEL, Measure, ReportRow
from reports.periods import Aggregation
from reports.report import Question

# The rows that are in memory at one time.
PORTION = 2_000


@dataclass(frozen=True)
class Table:
    """A question, the columns in which its rows are shown, and the agents by the names under which they are shown."""

    question: Question
    agents: Mapping[int, Mapping[str, str]]
    columns: Sequence[Measure]
    # Seconds within which an offer was answered in time.
    within: int

    def page(self, limit: int, offset: int) -> list[ReportRow]:
        """Return so many rows, from there on."""
        return self._rows(self.question, limit, offset)

    def all(self) -> Iterator[tuple[list[ReportRow], float]]:
        """Yield all rows in portions, and with each portion the share of the whole that is done with it.

        The share grows, and is 1 with the last portion. Rows come by agents and periods, so the last row of a portion
        tells how far it is. How many rows are to come is not known before all of them are read.
        """
        asked = self.question
        together = max(PORTION // asked.aggregation.periods_in(asked.begin, asked.end), 1)
        for start in range(0, len(asked.agents), together):
            part = replace(asked, agents=asked.agents[start : start + together])
            offset = 0
            while len(rows := self._rows(part, PORTION, offset)) == PORTION:
                offset += PORTION
                passed = part.agents.index(rows[-1].agent_id) + self._share_until[rows[-1].period]
                yield rows, (start + passed) / len(asked.agents)
            yield rows, (start + len(part.agents)) / len(asked.agents)

    @cached_property
    def _share_until(self) -> dict[str, float]:
        """The share of the span that is over with each period, by the label of the period."""
        asked = self.question
        if asked.aggregation is Aggregation.HOUR_OF_DAY:
            labels = [asked.aggregation.label(hour) for hour in range(24)]
        else:
            borders = asked.aggregation.borders(asked.begin, asked.end)
            labels = [asked.aggregation.label(asked.aggregation.key(border)) for border in borders]
        return {label: (place + 1) / len(labels) for place, label in enumerate(labels)}

    def _rows(self, asked: Question, limit: int, offset: int) -> list[ReportRow]:
        if any(column.name in (IN_TIME, SERVICE_LEVEL) for column in self.columns):
            asked = replace(asked, within=self.within)
        return [
            ReportRow(agent_id, self.agents[agent_id], period, sums, asked.queues is not None)
            for agent_id, period, sums in report.page(asked, limit, offset)
        ]
