"""The documents of the API of reports."""

from typing import Any

from callcentre.api.openapi import (
    INSTANT,
    Operation,
    Parameter,
    array,
    document,
    integer,
    number,
    shape,
    text,
)
from callcentre.core.errors import ErrorCode
from callcentre.core.exporting.formats import Unit
from reports.api.serializers import GROUPS, OF_ROW, published
from reports.api.views import (
    AgentsWorkReportViewSet,
    GroupedReportViewSet,
    OutboundsReportViewSet,
    QueuesReportViewSet,
    TicketsReportViewSet,
)
from reports.measures import Measure, clock
from reports.models.export import MOST_SECONDS
from reports.parameters import USUAL_WITHIN
from reports.periods import Aggregation

DURATION, MOMENT = r"^\d{2,}:\d{2}:\d{2}$", r"^(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})?$"


def duration(description: str, example: str) -> dict[str, Any]:
    return text(f"{description} `hh:mm:ss`; hours grow past 99.", example, pattern=DURATION)


def count(description: str, example: int) -> dict[str, Any]:
    return integer(description, example, minimum=0)


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

document(
    AgentsWorkReportViewSet,
    list=Operation(
        id="agents_work_report",
        summary="Report the agents' work",
        description=(
            "One row per agent and period in which the agent did anything, by login, then period; exact to the second"
            " of the request. Times are of the service's zone. What lasts over the border of a period is counted where"
            " it begins, and its time is where it falls: the hours of a day add up to the day. An hour that comes"
            " twice in autumn is one row of two hours."
        ),
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
    ),
)


def _document(
    view: type[GroupedReportViewSet], name: str, schema: str, about: tuple[str, str], *query: Parameter
) -> None:
    """Document a report by queue or campaign: its summary and its description are `about`."""
    fields: Any = {measure.name: field_of(measure) for measure in published(view.report)}
    subjects = view.report.subjects
    assert subjects
    document(
        view,
        list=Operation(
            id=name,
            summary=about[0],
            description=about[1],
            query=(*query[:1], *_SPAN, *query[1:]),
            is_paged=True,
            answer=array(shape(schema, about[0] + ".", **fields)),
            errors={subjects.not_found: subjects.parameter, **_SPAN_ERRORS},
        ),
    )


_ROWS = "One row per %s and period in which %s, by the name of the %s, then period. Durations are whole seconds. "
_document(
    QueuesReportViewSet,
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

_document(
    OutboundsReportViewSet,
    "outbounds_report",
    "OutboundsReportRow",
    (
        "Report the calls of campaigns",
        _ROWS % ("campaign", "its dialler placed calls", "campaign")
        + "A call belongs to the period in which it was dialled, as a whole.",
    ),
    _list("outbound_ids", "string", "Campaigns, by id; all without it.", ErrorCode.NUL),
)
_document(
    TicketsReportViewSet,
    "tickets_report",
    "TicketsReportRow",
    (
        "Report the tickets of queues",
        _ROWS
        % ("ticket queue", "tickets were opened, closed or open", "queue")
        + "Times are working times, as the targets of the queue are: within its opening hours, without those in which"
        " the ticket waited for the customer. Tickets count as they are now: in the queue that they are in, and closed"
        " if they were not opened again.",
    ),
    _list("queues_ids", "integer", "Ticket queues, by id; all without it.", ErrorCode.NOT_INTEGER),
)
