"""A page of the report: of rows that are kept ready by one statement, else composed."""

from datetime import UTC, datetime
from typing import Any

from reports import builder, stored
from reports.api.serializers import ready_data, row_data
from reports.reading import Wanted


def page(wanted: Wanted, limit: int, offset: int) -> list[dict[str, Any]]:
    """So many rows, from there on. Raises Invalid where an agent is unknown, or a group."""
    if (rows := _ready(wanted, limit, offset)) is not None:
        return rows
    question, agents = wanted.question()
    found = builder.composed(question, limit, offset)
    return [row_data(agents[pk], period, row, wanted.threshold) for pk, period, row in found]


def _ready(wanted: Wanted, limit: int, offset: int) -> list[dict[str, Any]] | None:
    span = wanted.begin, wanted.end
    if (level := builder.ready_level(wanted.aggregation, span, wanted.queues)) is None:
        return None
    found = stored.ready_by_name(
        level, span, wanted.logins, wanted.groups, wanted.threshold, limit=limit, offset=offset
    )
    if found is None:
        return None
    labels = {
        start: wanted.aggregation.label(datetime.fromtimestamp(start, UTC)) for start in {row[2] for row in found}
    }
    return [ready_data(labels[row[2]], row[3:]) for row in found]
