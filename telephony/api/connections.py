from datetime import datetime
from typing import Any, cast

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.pagination import limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import Fault
from callcentre.core.times import second, zone
from telephony import connection_rows
from telephony.api.filters import ConnectionFilterSet
from telephony.models import Connection
from telephony.models.connection import ConnectionQuerySet


class ConnectionViewSet(ApiViewSet):
    """Calls, in and out: those that go on and those that are over."""

    area = "connections"

    def list(self, request: Request) -> Response:
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults)
        connections = ConnectionFilterSet.filtered(request, Connection.objects.all(), faults)
        count, rows = connection_rows.page(cast("ConnectionQuerySet", connections), limit, offset)
        return Response({"count": count, "result": [connection_data(*row) for row in rows]})

    def retrieve(self, request: Request, connection_id: str) -> Response:
        if (found := connection_rows.one(Connection.objects.with_uid(connection_id))) is None:
            raise Http404
        cause, cause_text, row = found
        talks = [
            {"agent_login": talk.agent_login, "started_at": second(talk.started_at), "seconds": talk.seconds}
            for talk in connection_rows.talks(row[0])
        ]
        return Response({**connection_data(*row), "cause": cause, "cause_text": cause_text, "talks": talks})


def connection_data(pk: int, start: int, answer: int | None, end: int | None, *others: Any) -> dict[str, Any]:
    """Of a row as telephony.connection_rows has it."""
    src, dst, disposition, login, direction, queue_id, customer_id, topic_id, transcription_status, recording = others
    return {
        "date": datetime.fromtimestamp(start, zone()).isoformat(" ", "minutes")[:16],
        "src": src,
        "dst": dst,
        "disposition": disposition,
        "duration": max(end - start, 0) if end else 0,
        "billsec": max(end - answer, 0) if end and answer else 0,
        "user_login": login or "",
        "connection_id": f"{start}.{pk}",
        "type": direction,
        "queue_id": queue_id,
        "topic_id": topic_id,
        "customer_id": customer_id,
        "filename": f"{recording}.wav" if recording else "",
        "transcription_status": transcription_status or "",
    }
