from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import IdField, TextField
from callcentre.api.openapi import operation
from callcentre.api.serializers import Input
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode
from telephony.api.connections import connection_or_404
from telephony.calls import commands
from telephony.models import CallCommand
from telephony.verbs import connections


class CallInput(Input):
    sip = TextField(
        "SIP number of an active agent's phone, which rings first.",
        max_length=100,
        example="101",
        errors=[ErrorCode.SIP_UNKNOWN],
    )
    phone_number = TextField(
        "Number to be called once the agent has picked up, in any spelling.",
        max_length=100,
        example="+48 22 555 01 07",
        errors=[ErrorCode.PHONE_LETTERS, ErrorCode.PHONE_INVALID, ErrorCode.PHONE_TOO_LONG],
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
        errors=[ErrorCode.PHONE_LETTERS, ErrorCode.PHONE_INVALID, ErrorCode.PHONE_TOO_LONG],
    )
    transfer_shortcut_id = IdField(
        "Transfer shortcut that names the queue or number.",
        required=False,
        example=2,
        errors=[ErrorCode.SHORTCUT_UNKNOWN],
    )


_ONCE = (
    "It is carried out right after the answer, and after earlier commands to the call. If the call ends meanwhile, it"
    " is dropped."
)


class CallViewSet(ApiViewSet):
    """Placing calls, and commands to open calls."""

    area = "connections"
    is_there: bool | None = None

    def _look_for_the_switch(self, request: Request, connection_id: str) -> None:
        self.is_there = commands.is_switch_there()

    prepare_hang_up = prepare_hold = prepare_resume = prepare_transfer = _look_for_the_switch

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
        f"For all parties, also while the call rings or waits. {_ONCE}",
        conflicts=[ErrorCode.CALL_OVER, ErrorCode.NO_CONNECTION_TO_PBX],
    )
    def hang_up(self, request: Request, connection_id: str) -> Response:
        return self._ask(connection_id, CallCommand.Kind.HANG_UP)

    @operation(
        "hold_call",
        "Put a call on hold",
        f"The customer hears music, the agent nothing. {_ONCE}",
        conflicts=[
            ErrorCode.CALL_OVER,
            ErrorCode.CALL_NOT_TALKING,
            ErrorCode.NO_CONNECTION_TO_PBX,
            ErrorCode.CALL_ON_HOLD,
        ],
    )
    def hold(self, request: Request, connection_id: str) -> Response:
        return self._ask(connection_id, CallCommand.Kind.HOLD)

    @operation(
        "resume_call",
        "Resume a call that is on hold",
        _ONCE,
        conflicts=[
            ErrorCode.CALL_OVER,
            ErrorCode.CALL_NOT_TALKING,
            ErrorCode.NO_CONNECTION_TO_PBX,
            ErrorCode.CALL_NOT_ON_HOLD,
        ],
    )
    def resume(self, request: Request, connection_id: str) -> Response:
        return self._ask(connection_id, CallCommand.Kind.RESUME)

    @operation(
        "transfer_call",
        "Transfer a call",
        "To a queue, in which the customer waits, or to a number, which rings while the customer hears music. The"
        " agent leaves the call at once. Give one of the three. If the number does not answer, the customer returns"
        f" to the agent who transferred the call, else to the queue of the call. {_ONCE}",
        body=TransferInput,
        errors=[ErrorCode.TRANSFER_TARGET],
        conflicts=[ErrorCode.CALL_OVER, ErrorCode.CALL_NOT_TALKING, ErrorCode.NO_CONNECTION_TO_PBX],
    )
    def transfer(self, request: Request, connection_id: str) -> Response:
        connection = connection_or_404(connection_id)
        values, faults = self.read(TransferInput)
        commands.ask_transfer(self.actor, connection, faults, is_there=self.is_there, **values)
        return Response(status=204)

    def _ask(self, connection_id: str, kind: CallCommand.Kind) -> Response:
        commands.ask(self.actor, connection_or_404(connection_id), kind, is_there=self.is_there)
        return Response(status=204)
