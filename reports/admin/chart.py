"""The chart of the report: calls, talk time and occupancy of all agents together, by period."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from reports import report
from reports.description import Report
from reports.figures import percent
from reports.report import Question

# A chart of more rows or periods than this would say nothing, and take long.
MOST_ROWS, MOST_PERIODS = 10_000, 800


@dataclass(slots=True)
class _Sum:
    calls: int = 0
    talk_seconds: int = 0
    wrap_up_seconds: int = 0
    free_seconds: int = 0

    @property
    def occupancy(self) -> float | None:
        handle = self.talk_seconds + self.wrap_up_seconds
        return percent(handle, handle + self.free_seconds)


def chart_of(described: Report, asked: Question) -> dict[str, Any]:
    """Return the data of the chart, or under `reason` why none is drawn."""
    if asked.aggregation.periods_in(asked.begin, asked.end) > MOST_PERIODS:
        return {"reason": _("No chart of more than %s periods: choose longer ones.") % MOST_PERIODS}
    return _of_agents(asked) if described.chart is None else _of_subjects(described, asked)


def _of_subjects(described: Report, asked: Question) -> dict[str, Any]:
    assert described.by_period
    assert described.chart
    rows = described.by_period(asked, MOST_PERIODS)
    columns = {column.name: column for column in described.measures}
    chart = described.chart
    drawn = {"calls": columns[chart.bars], "talk": columns[chart.line], "occupancy": columns[chart.share]}
    return {"labels": [row.period for row in rows]} | {
        name: {"label": column.title, "data": [column.value(row) for row in rows]} for name, column in drawn.items()
    }


def _of_agents(asked: Question) -> dict[str, Any]:
    rows = report.page(asked, MOST_ROWS + 1, 0)
    if len(rows) > MOST_ROWS:
        return {"reason": _("No chart of more than %s rows: choose longer periods, or fewer agents.") % MOST_ROWS}
    sums: dict[str, _Sum] = defaultdict(_Sum)
    for row in rows:
        found = sums[row.period]
        found.calls += row.offered + row.calls
        found.talk_seconds += row.talk_in_and_out
        found.wrap_up_seconds += row.wrap_up_seconds
        found.free_seconds += row.free_seconds
    labels = sorted(sums)
    return {
        "labels": labels,
        "calls": {"label": _("Calls, in and out"), "data": [sums[label].calls for label in labels]},
        "talk": {
            "label": _("Talk time in hours"),
            "data": [round(sums[label].talk_seconds / 3600, 2) for label in labels],
        },
        "occupancy": {
            "label": _("Occupancy in per cent"),
            # A wrap-up belongs to no queue.
            "data": [None if asked.queues is not None else sums[label].occupancy for label in labels],
        },
    }
