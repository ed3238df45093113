from collections.abc import Sequence
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import minute
from callcentre.api.pagination import LimitOffset
from callcentre.api.viewsets import ApiViewSet
from telephony.api.filters import ConnectionFilterSet
from telephony.models import Connection

# What connection_data reads.
COLUMNS = (
    "id",
    "created_at",
    "answered_at",
    "ended_at",
    "src",
    "dst",
    "disposition",
    "agent__login",
    "direction",
    "queue_id",
    "customer_id",
)


class ConnectionViewSet(ApiViewSet):
    """Calls, in and out: those that go on and those that are over."""

    area = "connections"

    def list(self, request: Request) -> Response:
        paginator = LimitOffset()
        connections = ConnectionFilterSet.filtered(request, Connection.objects.all(), paginator.faults(request))
        rows = paginator.paginate_queryset(connections, request, columns=COLUMNS)
        return paginator.get_paginated_response([connection_data(row) for row in rows])


def connection_data(row: Sequence[Any]) -> dict[str, Any]:
    pk, created_at, answered_at, ended_at, src, dst, disposition, login, direction, queue_id, customer_id = row
    return {
        "date": minute(created_at),
        "src": src,
        "dst": dst,
        "disposition": disposition,
        "duration": int((ended_at - created_at).total_seconds()) if ended_at else 0,
        "billsec": int((ended_at - answered_at).total_seconds()) if ended_at and answered_at else 0,
        "user_login": login or "",
        "connection_id": f"{int(created_at.timestamp())}.{pk}",
        "type": direction,
        "queue_id": queue_id,
        "topic_id": None,
        "customer_id": customer_id,
        "filename": "",
        "transcription_status": "",
    }
