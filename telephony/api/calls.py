from collections.abc import Callable

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import ChoiceField, IdField, Input, TextField
from callcentre.api.openapi import Parameter, array, operation, second, shape, text
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode
from telephony.api.agents import ReasonInput, reason_of
from telephony.api.connections import connection_or_404
from telephony.calls import commands
from telephony.models import CallCommand, Supervision
from telephony.models.call_parts import LONGEST_NOTE
from telephony.verbs import connections

_ONCE = (
    "It is carried out right after the answer, and after earlier commands to the call. If the call ends meanwhile, it"
    " is dropped."
)
_NEED_TALK = (ErrorCode.CALL_OVER, ErrorCode.CALL_NOT_TALKING, ErrorCode.NO_CONNECTION_TO_PBX)
NOT_A_NUMBER = (ErrorCode.PHONE_LETTERS, ErrorCode.PHONE_INVALID, ErrorCode.PHONE_TOO_LONG)


def _sip(description: str, example: str = "109") -> TextField:
    return TextField(description, max_length=100, example=example, errors=[ErrorCode.SIP_UNKNOWN])


class SupervisorInput(Input):
    sip = _sip("SIP number of the supervisor's phone.")


class MonitorInput(Input):
    sip = _sip("SIP number of the phone of an active agent, the supervisor.")
    mode = ChoiceField(
        "`listen`: hear both. `whisper`: the agent hears the supervisor too. `barge`: all hear all.",
        choices=["listen", "whisper", "barge"],
        example="listen",
    )


SUPERVISION = shape(
    "Supervision",
    "A supervisor who is in the call of another agent.",
    sip=text("SIP number of the supervisor's phone.", "109"),
    agent_login=text("Login of the supervisor's agent.", "supervisor1"),
    mode=text("What the supervisor does.", "listen", enum=["listen", "whisper", "barge"]),
    asked_by=text("Who has asked for it.", "supervisor1", of="actor_name"),
    since=second("When the phone was picked up: `YYYY-MM-DD hh:mm:ss`; empty while it rings.", of="up_at"),
)


class CallInput(Input):
    sip = _sip("SIP number of an active agent's phone, which rings first.", "101")
    phone_number = TextField(
        "Number to be called once the agent has picked up, in any spelling.",
        max_length=100,
        example="+48 22 555 01 07",
        errors=NOT_A_NUMBER,
    )


class TransferInput(Input):
    example = {"number": "+48 22 555 01 99"}
    queue_id = IdField(
        "Queue in which the caller waits from now on.", required=False, example=3, errors=[ErrorCode.QUEUE_UNKNOWN]
    )
    number = TextField(
        "Number to be called, or the SIP number of another agent.",
        required=False,
        max_length=100,
        example="+48 22 555 01 99",
        errors=NOT_A_NUMBER,
    )
    transfer_shortcut_id = IdField(
        "Transfer shortcut that names the queue or number.",
        required=False,
        example=2,
        errors=[ErrorCode.SHORTCUT_UNKNOWN],
    )
    note = TextField(
        "For the next agent, who sees it before and during the talk.",
        required=False,
        max_length=LONGEST_NOTE,
        example="Wants a refund for order 1042.",
    )


def _command(
    kind: CallCommand.Kind, name: str, title: str, text: str, *conflicts: ErrorCode
) -> Callable[..., Response]:
    """Return the operation that stores a command without further values."""

    @operation(name, title, f"{text} {_ONCE}".strip(), conflicts=[*_NEED_TALK, *conflicts])
    def act(self: "CallViewSet", request: Request, connection_id: str) -> Response:
        commands.ask(self.actor, connection_or_404(connection_id), kind, is_there=self.is_there)
        return Response(status=204)

    return act


class _CommandViewSet(ApiViewSet):
    """Commands to open calls. Whether the switch is there is asked before the transaction of a retried one."""

    is_there: bool | None = None

    def _look_for_the_switch(self, request: Request, connection_id: str) -> None:
        self.is_there = commands.is_switch_there()


