"""Documents of the API: placing calls, and commands to open calls."""

from callcentre.api.openapi import Operation, describe, document, path
from callcentre.core.errors import ErrorCode
from telephony.api.calls import CallInput, CallViewSet, TransferInput

describe(
    CallInput,
    sip={"description": "SIP number of an active agent's phone, which rings first.", "example": "101"},
    phone_number={
        "description": "Number to be called once the agent has picked up, in any spelling.",
        "example": "+48 22 555 01 07",
    },
)
describe(
    TransferInput,
    queue_id={"description": "Queue in which the caller waits from now on.", "example": 3},
    number={"description": "Number to be called, or the SIP number of another agent.", "example": "+48 22 555 01 99"},
    transfer_shortcut_id={"description": "Transfer shortcut that names the queue or number.", "example": 2},
)

_ONCE = (
    "It is carried out right after the answer, and after earlier commands to the call. If the call ends meanwhile, it"
    " is dropped."
)
_NO_PBX = {ErrorCode.NO_CONNECTION_TO_PBX: ""}
_NOT_TALKING = {ErrorCode.CALL_OVER: "", ErrorCode.CALL_NOT_TALKING: "", **_NO_PBX}

document(
    CallViewSet,
    {"connection_id": path("id", "Unique id of the connection.", "1416225570.341", ErrorCode.CONNECTION_NOT_FOUND)},
    call=Operation(
        id="call",
        summary="Set up a call",
        description=(
            "The agent's phone rings first; when it is picked up the number is called, and then both can talk. The"
            " answer does not tell the result of the call: see `GET /connections` and the events `CONNECTION_…`. While"
            " the phone is in a call, the new call waits, and is placed afterwards, in the order of the requests. A"
            " call that cannot be placed within a configured time has failed."
        ),
        body=CallInput,
        request_example={"sip": "101", "phone_number": "+48 22 555 01 07"},
        errors={
            ErrorCode.SIP_UNKNOWN: "sip",
            ErrorCode.PHONE_LETTERS: "phone_number",
            ErrorCode.PHONE_INVALID: "phone_number",
            ErrorCode.PHONE_TOO_LONG: "phone_number",
        },
    ),
    hang_up=Operation(
        id="hang_up_call",
        summary="Hang up a call",
        description=f"For all parties, also while the call rings or waits. {_ONCE}",
        is_extension=True,
        conflicts={ErrorCode.CALL_OVER: "", **_NO_PBX},
    ),
    hold=Operation(
        id="hold_call",
        summary="Put a call on hold",
        description=f"The customer hears music, the agent nothing. {_ONCE}",
        is_extension=True,
        conflicts={**_NOT_TALKING, ErrorCode.CALL_ON_HOLD: ""},
    ),
    resume=Operation(
        id="resume_call",
        summary="Resume a call that is on hold",
        description=_ONCE,
        is_extension=True,
        conflicts={**_NOT_TALKING, ErrorCode.CALL_NOT_ON_HOLD: ""},
    ),
    transfer=Operation(
        id="transfer_call",
        summary="Transfer a call",
        description=(
            "To a queue, in which the customer waits, or to a number, which rings while the customer hears music. The"
            " agent leaves the call at once. Give one of the three. If the number does not answer, the customer returns"
            f" to the agent who transferred the call, else to the queue of the call. {_ONCE}"
        ),
        is_extension=True,
        body=TransferInput,
        request_example={"number": "+48 22 555 01 99"},
        errors={
            ErrorCode.TRANSFER_TARGET: "",
            ErrorCode.QUEUE_UNKNOWN: "queue_id",
            ErrorCode.PHONE_LETTERS: "number",
            ErrorCode.PHONE_INVALID: "number",
            ErrorCode.PHONE_TOO_LONG: "number",
            ErrorCode.SHORTCUT_UNKNOWN: "transfer_shortcut_id",
        },
        conflicts=_NOT_TALKING,
    ),
)
