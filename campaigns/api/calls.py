"""Calls of campaigns: the result that an agent gives, the call that an agent is in, and offered records."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.authentication import Principal
from callcentre.api.fields import TextField
from callcentre.api.serializers import Input
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.times import second
from campaigns.api.serializers import ResultInput, full_record_data
from campaigns.dialling import previews
from campaigns.models import record_rows
from campaigns.verbs.results import give_result
from telephony.api.agents import agent_or_404
from telephony.api.lookup import connection_or_404
from telephony.current_states import current_call


class SkipInput(Input):
    reason = TextField(required=False, max_length=300)


class ResultViewSet(ApiViewSet):
    """Results of calls that the dialler placed. A result edits the record of the call."""

    area = "campaigns"

    def give(self, request: Request, connection_id: str) -> Response:
        connection = connection_or_404(connection_id)
        values, faults = self.read(ResultInput)
        give_result(connection, self.actor, faults, **values)
        return Response(status=204)


class AgentCallViewSet(ApiViewSet):
    """The call that an agent is in, with the record that it is about."""

    area = "agents"

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
                "since": second(since),
            }
        )


class PreviewViewSet(ApiViewSet):
    """The record that is offered to an agent."""

    area = "agents"

    def retrieve(self, request: Request, login: str) -> Response:
        offer = previews.current_offer(agent_or_404(login))
        if offer is None:
            return Response(status=204)
        return Response(
            {
                "outbound_id": offer.campaign.code,
                "record": _record(self.principal, offer.campaign.code, offer.record_id),
                "offered_at": second(offer.offered_at),
                "expires_at": second(offer.expires_at),
            }
        )

    def accept(self, request: Request, login: str) -> Response:
        connection = previews.accept(agent_or_404(login), self.actor)
        return Response({"connection_id": connection.uid}, status=201)

    def skip(self, request: Request, login: str) -> Response:
        agent = agent_or_404(login)
        values, faults = self.read(SkipInput)
        previews.skip(agent, self.actor, faults, **values)
        return Response(status=204)


def _record(principal: Principal, code: str, record_id: int | None) -> dict[str, Any] | None:
    """Return a record with its fields, if there is one and the API user has the right to read records."""
    if record_id is None or not principal.has_right("campaigns:read"):
        return None
    row = record_rows.by_id(code, record_id)
    return full_record_data(row) if row else None
