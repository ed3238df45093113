from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import BooleanField, IdField, Input, TextField
from callcentre.api.openapi import array, boolean, integer, operation, second, shape, text
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode, Fault, Invalid
from callcentre.core.lookups import found_or_404
from telephony.calls import lines
from telephony.current_states import current_states
from telephony.models import Agent, AgentGroup, AgentMessage, Pause, Queue
from telephony.models.agent_intervals import REASON_LENGTH
from telephony.verbs import presence
from telephony.verbs.agents import edit_agent, send_message


class AgentEditInput(Input):
    outbound_mode = BooleanField("Whether the agent takes calls of campaigns.", required=False, example=True)
    has_line = BooleanField("Whether the agent's phone stays connected between calls.", required=False, example=True)


def reason_field() -> TextField:
    return TextField(
        "Why. It stands in the ledger and in the audit log.",
        required=False,
        max_length=REASON_LENGTH,
        example="Training",
    )


class ReasonInput(Input):
    reason = reason_field()


def reason_of(view: ApiViewSet) -> str:
    """Return the reason in the body. These operations once had no body, so one that is no object counts as none."""
    try:
        values, faults = view.read(ReasonInput)
    except (APIException, Invalid):
        return ""
    if faults:
        raise Invalid(faults)
    return str(values.get("reason", ""))


class PauseInput(Input):
    pause_id = IdField("Id of an active pause, of `GET /system/pauses`.", example=2, errors=[ErrorCode.PAUSE_NOT_FOUND])
    reason = reason_field()


class MessageInput(Input):
    example = {"text": "Please come to the desk.", "agent_login": "agent1"}
    text = TextField("What the bar of each agent shows until the agent closes it.", max_length=AgentMessage.LONGEST)
    agent_login = TextField(
        "The agent who gets it.", required=False, max_length=100, errors=[ErrorCode.AGENT_NOT_FOUND]
    )
    queue_id = IdField(
        "The queue whose members get it, if they are logged in.", required=False, errors=[ErrorCode.QUEUE_UNKNOWN]
    )
    all = BooleanField("Whether all agents get it who are logged in.", required=False)


AGENT = shape(
    "Agent",
    "A person who answers and places calls.",
    agent_id=integer("The agent's id.", 1, of="pk"),
    login=text("The name by which requests know the agent.", "agent1"),
    name=text("First name.", "Anna"),
    surname=text("Last name; may be empty.", "Nowak"),
    email=text("E-mail address; may be empty.", "agent1@callcentre.example"),
    active=boolean("Whether the agent works here still.", example=True, of="is_active"),
    number=text("SIP number of the agent's phone; may be empty.", "101"),
    outbound_mode=boolean("Whether the agent takes calls of campaigns.", example=True),
    has_line=boolean("Whether the agent's phone stays connected between calls.", example=False),
    group_id=integer("The agent's group.", 1, nullable=True),
)
AGENT_GROUP = shape(
    "AgentGroup",
    "Agents who are planned and reported together.",
    id=integer("The group's id.", 1, of="pk"),
    name=text("The group's name.", "Sales"),
)
AGENT_STATUS = shape(
    "AgentStatus",
    "The present state of an agent.",
    login=text("Login of the agent.", "agent1"),
    status=text(
        "The state.", "paused", enum=["logged_out", "free", "preview", "ringing", "talking", "wrap_up", "paused"]
    ),
    since=second(
        "Its start: `YYYY-MM-DD hh:mm:ss`; an empty string for an agent who has never logged in.", "2026-11-21 09:30:00"
    ),
    pause_id=integer("The pause of a paused agent.", 2, nullable=True),
)
PAUSE = shape(
    "Pause",
    "A reason for which an agent takes no calls.",
    id=integer("The pause's id.", 2, of="pk"),
    name=text("The pause's name.", "Lunch"),
    active=boolean("Whether an agent can be paused for it.", example=True, of="is_active"),
)


