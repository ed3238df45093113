from collections import defaultdict
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.openapi import INSTANT, Operation, Parameter, array, count, integer, number, operation, shape, text
from callcentre.api.pagination import limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core import replica
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.exporting.formats import Unit
from reports import report
from reports.catalogue import OUTBOUNDS, QUEUES, TICKETS
from reports.description import Report
from reports.figures import Row, mean
from reports.measures import MEASURES, Measure, clock
from reports.models.export import MOST_SECONDS
from reports.parameters import USUAL_WITHIN, read, read_grouped
from reports.periods import Aggregation

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
    return [measure for measure in (*report.fixed, *report.measures) if measure.in_api]


DURATION, MOMENT = r"^\d{2,}:\d{2}:\d{2}$", r"^(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})?$"


def duration(description: str, example: str) -> dict[str, Any]:
    return text(f"{description} `hh:mm:ss`; hours grow past 99.", example, pattern=DURATION)


_RESULT = shape(
    "ResultsOfStatus",
    "How many results have a status of the campaign.",
    status_id=integer("The status.", 31),
    name=text("Its name; an empty string if the status is gone.", "Sold"),
    count=count("How many calls have this result.", 12),
)


def field(measure: Measure) -> dict[str, Any]:
    """Return the schema of a measure."""
    nullable = {"nullable": True} if measure.may_be_none else {}
    match measure.unit:
        case Unit.COUNTS:
            return array(_RESULT, measure.sentence)
        case Unit.PERCENT:
            return number(measure.sentence, measure.example, minimum=0, maximum=100, **nullable)
        case Unit.NUMBER:
            return number(measure.sentence, measure.example, minimum=0, **nullable)
        case Unit.TEXT:
            return text(measure.sentence, measure.example)
        case Unit.DURATION:
            return duration(measure.sentence, clock(measure.example))
        case Unit.MOMENT:
            return text(measure.sentence, measure.example, pattern=MOMENT)
    return count(measure.sentence, measure.example, **nullable)


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


def _list(name: str, kind: str, description: str, *errors: ErrorCode) -> Parameter:
    return Parameter(f"{name}[]", {"type": "array", "items": {"type": kind}}, description, errors)


_SPAN = (
    Parameter(
        "date_from",
        {"type": "string"},
        f"From when. {INSTANT}.",
        (ErrorCode.EMPTY, ErrorCode.NOT_INSTANT),
        is_required=True,
    ),
    Parameter(
        "date_to",
        {"type": "string"},
        f"Until when, the day, minute or second that is named included. {INSTANT}.",
        (ErrorCode.EMPTY, ErrorCode.NOT_INSTANT),
        is_required=True,
    ),
    Parameter(
        "aggregate_by",
        {"type": "string", "enum": [one.value for one in Aggregation], "default": "month"},
        "The period of a row. A span of more than 20,000 periods is refused.",
        (ErrorCode.NOT_CHOICE,),
    ),
)
_SPAN_ERRORS = {ErrorCode.REPORT_ENDS_BEFORE_START: "date_to", ErrorCode.TOO_MANY_PERIODS: "aggregate_by"}
_WITHIN = Parameter(
    "answered_within",
    {"type": "integer", "minimum": 0, "maximum": MOST_SECONDS, "default": USUAL_WITHIN},
    "Seconds of waiting within which an answered call is in time.",
    (ErrorCode.NOT_INTEGER, ErrorCode.OUT_OF_RANGE),
)
_ROWS = "One row per %s and period in which %s, by the name of the %s, then period. Durations are whole seconds. "