class CallViewSet(_CommandViewSet):
    """Placing calls, and commands to open calls."""

    area = "connections"
    prepare_hang_up = prepare_hold = prepare_resume = prepare_transfer = _CommandViewSet._look_for_the_switch
    prepare_consult = prepare_join = prepare_hand_over = prepare_give_up = _CommandViewSet._look_for_the_switch

    @operation(
        "call",
        "Set up a call",
        "The agent's phone rings first; when it is picked up the number is called, and then both can talk."
        " The answer does not tell the result of the call: see `GET /connections` and the events"
        " `CONNECTION_…`. While the phone is in a call, the new call waits, and is placed afterwards, in"
        " the order of the requests. A call that cannot be placed within a configured time has failed.",
        is_extension=False,
        body=CallInput,
    )
    def call(self, request: Request) -> Response:
        values, faults = self.read(CallInput)
        connections.call(self.actor, faults, **values)
        return Response(status=204)

    @operation(
        "hang_up_call",
        "Hang up a call",
        f"For all parties, also while the call rings or waits. {_ONCE} The body may be empty; with a reason the audit"
        " log names it.",
        body=ReasonInput,
        is_partial=True,
        conflicts=[ErrorCode.CALL_OVER, ErrorCode.NO_CONNECTION_TO_PBX],
    )
    def hang_up(self, request: Request, connection_id: str) -> Response:
        connection = connection_or_404(connection_id)
        if reason := reason_of(self):
            commands.ask_end(self.actor, connection, reason, is_there=self.is_there)
        else:
            commands.ask(self.actor, connection, CallCommand.Kind.HANG_UP, is_there=self.is_there)
        return Response(status=204)

    hold = _command(
        CallCommand.Kind.HOLD,
        "hold_call",
        "Put a call on hold",
        "The customer hears music, the agent nothing.",
        ErrorCode.CALL_ON_HOLD,
    )
    resume = _command(
        CallCommand.Kind.RESUME,
        "resume_call",
        "Resume a call that is on hold",
        "",
        *(ErrorCode.CALL_NOT_ON_HOLD, ErrorCode.CONSULTING),
    )

    @operation(
        "transfer_call",
        "Transfer a call",
        "To a queue, in which the customer waits, or to a number, which rings while the customer hears music. The"
        " agent leaves the call at once. Give one of the three. If the number does not answer, the customer returns"
        f" to the agent who transferred the call, else to the queue of the call. {_ONCE}",
        body=TransferInput,
        errors=[ErrorCode.TRANSFER_TARGET],
        conflicts=[*_NEED_TALK],
    )
    def transfer(self, request: Request, connection_id: str) -> Response:
        return self._ask_transfer(connection_id, CallCommand.Kind.TRANSFER)

    def _ask_transfer(self, connection_id: str, kind: CallCommand.Kind) -> Response:
        connection = connection_or_404(connection_id)
        values, faults = self.read(TransferInput)
        commands.ask_transfer(self.actor, connection, faults, kind=kind, is_there=self.is_there, **values)
        return Response(status=204)

    @operation(
        "consult",
        "Call a colleague or a number during a talk",
        "The customer hears music while the agent talks with an agent, with a ready agent of a queue, or with a number"
        " outside. Then all three may talk (`/consultation/join`), the other may get the call (`/hand_over`), or leave"
        " (`DELETE`). If the other does not pick up, or hangs up, the agent and the customer talk on. If the agent"
        f" hangs up, the other gets the call. {_ONCE}",
        body=TransferInput,
        errors=[ErrorCode.TRANSFER_TARGET],
        conflicts=[
            *(*_NEED_TALK, ErrorCode.CONSULTING),
            *(ErrorCode.PHONE_OCCUPIED, ErrorCode.PHONE_NOT_CONNECTED, ErrorCode.NO_AGENT_READY),
        ],
    )
    def consult(self, request: Request, connection_id: str) -> Response:
        return self._ask_transfer(connection_id, CallCommand.Kind.CONSULT)

    join = _command(
        CallCommand.Kind.JOIN,
        "join_consultation",
        "Let the customer, the agent and the consulted party talk",
        "With `/hold` the customer hears music again, and the two others talk.",
        *(ErrorCode.NOT_CONSULTING, ErrorCode.CALL_NOT_ON_HOLD, ErrorCode.CONSULTED_RINGS),
    )
    hand_over = _command(
        CallCommand.Kind.HAND_OVER,
        "hand_over_consultation",
        "Give the call to the consulted party",
        "The agent leaves, and wraps up. If the phone of the other still rings, the customer waits for it as in a"
        " transfer.",
        ErrorCode.NOT_CONSULTING,
    )
    give_up = _command(
        CallCommand.Kind.RETURN,
        "end_consultation",
        "End the part of the consulted party",
        "The agent and the customer talk on.",
        ErrorCode.NOT_CONSULTING,
    )