class AgentViewSet(ApiViewSet):
    """People who answer and place calls."""

    area = "agents"

    @operation("list_agents", "List the agents", "All of them, ordered by login.", answer=array(AGENT))
    def list(self, request: Request) -> Response:
        return Response([AGENT.data(agent) for agent in Agent.objects.all()])

    @operation("read_agent", "Read an agent", answer=AGENT)
    def retrieve(self, request: Request, login: str) -> Response:
        return Response(AGENT.data(agent_or_404(login)))

    @operation(
        "edit_agent",
        "Edit an agent",
        "Missing fields, and fields that are null, stay as they are.",
        body=AgentEditInput,
        is_partial=True,
    )
    def update(self, request: Request, login: str) -> Response:
        agent = agent_or_404(login)
        values, faults = self.read(AgentEditInput, is_partial=True)
        edit_agent(agent, self.actor, faults, **values)
        return Response(status=204)

    @operation(
        "list_agent_statuses",
        "List the present states of the agents",
        "All active agents, ordered by login, with their state and when it began.",
        answer=array(AGENT_STATUS),
    )
    def statuses(self, request: Request) -> Response:
        agents: list[tuple[int, str]] = list(Agent.objects.active().values_list("pk", "login"))
        states = current_states([pk for pk, _ in agents])
        return Response([AGENT_STATUS.data(states[pk], login=login) for pk, login in agents])

    @operation(
        "log_in_agent",
        "Log an agent in",
        "Begins a session, ready for calls; a pause ends. Nothing changes for an agent who is logged in.",
        errors=[ErrorCode.AGENT_INACTIVE],
    )
    def log_in(self, request: Request, login: str) -> Response:
        presence.log_in(agent_or_404(login), self.actor)
        return Response(status=204)

    @operation(
        "log_out_agent",
        "Log an agent out",
        "Ends the session, or a pause outside a session. A call goes on. The body may be empty.",
        body=ReasonInput,
        is_partial=True,
    )
    def log_out(self, request: Request, login: str) -> Response:
        agent = agent_or_404(login)
        presence.log_out(agent, self.actor, reason=reason_of(self))
        return Response(status=204)

    @operation(
        "pause_agent",
        "Pause an agent",
        "Ends the agent's state and begins the pause, with or without a session. The present pause changes"
        " nothing. A call goes on; after it the agent is still on the pause.",
        is_extension=False,
        body=PauseInput,
        errors=[ErrorCode.AGENT_INACTIVE],
    )
    def pause(self, request: Request, login: str) -> Response:
        agent = agent_or_404(login)
        values, faults = self.read(PauseInput)
        presence.pause(agent, self.actor, values.get("pause_id"), faults, reason=values.get("reason", ""))
        return Response(status=204)

    @operation(
        "free_agent",
        "Set an agent ready for calls",
        "Ends a pause or the wrap-up after a call. The body may be empty.",
        body=ReasonInput,
        is_partial=True,
        errors=[ErrorCode.AGENT_NOT_LOGGED_IN],
        conflicts=[ErrorCode.AGENT_IN_CALL],
    )
    def free(self, request: Request, login: str) -> Response:
        presence.free(agent_or_404(login), self.actor, reason=reason_of(self))
        return Response(status=204)

    @operation(
        "send_heartbeat_of_agent",
        "Say that an agent's program is there",
        "Optional. Who has begun goes on, best every 10 to 60 seconds: an agent whose heartbeats stop is paused, then"
        " logged out. The next one ends such a pause.",
        errors=[ErrorCode.AGENT_NOT_LOGGED_IN],
    )
    def hear(self, request: Request, login: str) -> Response:
        agent = agent_or_404(login)
        if not agent.sessions.filter(ended_at=None).exists():
            raise Invalid([Fault(ErrorCode.AGENT_NOT_LOGGED_IN)])
        presence.hear(agent.pk)
        return Response(status=204)

    @operation(
        "send_message",
        "Send a message to agents",
        "To an agent, to the members of a queue or to all agents: give one of the three. The bar of each of them"
        " shows it until it is closed. Who gets it is decided now.",
        body=MessageInput,
        errors=[ErrorCode.MESSAGE_TO],
    )
    def send_message(self, request: Request) -> Response:
        values, faults = self.read(MessageInput)
        login, queue_id = values.get("agent_login"), values.get("queue_id")
        agent = Agent.objects.active().filter(login=login).first() if login else None
        queue = Queue.objects.active().filter(pk=queue_id).first() if queue_id else None
        if login and agent is None:
            faults.append(Fault(ErrorCode.AGENT_NOT_FOUND, "agent_login"))
        if queue_id and queue is None:
            faults.append(Fault(ErrorCode.QUEUE_UNKNOWN, "queue_id"))
        if not faults and sum(map(bool, (login, queue_id, values.get("all")))) != 1:
            faults.append(Fault(ErrorCode.MESSAGE_TO))
        send_message(self.actor, values.get("text", ""), faults, agent=agent, queue=queue)
        return Response(status=204)

    @operation(
        "begin_line_of_agent",
        "Ring an agent for a standing line",
        "The phone rings once and stays connected between calls: the agent hears silence, and calls are"
        " joined at once. The first call begins a line too. Nothing changes for an agent who has one.",
        errors=[ErrorCode.AGENT_NOT_LOGGED_IN],
        conflicts=[ErrorCode.AGENT_WITHOUT_LINE, ErrorCode.AGENT_IN_CALL, ErrorCode.NO_CONNECTION_TO_PBX],
    )
    def begin_line(self, request: Request, login: str) -> Response:
        lines.ask_for_line(agent_or_404(login), self.actor)
        return Response(status=204)

    @operation(
        "end_line_of_agent",
        "End an agent's standing line",
        "A call goes on; the line ends after it. The log-out ends the line as well.",
    )
    def end_line(self, request: Request, login: str) -> Response:
        lines.end_line(agent_or_404(login), self.actor)
        return Response(status=204)


def agent_or_404(login: str) -> Agent:
    return found_or_404(Agent.objects.filter(login=login).first(), ErrorCode.AGENT_NOT_FOUND)


class AgentGroupViewSet(ApiViewSet):
    """Groups of agents."""

    area = "agents"

    @operation(
        "list_agent_groups", "List the groups of agents", "All of them, ordered by name.", answer=array(AGENT_GROUP)
    )
    def list(self, request: Request) -> Response:
        return Response([AGENT_GROUP.data(group) for group in AgentGroup.objects.all()])


class PauseViewSet(ApiViewSet):
    """Reasons for which agents take no calls."""

    area = "system"

    @operation(
        "list_pauses",
        "List the pauses",
        "All of them, in their order; those that are no longer used are among them.",
        answer=array(PAUSE),
    )
    def list(self, request: Request) -> Response:
        return Response([PAUSE.data(pause) for pause in Pause.objects.all()])
