from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import BooleanField, IdField
from callcentre.api.serializers import Input
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode
from callcentre.core.lookups import found_or_404
from callcentre.core.times import second
from telephony.api.serializers import agent_data
from telephony.calls import lines
from telephony.current_states import Current, current_states
from telephony.models import Agent, AgentGroup, Pause
from telephony.verbs import presence
from telephony.verbs.agents import edit_agent


class AgentEditInput(Input):
    outbound_mode = BooleanField(required=False)
    has_line = BooleanField(required=False)


class PauseInput(Input):
    pause_id = IdField()


class AgentViewSet(ApiViewSet):
    """People who answer and place calls."""

    area = "agents"

    def list(self, request: Request) -> Response:
        return Response([agent_data(agent) for agent in Agent.objects.all()])

    def retrieve(self, request: Request, login: str) -> Response:
        return Response(agent_data(agent_or_404(login)))

    def update(self, request: Request, login: str) -> Response:
        agent = agent_or_404(login)
        values, faults = self.read(AgentEditInput, is_partial=True)
        edit_agent(agent, self.actor, faults, **values)
        return Response(status=204)

    def statuses(self, request: Request) -> Response:
        agents: list[tuple[int, str]] = list(Agent.objects.active().values_list("pk", "login"))
        states = current_states([pk for pk, _ in agents])
        return Response([{"login": login, **_status_data(states[pk])} for pk, login in agents])

    def log_in(self, request: Request, login: str) -> Response:
        presence.log_in(agent_or_404(login), self.actor)
        return Response(status=204)

    def log_out(self, request: Request, login: str) -> Response:
        presence.log_out(agent_or_404(login), self.actor)
        return Response(status=204)

    def pause(self, request: Request, login: str) -> Response:
        agent = agent_or_404(login)
        values, faults = self.read(PauseInput)
        presence.pause(agent, self.actor, values.get("pause_id"), faults)
        return Response(status=204)

    def free(self, request: Request, login: str) -> Response:
        presence.free(agent_or_404(login), self.actor)
        return Response(status=204)

    def begin_line(self, request: Request, login: str) -> Response:
        lines.ask_for_line(agent_or_404(login), self.actor)
        return Response(status=204)

    def end_line(self, request: Request, login: str) -> Response:
        lines.end_line(agent_or_404(login), self.actor)
        return Response(status=204)


def agent_or_404(login: str) -> Agent:
    return found_or_404(Agent.objects.filter(login=login).first(), ErrorCode.AGENT_NOT_FOUND)


def _status_data(current: Current) -> dict[str, Any]:
    return {"status": current.status, "since": second(current.since), "pause_id": current.pause_id}


class AgentGroupViewSet(ApiViewSet):
    """Groups of agents."""

    area = "agents"

    def list(self, request: Request) -> Response:
        return Response([{"id": pk, "name": name} for pk, name in AgentGroup.objects.values_list("pk", "name")])


class PauseViewSet(ApiViewSet):
    """Reasons for which agents take no calls."""

    area = "system"

    def list(self, request: Request) -> Response:
        pauses = Pause.objects.values_list("pk", "name", "is_active")
        return Response([{"id": pk, "name": name, "active": is_active} for pk, name, is_active in pauses])
