"""Documents of the API: connections."""

from callcentre.api.field_tables import properties
from callcentre.api.openapi import Operation, array, document, integer, page, path, shape, text
from callcentre.core.errors import ErrorCode
from telephony.api.connections import ConnectionViewSet
from telephony.api.filters import ConnectionFilterSet
from telephony.models.connection_fields import CONNECTION_FIELDS, DETAIL_FIELDS

CONNECTION = shape("Connection", "A call, in or out.", **properties(CONNECTION_FIELDS))
TALK = shape(
    "Talk",
    "The time for which one agent talked with the customer.",
    agent_login=text("The agent's login.", "agent1"),
    started_at=text("Start: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:30:07"),
    seconds=integer("Whole seconds, time on hold included; 0 for an open talk.", 58, minimum=0),
)
CONNECTION_DETAILS = shape(
    "ConnectionDetails",
    "A call, in or out, with the cause of its end and the talk of each agent.",
    **properties(DETAIL_FIELDS),
    talks=array(TALK, "In the order of their starts. A call that comes back to an agent is a further talk."),
)

document(
    ConnectionViewSet,
    {"connection_id": path("id", "Id of the connection.", "1416225570.341", ErrorCode.CONNECTION_NOT_FOUND)},
    list=Operation(
        id="list_connections",
        summary="List the connections",
        description=(
            "Open and ended ones, newest first. A filter by an unknown agent or queue finds none. Numbers are"
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
