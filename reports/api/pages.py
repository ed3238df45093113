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
    return [row_data(agents[pk], period, row, question.threshold) for pk, period, row in found]


def _ready(wanted: Wanted, limit: int, offset: int) -> list[dict[str, Any]] | None:
    asked = wanted.asked
    if (level := builder.ready_level(asked)) is None:
        return None
    span = asked.begin, asked.end
    found = stored.ready_by_name(level, span, wanted.logins, wanted.groups, asked.threshold, limit=limit, offset=offset)
    if found is None:
        return None
    labels = {start: asked.aggregation.label(datetime.fromtimestamp(start, UTC)) for start in {row[2] for row in found}}
    return [ready_data(labels[row[2]], row[3:]) for row in found]
