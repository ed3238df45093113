from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode
from callcentre.core.lookups import get_or_404
from callcentre.core.times import second
from telephony import queue_waits
from telephony.models import Queue


class QueueViewSet(ApiViewSet):
    """Queues of callers."""

    area = "connections"

    def list(self, request: Request) -> Response:
        return Response([{"id": pk, "name": name} for pk, name in Queue.objects.values_list("pk", "name")])

    def waiting_stats(self, request: Request, queue_id: str) -> Response:
        situation = queue_waits.situations([queue_or_404(queue_id).pk]).popitem()[1]
        return Response({"waiting": situation.waiting, "estimated_waiting_time": situation.estimated_seconds})

    def waiting_list(self, request: Request, queue_id: str) -> Response:
        sees_names = self.principal.has_right("customers:read")
        return Response(
            [
                {
                    "phone_number": caller.number,
                    "started_at": second(caller.since),
                    "customer_id": caller.customer_id,
                    "customer_label": caller.customer_label if sees_names else "",
                }
                for caller in queue_waits.callers(queue_or_404(queue_id))
            ]
        )


def queue_or_404(queue_id: str) -> Queue:
    return get_or_404(Queue.objects.all(), queue_id, ErrorCode.QUEUE_NOT_FOUND)
