from typing import cast

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.field_tables import row_writer
from callcentre.api.pagination import limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode, Fault, NotFound
from callcentre.core.times import second
from telephony import connection_rows
from telephony.api.filters import ConnectionFilterSet
from telephony.models import Connection
from telephony.models.connection import ConnectionQuerySet
from telephony.models.connection_fields import CONNECTION_FIELDS, DETAIL_FIELDS

_listed, _detailed = row_writer(CONNECTION_FIELDS), row_writer(DETAIL_FIELDS)


class ConnectionViewSet(ApiViewSet):
    """Calls, in and out, open and ended."""

    area = "connections"

    def list(self, request: Request) -> Response:
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults)
        connections = ConnectionFilterSet.filtered(request, Connection.objects.all(), faults)
        count, rows = connection_rows.page(cast("ConnectionQuerySet", connections), limit, offset)
        return Response({"count": count, "result": [_listed(row) for row in rows]})

    def retrieve(self, request: Request, connection_id: str) -> Response:
        row = connection_rows.details(Connection.objects.with_uid(connection_id))
        if row is None:
            raise NotFound(ErrorCode.CONNECTION_NOT_FOUND)
        talks = [
            {"agent_login": talk.agent_login, "started_at": second(talk.started_at), "seconds": talk.seconds}
            for talk in connection_rows.talks(row["id"])
        ]
        return Response({**_detailed(row), "talks": talks})
