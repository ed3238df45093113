"""Documents of the API: agents, their groups and pauses."""

from callcentre.api.openapi import Operation, array, boolean, describe, document, integer, path, shape, text
from callcentre.core.errors import ErrorCode
from telephony.api.agents import AgentEditInput, AgentGroupViewSet, AgentViewSet, PauseInput, PauseViewSet

describe(
    AgentEditInput,
    outbound_mode={"description": "Whether the agent takes calls of campaigns.", "example": True},
    has_line={"description": "Whether the agent's phone stays connected between calls.", "example": True},
)
describe(PauseInput, pause_id={"description": "Id of an active pause, of `GET /system/pauses`.", "example": 2})

AGENT = shape(
    "Agent",
    "A person who answers and places calls.",
    agent_id=integer("The agent's id.", 1),
    login=text("The name by which requests know the agent.", "agent1"),
    name=text("First name.", "Anna"),
    surname=text("Last name; may be empty.", "Nowak"),
    email=text("E-mail address; may be empty.", "agent1@callcentre.example"),
    active=boolean("Whether the agent works here still.", example=True),
    number=text("SIP number of the agent's phone; may be empty.", "101"),
    outbound_mode=boolean("Whether the agent takes calls of campaigns.", example=True),
    has_line=boolean("Whether the agent's phone stays connected between calls.", example=False),
    group_id=integer("The agent's group.", 1, nullable=True),
)
AGENT_GROUP = shape(
    "AgentGroup",
    "Agents who are planned and reported together.",
    id=integer("The group's id.", 1),
    name=text("The group's name.", "Sales"),
)

AGENT_STATUS = shape(
    "AgentStatus",
    "The present state of an agent.",
    login=text("Login of the agent.", "agent1"),
    status=text(
        "The state.",
        "paused",
        enum=["logged_out", "free", "preview", "ringing", "talking", "wrap_up", "paused"],
    ),
    since=text(
        "Its start: `YYYY-MM-DD hh:mm:ss`; an empty string for an agent who has never logged in.",
        "2026-11-21 09:30:00",
    ),
    pause_id=integer("The pause of a paused agent.", 2, nullable=True),
)
PAUSE = shape(
    "Pause",
    "A reason for which an agent takes no calls.",
    id=integer("The pause's id.", 2),
    name=text("The pause's name.", "Lunch"),
    active=boolean("Whether an agent can be paused for it.", example=True),
)

document(
    AgentViewSet,
    {"login": path("login", "Login of the agent.", "agent1", ErrorCode.AGENT_NOT_FOUND)},
    list=Operation(
        id="list_agents",
        summary="List the agents",
        description="All of them, ordered by login.",
        is_extension=True,
        answer=array(AGENT),
    ),
    retrieve=Operation(id="read_agent", summary="Read an agent", is_extension=True, answer=AGENT),
    update=Operation(
        id="edit_agent",
        summary="Edit an agent",
        description="Missing fields, and fields that are null, stay as they are.",
        is_extension=True,
        body=AgentEditInput,
        is_partial=True,
        request_example={"outbound_mode": True},
    ),
    statuses=Operation(
        id="list_agent_statuses",
        summary="List the present states of the agents",
        description="All active agents, ordered by login, with their state and when it began.",
        is_extension=True,
        answer=array(AGENT_STATUS),
    ),
    pause=Operation(
        id="pause_agent",
        summary="Pause an agent",
        description="Ends the agent's state and begins the pause, with or without a session. The present pause changes"
        " nothing. A call goes on; after it the agent is still on the pause.",
        body=PauseInput,
        request_example={"pause_id": 2},
        errors={ErrorCode.PAUSE_NOT_FOUND: "pause_id", ErrorCode.AGENT_INACTIVE: ""},
    ),
    log_in=Operation(
        id="log_in_agent",
        summary="Log an agent in",
        description="Begins a session, ready for calls; a pause ends. Nothing changes for an agent who is logged in.",
        is_extension=True,
        errors={ErrorCode.AGENT_INACTIVE: ""},
    ),
    log_out=Operation(
        id="log_out_agent",
        summary="Log an agent out",
        description="Ends the session, or a pause outside a session. A call goes on.",
        is_extension=True,
    ),
    free=Operation(
        id="free_agent",
        summary="Set an agent ready for calls",
        description="Ends a pause or the wrap-up after a call.",
        is_extension=True,
        errors={ErrorCode.AGENT_NOT_LOGGED_IN: ""},
        conflicts={ErrorCode.AGENT_IN_CALL: ""},
    ),
    begin_line=Operation(
        id="begin_line_of_agent",
        summary="Ring an agent for a standing line",
        description="The phone rings once and stays connected between calls: the agent hears silence, and calls are"
        " joined at once. The first call begins a line too. Nothing changes for an agent who has one.",
        is_extension=True,
        errors={ErrorCode.AGENT_NOT_LOGGED_IN: ""},
        conflicts={
            ErrorCode.AGENT_WITHOUT_LINE: "",
            ErrorCode.AGENT_IN_CALL: "",
            ErrorCode.NO_CONNECTION_TO_PBX: "",
        },
    ),
    end_line=Operation(
        id="end_line_of_agent",
        summary="End an agent's standing line",
        description="A call goes on; the line ends after it. The log-out ends the line as well.",
        is_extension=True,
    ),
)
document(
    AgentGroupViewSet,
    list=Operation(
        id="list_agent_groups",
        summary="List the groups of agents",
        description="All of them, ordered by name.",
        is_extension=True,
        answer=array(AGENT_GROUP),
    ),
)
document(
    PauseViewSet,
    list=Operation(
        id="list_pauses",
        summary="List the pauses",
        description="All of them, in their order; those that are no longer used are among them.",
        is_extension=True,
        answer=array(PAUSE),
    ),
)
