"""Rows of the reports as JSON, and their documents."""

from collections import defaultdict
from typing import Any

from callcentre.api.openapi import array, count, integer, number, shape, text
from callcentre.core.exporting.formats import Unit
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


DURATION, MOMENT = r"^\d{2,}:\d{2}:\d{2}$", r"^(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})?$"


def duration(description: str, example: str) -> dict[str, Any]:
    return text(f"{description} `hh:mm:ss`; hours grow past 99.", example, pattern=DURATION)


def field(measure: Measure) -> dict[str, Any]:
    """Return the schema of a measure."""
    match measure.unit:
        case Unit.COUNT:
            return count(measure.sentence, measure.example)
        case Unit.NUMBER:
            return number(measure.sentence, measure.example, minimum=0)
        case Unit.DURATION:
            return duration(measure.sentence, clock(measure.example))
    return text(measure.sentence, measure.example, pattern=MOMENT)


_RESULT = shape(
    "ResultsOfStatus",
    "How many results have a status of the campaign.",
    status_id=integer("The status.", 31),
    name=text("Its name; an empty string if the status is gone.", "Sold"),
    count=count("How many calls have this result.", 12),
)


def field_of(measure: Measure) -> dict[str, Any]:
    """Return the schema of a measure of a report by queue or campaign."""
    nullable = {"nullable": True} if measure.may_be_none else {}
    match measure.unit:
        case Unit.COUNTS:
            return array(_RESULT, measure.sentence)
        case Unit.PERCENT:
            return number(measure.sentence, measure.example, minimum=0, maximum=100, **nullable)
        case Unit.TEXT:
            return text(measure.sentence, measure.example)
    return integer(measure.sentence, measure.example, minimum=0, **nullable)


def group(name: str, schema: str, description: str) -> dict[str, Any]:
    fields: Any = {key: field(measure) for key, measure in GROUPS[name]}
    return shape(schema, description, **fields)


_FIELDS: Any = {key: field(measure) for key, measure in OF_ROW}
_ABOVE = "Outbound calls of the agent whose talk took longer than `outbound_threshold`."
_BELOW = "Outbound calls of the agent whose talk took at most `outbound_threshold`."
ROW = shape(
    "AgentsWorkReportRow",
    "What an agent did in a period.",
    agent=shape(
        "AgentOfReport",
        "The agent.",
        login=text("Login.", "agent1"),
        name=text("Name.", "Anna"),
        surname=text("Surname.", "Nowak"),
    ),
    period=text(
        "The period: `hh` of an hour of the day, `YYYY-MM-DD hh:mm`, `YYYY-MM-DD hh`, `YYYY-MM-DD`, `YYYY-Www` (ISO"
        " week), `YYYY-MM` or `YYYY`.",
        "2026-11",
    ),
    inbound=group("inbound", "InboundOfReport", "Inbound calls: each time one was offered to the agent."),
    chat=group("chat", "ChatOfReport", "Chats."),
    ticket=group("ticket", "TicketOfReport", "Tickets."),
    outbound_above_threshold=group("outbound_above_threshold", "CallsAbove", _ABOVE),
    outbound_below_threshold=group("outbound_below_threshold", "CallsBelow", _BELOW),
    **_FIELDS,
    pauses=array(
        shape(
            "PauseOfReport",
            "Pauses of one reason; of all reasons (`all`); or ready time (`free`), without an average.",
            optional=("average",),
            id={
                "oneOf": [{"type": "string", "enum": ["all", "free"]}, {"type": "integer"}],
                "description": "`all`, `free` or the id of a pause.",
                "example": "all",
            },
            count=count("How many began in the period.", 3),
            sum=duration("Their time in the period.", "00:45:00"),
            average=duration("Sum ÷ count.", "00:15:00"),
        ),
        "`all`, `free`, then each reason of which a pause touches the period.",
    ),
)
