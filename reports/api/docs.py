"""What the documents of the API say of reports."""

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
from reports.api.views import AgentsWorkReportViewSet
from reports.periods import Aggregation

DURATION, MOMENT = r"^\d{2,}:\d{2}:\d{2}$", r"^(\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})?$"


def duration(description: str, example: str) -> dict[str, Any]:
    return text(f"{description} `hh:mm:ss`; hours grow past 99.", example, pattern=DURATION)


def count(description: str, example: int) -> dict[str, Any]:
    return integer(description, example, minimum=0)


def calls(name: str, which: str, *, seconds: str, average: str) -> dict[str, Any]:
    return shape(
        name,
        f"Outbound calls of the agent whose talk took {which} `outbound_threshold`.",
        count=count("How many began in the period.", 12),
        sum=duration("Their talk time in the period.", seconds),
        average=duration("Sum ÷ count.", average),
    )


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
    inbound=shape(
        "InboundOfReport",
        "Inbound calls: each time one was offered to the agent.",
        count=count("Offers that began in the period.", 40),
        answered_count=count("Of them, answered by him.", 34),
        not_answered_count=count("Of them, not answered.", 6),
        transferred_count=count("Of them, transferred by the agent.", 2),
        sum=duration("His talk time in the period.", "02:16:00"),
        average=duration("Sum ÷ answered.", "00:04:00"),
        wait_sum=count("Seconds for which callers waited for him to answer.", 280),
        wait_average=duration("Wait ÷ offers.", "00:00:07"),
        calls_per_hour=number("Answered ÷ logged-in hours of the period; 0 without a login.", 4.25, minimum=0),
    ),
    chat=shape(
        "ChatOfReport",
        "Chats.",
        closed=count("Chats of his that were closed.", 5),
        responded=count("Chats in which he wrote.", 6),
    ),
    ticket=shape(
        "TicketOfReport",
        "Tickets.",
        closed=count("Tickets that he closed.", 8),
        responded=count("Tickets that he replied to.", 9),
        total_responded=count("His replies.", 14),
    ),
    outbound_above_threshold=calls("CallsAbove", "longer than", seconds="01:00:00", average="00:05:00"),
    outbound_below_threshold=calls("CallsBelow", "at most", seconds="00:00:00", average="00:00:00"),
    login_date=text(
        "When the first session began that touches the period; an empty string without one.",
        "2026-11-02 07:58:12",
        pattern=MOMENT,
    ),
    logout_date=text(
        "When the last one ended; an empty string while he is logged in.", "2026-11-02 16:01:40", pattern=MOMENT
    ),
    login_sum=duration("Time logged in, in the period.", "08:00:00"),
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
            ErrorCode.REPORT_ENDS_BEFORE_START: "date_to",
            ErrorCode.TOO_MANY_PERIODS: "aggregate_by",
        },
    ),
)
