"""A page of the report as JSON."""

from typing import Any

from reports import report
from reports.api.serializers import row_data
from reports.measures import ReportRow
from reports.parameters import Wanted


def page(wanted: Wanted, limit: int, offset: int) -> list[dict[str, Any]]:
    """Return so many rows, from there on. Raises Invalid if an agent or a group is unknown."""
    question, agents = wanted.question()
    rows = report.page(question, limit, offset)
    return [row_data(ReportRow(pk, agents[pk], period, sums)) for pk, period, sums in rows]