class AgentsWorkReportViewSet(ApiViewSet):
    """The work of agents, by periods."""

    area = "reports"

    @operation(
        "agents_work_report",
        "Report the agents' work",
        (
            "One row per agent and period in which the agent did anything, by login, then period; exact to the second"
            " of the request. Times are of the service's zone. What lasts over the border of a period is counted where"
            " it begins, and its time is where it falls: the hours of a day add up to the day. An hour that comes"
            " twice in autumn is one row of two hours."
        ),
        is_extension=False,
        query=(
            _list("agent_logins", "string", "Agents, by login; with `agent_group_ids` those as well.", ErrorCode.NUL),
            _list("agent_group_ids", "integer", "Agents, by their groups.", ErrorCode.NOT_INTEGER),
            *_SPAN,
            _list(
                "queues_ids",
                "integer",
                "Only calls, chats and tickets of these queues; logins and pauses stay whole.",
                ErrorCode.NOT_INTEGER,
            ),
            Parameter(
                "outbound_threshold",
                {"type": "integer", "minimum": 0, "default": 0},
                "Seconds of talk above which an outbound call counts as long: 0 tells those that were talked.",
                (ErrorCode.NOT_INTEGER, ErrorCode.OUT_OF_RANGE),
            ),
        ),
        is_paged=True,
        answer=array(ROW),
        errors={
            ErrorCode.AGENTS_REQUIRED: "agent_logins",
            ErrorCode.AGENTS_NOT_FOUND: "agent_logins",
            ErrorCode.AGENT_GROUPS_NOT_FOUND: "agent_group_ids",
            **_SPAN_ERRORS,
        },
    )
    def list(self, request: Request) -> Response:
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults)
        question = read(request.query_params, faults)
        # The client may have written just now.
        rows = replica.read(lambda as_of: report.page(question.at(as_of), limit, offset), is_exact=True)
        return Response([row_data(row) for row in rows])


def _grouped(report: Report, name: str, schema: str, about: tuple[str, str], *query: Parameter) -> Operation:
    """Return the operation of a report by queue or campaign: its summary and its description are `about`."""
    fields: Any = {measure.name: field(measure) for measure in published(report)}
    assert report.subjects
    return Operation(
        name,
        *about,
        query=[*query[:1], *_SPAN, *query[1:]],
        is_paged=True,
        answer=array(shape(schema, about[0] + ".", **fields)),
        errors={report.subjects.not_found: report.subjects.parameter, **_SPAN_ERRORS},
    )


class GroupedReportViewSet(ApiViewSet):
    """A report by queue or campaign, by periods."""

    area = "reports"
    report: Report

    def list(self, request: Request) -> Response:
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults)
        question = read_grouped(self.report, request.query_params, faults)
        answer = replica.read(lambda as_of: self.report.answer(question.at(as_of), limit, offset), is_exact=True)
        return Response([grouped_data(self.report, row) for row in answer.rows])


class QueuesReportViewSet(GroupedReportViewSet):
    """The inbound calls of queues, by periods."""

    report = QUEUES
    operation = _grouped(
        report,
        "queues_report",
        "QueuesReportRow",
        (
            "Report the calls of queues",
            _ROWS % ("call queue", "calls came", "queue")
            + "A call belongs to the period in which it came, as a whole, and to the queue that it was in last.",
        ),
        _list("queues_ids", "integer", "Queues, by id; all without it.", ErrorCode.NOT_INTEGER),
        _WITHIN,
    )


class OutboundsReportViewSet(GroupedReportViewSet):
    """The calls of campaigns, by periods."""

    report = OUTBOUNDS
    operation = _grouped(
        report,
        "outbounds_report",
        "OutboundsReportRow",
        (
            "Report the calls of campaigns",
            _ROWS % ("campaign", "its dialler placed calls", "campaign")
            + "A call belongs to the period in which it was dialled, as a whole.",
        ),
        _list("outbound_ids", "string", "Campaigns, by id; all without it.", ErrorCode.NUL),
    )


class TicketsReportViewSet(GroupedReportViewSet):
    """The tickets of queues, by periods."""

    report = TICKETS
    operation = _grouped(
        report,
        "tickets_report",
        "TicketsReportRow",
        (
            "Report the tickets of queues",
            _ROWS
            % ("ticket queue", "tickets were opened, closed or open", "queue")
            + "Times are working times, as the targets of the queue are: within its opening hours, without those in"
            " which the ticket waited for the customer. Tickets count as they are now: in the queue that they are in,"
            " and closed if they were not opened again.",
        ),
        _list("queues_ids", "integer", "Ticket queues, by id; all without it.", ErrorCode.NOT_INTEGER),
    )
