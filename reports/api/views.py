from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.openapi import INSTANT, Operation, Parameter, array, operation, shape
from callcentre.api.pagination import limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode, Fault
from reports import report
from reports.api.serializers import ROW, field_of, grouped_data, published, row_data
from reports.catalogue import OUTBOUNDS, QUEUES, TICKETS
from reports.description import Report
from reports.models.export import MOST_SECONDS
from reports.parameters import USUAL_WITHIN, read, read_grouped
from reports.periods import Aggregation


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
        return Response([row_data(row) for row in report.page(question, limit, offset)])


def _grouped(report: Report, name: str, schema: str, about: tuple[str, str], *query: Parameter) -> Operation:
    """Return the operation of a report by queue or campaign: its summary and its description are `about`."""
    fields: Any = {measure.name: field_of(measure) for measure in published(report)}
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
        rows = self.report.answer(question, limit, offset).rows
        return Response([grouped_data(self.report, row) for row in rows])


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
