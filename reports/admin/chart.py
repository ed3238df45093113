"""The chart of the report: calls, talk time and occupancy of all agents together, by period."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from reports import report
from reports.description import Report
from reports.figures import Row, total_of
from reports.measures import Measure
from reports.report import Question

# A chart of more rows or periods than this would say nothing, and take long.
MOST_ROWS, MOST_PERIODS = 10_000, 800


def chart_of(described: Report, asked: Question, columns: Sequence[Measure] = ()) -> dict[str, Any]:
    """Return the data of the chart, and the total of agents in these columns; or under `reason` why there are none."""
    if asked.aggregation.periods_in(asked.begin, asked.end) > MOST_PERIODS:
        return {"reason": _("No chart of more than %s periods: choose longer ones.") % MOST_PERIODS}
    return _of_agents(asked, columns) if described.chart is None else _of_subjects(described, asked)


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


def _of_agents(asked: Question, columns: Sequence[Measure]) -> dict[str, Any]:
    rows = report.page(asked, MOST_ROWS + 1, 0)
    if len(rows) > MOST_ROWS:
        return {"reason": _("No chart of more than %s rows: choose longer periods, or fewer agents.") % MOST_ROWS}
    by_period: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_period[row.period].append(row)
    labels = sorted(by_period)
    sums = {label: total_of(by_period[label]) for label in labels}
    total = total_of([*sums.values()]) if sums else None
    return {
        "total": [column.shown(total) for column in columns] if total else [],
        "labels": labels,
        "calls": {
            "label": _("Calls, in and out"),
            "data": [sums[label].offered + sums[label].calls for label in labels],
        },
        "talk": {
            "label": _("Talk time in hours"),
            "data": [round(sums[label].talk_in_and_out / 3600, 2) for label in labels],
        },
        "occupancy": {
            "label": _("Occupancy in per cent"),
            # A wrap-up belongs to no queue.
            "data": [sums[label].occupancy for label in labels],
        },
    }
