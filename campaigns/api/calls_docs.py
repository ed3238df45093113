"""The documents of the API about calls of campaigns."""

from callcentre.api.openapi import SHAPES, Operation, describe, document, path, shape, text
from callcentre.core.errors import ErrorCode
from campaigns.api.calls import AgentCallViewSet, PreviewViewSet, ResultViewSet, SkipInput
from campaigns.api.records_docs import CORE, FIELDS
from campaigns.api.records_docs import RULES as RECORD_RULES
from campaigns.api.serializers import ResultInput

describe(
    ResultInput,
    status_id={"description": "Status of the record, of its campaign; this or `dictionary_status_id` is needed."},
    dictionary_status_id="Entry of the dictionary: the campaign's status for it is meant.",
    next_call_date={
        "description": "When the record is to be called next: `YYYY-MM-DD hh:mm`; needed for `MY_RECORD` and"
        " `CALL_NO_SOONER_THAN`. A time that was planned before the call does not stay.",
        "example": "2026-03-04 10:30",
    },
    assign_to_login={
        "description": "Agent who gets the record; needed for `MY_RECORD`. An empty string takes the agent away.",
        "example": "agent1",
    },
    note={"description": "The last note of the record.", "example": "Wants to be called in the morning."},
    record_fields={"description": "Fields to change; an empty text clears.", "example": {"city": "Gdańsk"}},
    is_wrong_number="Whether the number that was called is wrong, and is never called again for this record. Without"
    " it the status decides.",
)
RECORD_OF_CALL = shape(
    "RecordOfCall",
    "A record with its fields.",
    **CORE,
    record_fields=FIELDS,
)
PREVIEW = shape(
    "Preview",
    "A record that is offered to an agent.",
    outbound_id=text("Campaign of the record.", "DEMO2"),
    record={
        **SHAPES["RecordOfCall"],
        "nullable": True,
        "description": "The record with its fields; null without the right `campaigns:read`.",
    },
    offered_at=text("Start of the offer: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:30:00"),
    expires_at=text("Its end: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:31:00"),
)
CALL_OF_AGENT = shape(
    "AgentCall",
    "The call that an agent is in.",
    connection_id=text("The connection's id.", "1416225570.341"),
    outbound_id=text("Campaign of the call; null for other calls.", "DEMO1", nullable=True),
    record={
        **SHAPES["RecordOfCall"],
        "nullable": True,
        "description": "The record with its fields; null for other calls, after it was deleted, and without the right"
        " `campaigns:read`.",
    },
    state=text("The agent's part in the call.", "talking", enum=["ringing", "talking", "wrap_up"]),
    since=text("Start of that: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:30:00"),
)
describe(SkipInput, reason={"description": "Why the record is not called.", "example": "Called yesterday."})
_RULES = {code: {"agent_login": "assign_to_login"}.get(field, field) for code, field in RECORD_RULES.items()}

document(
    ResultViewSet,
    {"connection_id": path("id", "Unique id of the connection.", "1416225570.341", ErrorCode.CONNECTION_NOT_FOUND)},
    give=Operation(
        id="give_result",
        summary="Give the result of a call of a campaign",
        description=(
            "During the call it is kept, and written to the record when the call ends. A later result replaces an"
            " earlier one, until five minutes after the end of the call, or until the record is reserved again. A call"
            " without a result at the end of the wrap-up has the result *Contacted*. It edits the record, which"
            " takes the right to write campaigns."
        ),
        is_extension=True,
        body=ResultInput,
        request_example={"status_id": 14, "next_call_date": "2026-03-04 10:30", "note": "Call in the morning."},
        errors={ErrorCode.EMPTY: "status_id", ErrorCode.RESULT_IN_PROGRESS: "status_id"} | _RULES,
        conflicts={
            ErrorCode.CALL_OF_NO_CAMPAIGN: "",
            ErrorCode.RESULT_TOO_LATE: "",
            ErrorCode.RECORD_RESERVED: "",
            ErrorCode.RECORD_NOT_FOUND: "",
        },
    ),
)
document(
    AgentCallViewSet,
    {"login": path("login", "Login of the agent.", "agent1", ErrorCode.AGENT_NOT_FOUND)},
    retrieve=Operation(
        id="read_call_of_agent",
        summary="Read the call that an agent is in",
        description="With the record that the dialler called.",
        is_extension=True,
        answer=CALL_OF_AGENT,
        is_empty_if="The agent is in no call.",
    ),
)
document(
    PreviewViewSet,
    {"login": path("login", "Login of the agent.", "agent1", ErrorCode.AGENT_NOT_FOUND)},
    retrieve=Operation(
        id="read_preview",
        summary="Read the record that is offered to an agent",
        description=(
            "In a campaign with the dialler `preview`. At `expires_at` the record is returned, or called, as the"
            " campaign says. To set the agent ready, to pause or to log out means to skip it."
        ),
        is_extension=True,
        answer=PREVIEW,
        is_empty_if="No record is offered to the agent.",
    ),
    accept=Operation(
        id="accept_preview",
        summary="Call the offered record",
        description="The agent's phone rings first; when it is picked up the number is called.",
        is_extension=True,
        answer=shape("AcceptedPreview", "The call.", connection_id=text("The connection's id.", "1416225570.341")),
        conflicts={
            ErrorCode.NO_OFFER: "",
            ErrorCode.NOT_CALLABLE: "",
            ErrorCode.NO_LINE: "",
            ErrorCode.NO_CONNECTION_TO_PBX: "",
        },
    ),
    skip=Operation(
        id="skip_preview",
        summary="Skip the offered record",
        description="The record is returned. It is not offered to this agent for an hour.",
        is_extension=True,
        body=SkipInput,
        request_example={"reason": "Called yesterday."},
        conflicts={ErrorCode.NO_OFFER: ""},
    ),
)
