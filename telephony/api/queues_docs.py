"""Documents of the API: queues and their waiting callers."""

from callcentre.api.openapi import Operation, array, document, integer, path, shape, text
from callcentre.core.errors import ErrorCode
from telephony.api.queues import QueueViewSet

QUEUE = shape(
    "Queue",
    "Callers who wait for one of some agents.",
    id=integer("The queue's id.", 3),
    name=text("The queue's name.", "Hotline"),
)
WAITING_STATS = shape(
    "WaitingStats",
    "The number of waiting callers of a queue, and the estimated wait of a new one.",
    waiting=integer("Callers who wait.", 2, minimum=0),
    estimated_waiting_time=integer(
        "Whole seconds, estimated from the length of the queue's last calls and its present agents; 0 if an agent is"
        " free, null if none is logged in or all are paused.",
        90,
        nullable=True,
        minimum=0,
    ),
)
CALLER = shape(
    "WaitingCaller",
    "A caller who waits in a queue.",
    phone_number=text("The caller's number, as the switch reported it.", "+48225550107"),
    started_at=text("Start of the wait: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:30:00"),
    customer_id=integer("Customer with the number.", 77, nullable=True),
    customer_label=text(
        "The customer's name; an empty string where there is none, or no right `customers:read`.", "Jan Kowal"
    ),
)

document(
    QueueViewSet,
    {"queue_id": path("id", "Id of the queue.", "3", ErrorCode.QUEUE_NOT_FOUND)},
    list=Operation(
        id="list_queues",
        summary="List the queues",
        description="All of them, ordered by name; those that take no calls any more are among them.",
        is_extension=True,
        answer=array(QUEUE),
    ),
    waiting_stats=Operation(
        id="read_waiting_stats", summary="Read how many wait in a queue", is_extension=True, answer=WAITING_STATS
    ),
    waiting_list=Operation(
        id="list_waiting_callers",
        summary="List the waiting callers of a queue",
        description="In the order in which they entered it.",
        is_extension=True,
        answer=array(CALLER),
    ),
)
