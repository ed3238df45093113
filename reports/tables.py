"""Tables of the report: the rows of a question in chosen columns, a page or all of them in portions."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import pairwise

from reports import report
from reports.measures import IN_TIME, SERVICE_LEVEL, Measure, ReportRow
from reports.periods import DAY, Aggregation, Span
from reports.report import Question
from telephony.models import Agent

# The days of an hour of the day that are listed: more than links can name (reports.admin.links.MOST_STRETCHES).
MOST_DAYS = 200
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


def stretches_of(asked: Question, periods: set[str]) -> dict[str, list[Span]]:
    """Return the stretches of the span that each of these periods is, by its label.

    A period is one stretch; a minute that comes twice is two, an hour of the day one a day. Of an hour of the day only
    the first days are returned: no address names more.
    """
    found: dict[str, list[tuple[datetime, datetime]]] = defaultdict(list)
    until = asked.end
    if asked.aggregation is Aggregation.HOUR_OF_DAY:
        until = min(until, asked.begin + MOST_DAYS * DAY)
    for start, end in pairwise(asked.aggregation.borders(asked.begin, until)):
        if (label := asked.aggregation.label(asked.aggregation.key(start))) in periods:
            found[label].append((max(start, asked.begin), min(end, asked.end)))
    return found


def agents_of(ids: Sequence[int], group_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    """Return the agents with these ids and of these groups, by login; all agents where neither is given."""
    agents = Agent.objects.order_by("login")
    if ids or group_ids:
        agents = agents.filter(pk__in=ids) | agents.filter(group__in=group_ids)
    rows = agents.values_list("pk", "login", "name", "surname")
    return {pk: {"login": login, "name": name, "surname": surname} for pk, login, name, surname in rows}
