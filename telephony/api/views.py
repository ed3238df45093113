from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.viewsets import ApiViewSet
from telephony.api.serializers import agent_data
from telephony.models import Agent, AgentGroup


class AgentViewSet(ApiViewSet):
    """People who answer and place calls."""

    area = "agents"

    def list(self, request: Request) -> Response:
        return Response([agent_data(agent) for agent in Agent.objects.all()])

    def retrieve(self, request: Request, login: str) -> Response:
        agent = Agent.objects.filter(login=login).first()
        if agent is None:
            raise Http404
        return Response(agent_data(agent))


class AgentGroupViewSet(ApiViewSet):
    """Groups of agents."""

    area = "agents"

    def list(self, request: Request) -> Response:
        return Response([{"id": pk, "name": name} for pk, name in AgentGroup.objects.values_list("pk", "name")])
