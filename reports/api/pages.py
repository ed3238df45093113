"""A page of the report: of rows that are kept ready by one statement, else composed."""

from datetime import UTC, datetime
from typing import Any

from reports import builder, stored
from reports.api.serializers import ready_data, row_data
from reports.reading import Asked


def page(asked: Asked, limit: int, offset: int) -> list[dict[str, Any]]:
    """So many rows, from there on. Raises Invalid where an agent is unknown, or a group."""
    if (rows := _ready(asked, limit, offset)) is not None:
        return rows
    question, agents = asked.question()
    found = builder.composed(question, limit, offset)
    return [row_data(agents[pk], period, row, asked.threshold) for pk, period, row in found]


def _ready(asked: Asked, limit: int, offset: int) -> list[dict[str, Any]] | None:
    span = asked.begin, asked.end
    if (level := builder.ready_level(asked.aggregation, span, asked.queues)) is None:
        return None
    found = stored.ready_by_name(level, span, asked.logins, asked.groups, asked.threshold, limit=limit, offset=offset)
    if found is None:
        return None
    labels = {start: asked.aggregation.label(datetime.fromtimestamp(start, UTC)) for start in {row[2] for row in found}}
    return [ready_data(labels[row[2]], row) for row in found]
