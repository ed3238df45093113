"""Rows of the report as JSON."""

from collections import defaultdict
from typing import Any

from reports.description import Report
from reports.figures import Row, mean
from reports.measures import MEASURES, Measure, clock

# The measures of the API by the object that they are in; those without one are fields of the row.
GROUPS: dict[str, list[tuple[str, Measure]]] = defaultdict(list)
for _measure in MEASURES:
    if _measure.in_api:
        _group, _, _name = _measure.name.rpartition(".")
        GROUPS[_group].append((_name, _measure))
OF_ROW = GROUPS.pop("")
_GROUPS = [(group, [(name, measure.wire) for name, measure in measures]) for group, measures in GROUPS.items()]
_OF_ROW = [(name, measure.wire) for name, measure in OF_ROW]


def row_data(row: Row) -> dict[str, Any]:
    return {
        "agent": row.agent,
        "period": row.period,
        **{group: {name: wire(row) for name, wire in wires} for group, wires in _GROUPS},
        **{name: wire(row) for name, wire in _OF_ROW},
        "pauses": [
            _pauses("all", row.pause_count, row.pause_seconds),
            {"id": "free", "count": row.free_count, "sum": clock(row.free_seconds)},
            *(_pauses(pause_id, *of_pause) for pause_id, of_pause in row.pauses.items()),
        ],
    }


def _pauses(pause_id: int | str, count: int, seconds: int) -> dict[str, Any]:
    return {"id": pause_id, "count": count, "sum": clock(seconds), "average": clock(mean(seconds, count))}


def grouped_data(report: Report, row: Any) -> dict[str, Any]:
    """Return a row of a report by queue or campaign: one field for each measure of the API."""
    return {measure.name: measure.wire(row) for measure in published(report)}


def published(report: Report) -> list[Measure]:
    """Return the measures that the API has."""
    return [measure for measure in (*report.fixed, *report.measures) if measure.in_api]
