from collections.abc import Sequence
from typing import Any

from django.db.models import OuterRef, Subquery
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import minute
from callcentre.api.pagination import LimitOffset
from callcentre.api.viewsets import ApiViewSet
from telephony.api.filters import ConnectionFilterSet
from telephony.models import Connection, Recording

# The first that is ours: a call that was held has several, and one that is removed has no file.
_RECORDING = Recording.objects.ready().filter(connection=OuterRef("pk")).order_by("id").values("name")[:1]
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
    "topic__topic_id",
    "transcription__status",
    Subquery(_RECORDING),
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
    pk, created_at, answered_at, ended_at, src, dst, disposition, login, *others = row
    direction, queue_id, customer_id, topic_id, transcription_status, recording = others
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
        "topic_id": topic_id,
        "customer_id": customer_id,
        "filename": f"{recording}.wav" if recording else "",
        "transcription_status": transcription_status or "",
    }
