"""Calls of campaigns: the result that an agent gives, the call that an agent is in, and offered records."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.authentication import Principal
from callcentre.api.fields import Input, TextField
from callcentre.api.openapi import SHAPES, Schema, operation, second, shape, text
from callcentre.api.viewsets import ApiViewSet
from callcentre.core import times
from callcentre.core.errors import ErrorCode
from campaigns.api.records import CORE, FIELDS
from campaigns.api.serializers import ResultInput, full_record_data
from campaigns.dialling import previews
from campaigns.models import record_rows
from campaigns.verbs.results import give_result
from telephony.api.agents import agent_or_404
from telephony.api.connections import connection_or_404
from telephony.current_states import current_call


class SkipInput(Input):
    reason = TextField("Why the record is not called.", required=False, max_length=300, example="Called yesterday.")


shape("RecordOfCall", "A record with its fields.", **CORE, record_fields=FIELDS)


def _or_null(description: str) -> Schema:
    return {**SHAPES["RecordOfCall"], "nullable": True, "description": description}


PREVIEW = shape(
    "Preview",
    "A record that is offered to an agent.",
    outbound_id=text("Campaign of the record.", "DEMO2", of=lambda offer: offer.campaign.code),
    record=_or_null("The record with its fields; null without the right `campaigns:read`."),
    offered_at=second("Start of the offer: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:30:00"),
    expires_at=second("Its end: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:31:00"),
)
CALL_OF_AGENT = shape(
    "AgentCall",
    "The call that an agent is in.",
    connection_id=text("The connection's id.", "1416225570.341"),
    outbound_id=text("Campaign of the call; null for other calls.", "DEMO1", nullable=True),
    record=_or_null(
        "The record with its fields; null for other calls, after it was deleted, and without the right"
        " `campaigns:read`."
    ),
    state=text("The agent's part in the call.", "talking", enum=["ringing", "talking", "wrap_up"]),
    since=text("Start of that: `YYYY-MM-DD hh:mm:ss`.", "2026-11-21 09:30:00"),
)


class ResultViewSet(ApiViewSet):
    """Results of calls that the dialler placed. A result edits the record of the call."""

    area = "campaigns"

    @operation(
        "give_result",
        "Give the result of a call of a campaign",
        "During the call it is kept, and written to the record when the call ends. A later result replaces"
        " an earlier one, until five minutes after the end of the call, or until the record is reserved"
        " again. A call without a result at the end of the wrap-up has the result *Contacted*. It edits the"
        " record, which takes the right to write campaigns.",
        body=ResultInput,
        conflicts=[
            ErrorCode.CALL_OF_NO_CAMPAIGN,
            ErrorCode.RESULT_TOO_LATE,
            ErrorCode.RECORD_RESERVED,
            ErrorCode.RECORD_NOT_FOUND,
        ],
    )
    def give(self, request: Request, connection_id: str) -> None:
        connection = connection_or_404(connection_id)
        values, faults = self.read(ResultInput)
        give_result(connection, self.actor, faults, **values)


class AgentCallViewSet(ApiViewSet):
    """The call that an agent is in, with the record that it is about."""

    area = "agents"

    @operation(
        "read_call_of_agent",
        "Read the call that an agent is in",
        "With the record that the dialler called.",
        answer=CALL_OF_AGENT,
        is_empty_if="The agent is in no call.",
    )
    def retrieve(self, request: Request, login: str) -> Response:
        found = current_call(agent_or_404(login).pk)
        if found is None:
            return Response(status=204)
        connection, state, since = found
        return Response(
            {
                "connection_id": connection.uid,
                "outbound_id": connection.campaign_code or None,
                "record": _record(self.principal, connection.campaign_code, connection.record_id),
                "state": state,
                "since": times.second(since),
            }
        )


class PreviewViewSet(ApiViewSet):
    """The record that is offered to an agent."""

    area = "agents"

    @operation(
        "read_preview",
        "Read the record that is offered to an agent",
        "In a campaign with the dialler `preview`. At `expires_at` the record is returned, or called, as"
        " the campaign says. To set the agent ready, to pause or to log out means to skip it.",
        answer=PREVIEW,
        is_empty_if="No record is offered to the agent.",
    )
    def retrieve(self, request: Request, login: str) -> Response:
        offer = previews.current_offer(agent_or_404(login))
        if offer is None:
            return Response(status=204)
        record = _record(self.principal, offer.campaign.code, offer.record_id)
        return Response(PREVIEW.data(offer, record=record))

    @operation(
        "accept_preview",
        "Call the offered record",
        "The agent's phone rings first; when it is picked up the number is called.",
        answer=shape("AcceptedPreview", "The call.", connection_id=text("The connection's id.", "1416225570.341")),
        conflicts=[ErrorCode.NO_OFFER, ErrorCode.NOT_CALLABLE, ErrorCode.NO_LINE, ErrorCode.NO_CONNECTION_TO_PBX],
    )
    def accept(self, request: Request, login: str) -> Response:
        connection = previews.accept(agent_or_404(login), self.actor)
        return Response({"connection_id": connection.uid}, status=201)

    @operation(
        "skip_preview",
        "Skip the offered record",
        "The record is returned. It is not offered to this agent for an hour.",
        body=SkipInput,
        conflicts=[ErrorCode.NO_OFFER],
    )
    def skip(self, request: Request, login: str) -> None:
        agent = agent_or_404(login)
        values, faults = self.read(SkipInput)
        previews.skip(agent, self.actor, faults, **values)


def _record(principal: Principal, code: str, record_id: int | None) -> dict[str, Any] | None:
    """Return a record with its fields, if there is one and the API user has the right to read records."""
    if record_id is None or not principal.has_right("campaigns:read"):
        return None
    row = record_rows.by_id(code, record_id)
    return full_record_data(row) if row else None
