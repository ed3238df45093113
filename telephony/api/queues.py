from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.openapi import array, integer, operation, second, shape, text
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode
from callcentre.core.lookups import get_or_404
from telephony import queue_waits
from telephony.models import Queue

QUEUE = shape(
    "Queue",
    "Callers who wait for one of some agents.",
    id=integer("The queue's id.", 3, of="pk"),
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
        of="estimated_seconds",
    ),
)
CALLER = shape(
    "WaitingCaller",
    "A caller who waits in a queue.",
    phone_number=text("The caller's number, as the switch reported it.", "+48225550107", of="number"),
    started_at=second("Start of the wait: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:30:00", of="since"),
    customer_id=integer("Customer with the number.", 77, nullable=True),
    customer_label=text(
        "The customer's name; an empty string where there is none, or no right `customers:read`.", "Jan Kowal"
    ),
)


class QueueViewSet(ApiViewSet):
    """Queues of callers."""

    area = "connections"

    @operation(
        "list_queues",
        "List the queues",
        "All of them, ordered by name; those that take no calls any more are among them.",
        answer=array(QUEUE),
    )
    def list(self, request: Request) -> Response:
        return Response([QUEUE.data(queue) for queue in Queue.objects.all()])

    @operation("read_waiting_stats", "Read how many wait in a queue", answer=WAITING_STATS)
    def waiting_stats(self, request: Request, queue_id: str) -> Response:
        situation = queue_waits.situations([queue_or_404(queue_id).pk]).popitem()[1]
        return Response(WAITING_STATS.data(situation))

    @operation(
        "list_waiting_callers",
        "List the waiting callers of a queue",
        "In the order in which they entered it.",
        answer=array(CALLER),
    )
    def waiting_list(self, request: Request, queue_id: str) -> Response:
        sees_names = self.principal.has_right("customers:read")
        callers = queue_waits.callers(queue_or_404(queue_id))
        return Response([CALLER.data(caller, **({} if sees_names else {"customer_label": ""})) for caller in callers])


def queue_or_404(queue_id: str) -> Queue:
    return get_or_404(Queue.objects.all(), queue_id, ErrorCode.QUEUE_NOT_FOUND)
