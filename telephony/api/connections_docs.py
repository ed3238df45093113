"""What the documents of the API say of reading connections."""

from callcentre.api.openapi import SHAPES, Operation, array, document, integer, minute, page, path, shape, text
from telephony.api.connections import ConnectionViewSet
from telephony.api.filters import ConnectionFilterSet
from telephony.models import Connection

CONNECTION = shape(
    "Connection",
    "A call, in or out.",
    date=minute("When it was asked for, or came in.", "2026-11-21 09:30"),
    src=text("Who called: the caller's number, or the SIP number of the agent's phone.", "101"),
    dst=text("Who was called.", "+48 22 555 0107"),
    disposition=text(
        "What it came to; an empty string while it goes on.",
        "ANSWERED",
        enum=["", *Connection.Disposition.values],
    ),
    duration=integer("Whole seconds from start to end; 0 while it goes on.", 65, minimum=0),
    billsec=integer("Whole seconds of talk; 0 while it goes on, and where nobody answered.", 58, minimum=0),
    user_login=text("Agent who asked for it, or answered it last; an empty string where there is none.", "agent1"),
    connection_id=text("The connection's id.", "1416225570.341"),
    type=text("Which way.", "OUTBOUND", enum=Connection.Direction.values),
    queue_id=integer("Queue of the call.", 3, nullable=True),
    topic_id=integer("What the call was about.", 5, nullable=True),
    customer_id=integer("Customer with the number.", 77, nullable=True),
    filename=text("Name of the recording; an empty string where there is none.", "1416225570.341.wav"),
    transcription_status=text(
        "State of the transcription; an empty string where there is none.",
        "SUCCESS",
        enum=["", "SUCCESS", "PENDING", "ERROR", "LIMIT_EXCEEDED"],
    ),
)
TALK = shape(
    "Talk",
    "The time for which one agent talked with the customer.",
    agent_login=text("The agent's login.", "agent1"),
    started_at=text("Start: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:30:07"),
    seconds=integer("Whole seconds, time on hold included; 0 while it goes on.", 58, minimum=0),
)
CONNECTION_DETAILS = shape(
    "ConnectionDetails",
    "A call, in or out, with the cause of its end and the talk of each agent.",
    optional=(),
    **SHAPES["Connection"]["properties"],
    cause=integer(
        "ITU-T Q.850 cause of the end, as the switch told it; null while the call goes on and where it is unknown.",
        16,
        nullable=True,
    ),
    cause_text=text("Why the call ended, in words; an empty string while it goes on.", "Normal clearing"),
    talks=array(TALK, "In the order of their starts. A call that comes back to an agent is a further talk."),
)

document(
    ConnectionViewSet,
    {"connection_id": path("id", "Id of the connection.", "1416225570.341")},
    list=Operation(
        id="list_connections",
        summary="List the connections",
        description=(
            "Newest first, those that go on among them. What a filter names and does not exist finds none. Numbers are"
            " compared in their normal form: `+48 22 555 01 07` finds `225550107`."
        ),
        is_extension=True,
        filter_set=ConnectionFilterSet,
        is_paged=True,
        answer=page(CONNECTION),
    ),
    retrieve=Operation(
        id="read_connection",
        summary="Read a connection",
        description=(
            "The row of the list, the cause of the end of the call, and how long each agent talked. A call that was"
            " transferred has a talk for each agent."
        ),
        is_extension=True,
        answer=CONNECTION_DETAILS,
    ),
)
