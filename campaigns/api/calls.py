"""Calls of campaigns: the result that an agent gives, the call that an agent is in, and offered records."""

from rest_framework.request import Request
from rest_framework.response import Response

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
    """Results of calls that the dialler placed."""

    area = "connections"

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
        row = record_rows.by_id(connection.campaign_code, connection.record_id) if connection.record_id else None
        return Response(
            {
                "connection_id": connection.uid,
                "outbound_id": connection.campaign_code or None,
                "record": full_record_data(row) if row else None,
                "state": state,
                "since": second(since),
            }
        )


class PreviewViewSet(ApiViewSet):
    """The record that is offered to an agent."""

    area = "agents"

    def retrieve(self, request: Request, login: str) -> Response:
        offer = previews.current_offer(agent_or_404(login))
        row = record_rows.by_id(offer.campaign.code, offer.record_id) if offer else None
        if offer is None or row is None:
            return Response(status=204)
        return Response(
            {
                "outbound_id": offer.campaign.code,
                "record": full_record_data(row),
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