class SupervisionViewSet(_CommandViewSet):
    """Supervisors in the calls of others."""

    area = "supervision"
    prepare_monitor = prepare_unmonitor = prepare_take_over = _CommandViewSet._look_for_the_switch

    @operation("read_supervision", "List the supervisors in a call", answer=array(SUPERVISION))
    def retrieve(self, request: Request, connection_id: str) -> Response:
        rows = Supervision.objects.filter(connection=connection_or_404(connection_id), ended_at=None)
        rows = rows.select_related("agent")
        return Response([SUPERVISION.data(row, sip=row.agent.number, agent_login=row.agent.login) for row in rows])

    @operation(
        "monitor_call",
        "Listen to a call, whisper to its agent, or barge in",
        "The supervisor's phone rings; when it is picked up the supervisor hears the customer and the agent. Sent again"
        " with another mode it changes the mode of a phone that is in the call, without ringing. A transfer or hold"
        f" changes nothing, and the end of the call ends it. {_ONCE}",
        body=MonitorInput,
        conflicts=[*_NEED_TALK, ErrorCode.PHONE_OCCUPIED, ErrorCode.PHONE_NOT_CONNECTED],
    )
    def monitor(self, request: Request, connection_id: str) -> Response:
        connection = connection_or_404(connection_id)
        values, faults = self.read(MonitorInput)
        kind = CallCommand.Kind.MONITOR
        commands.ask_monitor(self.actor, connection, kind, faults, is_there=self.is_there, **values)
        return Response(status=204)

    @operation(
        "end_monitoring",
        "End the part of a supervisor in a call",
        f"The supervisor's phone is hung up; the call goes on. {_ONCE}",
        query=[
            Parameter(
                "sip",
                {"type": "string", "example": "109"},
                "SIP number of the supervisor's phone.",
                (ErrorCode.EMPTY, ErrorCode.SIP_UNKNOWN),
                is_required=True,
            )
        ],
        conflicts=[ErrorCode.CALL_OVER, ErrorCode.NOT_MONITORED, ErrorCode.NO_CONNECTION_TO_PBX],
    )
    def unmonitor(self, request: Request, connection_id: str) -> Response:
        return self._ask(connection_id, CallCommand.Kind.UNMONITOR)

    @operation(
        "take_over_call",
        "Take over a call that a supervisor listens to",
        "The supervisor becomes the agent of the call, as after a transfer; the agent leaves it, and wraps it up."
        f" {_ONCE}",
        body=SupervisorInput,
        conflicts=[*_NEED_TALK, ErrorCode.NOT_MONITORED],
    )
    def take_over(self, request: Request, connection_id: str) -> Response:
        return self._ask(connection_id, CallCommand.Kind.TAKE_OVER)

    def _ask(self, connection_id: str, kind: CallCommand.Kind) -> Response:
        connection, request = connection_or_404(connection_id), self.request
        given = {"sip": request.query_params.get("sip")} if request.method == "DELETE" else request.data
        values, faults = SupervisorInput.read(given)
        commands.ask_monitor(self.actor, connection, kind, faults, is_there=self.is_there, **values)
        return Response(status=204)
