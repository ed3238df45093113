from typing import cast

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.field_tables import properties, row_writer
from callcentre.api.openapi import array, count, operation, page, second, shape, text
from callcentre.api.pagination import limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode, Fault, NotFound
from callcentre.core.lookups import found_or_404
from telephony import connection_rows
from telephony.api.filters import ConnectionFilterSet
from telephony.models import Connection, Consultation
from telephony.models.connection import ConnectionQuerySet
from telephony.models.connection_fields import CONNECTION_FIELDS, DETAIL_FIELDS

_listed, _detailed = row_writer(CONNECTION_FIELDS), row_writer(DETAIL_FIELDS)


CONNECTION = shape("Connection", "A call, in or out.", **properties(CONNECTION_FIELDS))
TALK = shape(
    "Talk",
    "The time for which one agent talked with the customer.",
    agent_login=text("The agent's login.", "agent1"),
    started_at=second("Start: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:30:07"),
    seconds=count("Whole seconds, time on hold included; 0 for an open talk.", 58),
)
CONSULTATION = shape(
    "Consultation",
    "An agent or a number that the agent of the call has called to ask for advice.",
    from_agent_login=text("Login of the agent who asked.", "agent1"),
    agent_login=text("Login of the agent who was called; an empty string for a number outside.", "agent2"),
    number=text("The number that was called.", "102"),
    asked_at=second("When it was called.", "2026-11-21 09:30:07"),
    up_at=second("When it was picked up; an empty string if it was not."),
    joined_at=second("From when on it talked with the customer; an empty string if it did not."),
    ended_at=second("When it left, or got the call; an empty string while it goes on."),
    reason=text("Why it was not picked up; an empty string if it was.", "", of="cause_text"),
)
CONNECTION_DETAILS = shape(
    "ConnectionDetails",
    "A call, in or out, with the cause of its end, the talk of each agent, and who was consulted.",
    **properties(DETAIL_FIELDS),
    talks=array(TALK, "In the order of their starts. A call that comes back to an agent is a further talk."),
    consultations=array(CONSULTATION, "In the order in which the phones were called."),
)


class ConnectionViewSet(ApiViewSet):
    """Calls, in and out, open and ended."""

    area = "connections"

    @operation(
        "list_connections",
        "List the connections",
        "Open and ended ones, newest first. A filter by an unknown agent or queue finds none. Numbers are"
        " compared in their normal form: `+48 22 555 01 07` finds `225550107`.",
        filter_set=ConnectionFilterSet,
        is_paged=True,
        answer=page(CONNECTION),
    )
    def list(self, request: Request) -> Response:
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults)
        connections = ConnectionFilterSet.filtered(request, Connection.objects.all(), faults)
        count, rows = connection_rows.page(cast("ConnectionQuerySet", connections), limit, offset)
        return Response({"count": count, "result": [_listed(row) for row in rows]})

    @operation(
        "read_connection",
        "Read a connection",
        "The row of the list, the cause of the end of the call, and how long each agent talked. A call that"
        " was transferred has a talk for each agent.",
        answer=CONNECTION_DETAILS,
    )
    def retrieve(self, request: Request, connection_id: str) -> Response:
        row = connection_rows.details(Connection.objects.with_uid(connection_id))
        if row is None:
            raise NotFound(ErrorCode.CONNECTION_NOT_FOUND)
        talks = [TALK.data(talk) for talk in connection_rows.talks(row["id"])]
        asked = Consultation.objects.filter(connection=row["id"]).select_related("agent", "from_agent")
        consultations = [
            CONSULTATION.data(
                one, from_agent_login=one.from_agent.login, agent_login=one.agent.login if one.agent else ""
            )
            for one in asked
        ]
        return Response({**_detailed(row), "talks": talks, "consultations": consultations})


def connection_or_404(connection_id: str) -> Connection:
    return found_or_404(Connection.objects.with_uid(connection_id).first(), ErrorCode.CONNECTION_NOT_FOUND)
