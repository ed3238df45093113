from callcentre.api.openapi import Operation, array, boolean, document, integer, path, shape, text
from telephony.api import connections_docs, queues_docs  # noqa: F401  (describe the rest of this app)
from telephony.api.views import AgentGroupViewSet, AgentViewSet

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
    group_id=integer("The agent's group.", 1, nullable=True),
)
AGENT_GROUP = shape(
    "AgentGroup",
    "Agents who are planned and reported together.",
    id=integer("The group's id.", 1),
    name=text("The group's name.", "Sales"),
)

document(
    AgentViewSet,
    {"login": path("login", "Login of the agent.", "agent1")},
    list=Operation(
        id="list_agents",
        summary="List the agents",
        description="All of them, ordered by login.",
        is_extension=True,
        answer=array(AGENT),
    ),
    retrieve=Operation(id="read_agent", summary="Read an agent", is_extension=True, answer=AGENT),
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
