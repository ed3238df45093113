from typing import Any

from django.db.models import Count, F
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode
from callcentre.core.lookups import found_or_404
from campaigns.api.serializers import (
    CampaignEditInput,
    CampaignGroupInput,
    CampaignInput,
    CloneInput,
    LoginsInput,
    campaign_data,
)
from campaigns.models import Campaign, CampaignGroup, SystemStatus
from campaigns.verbs.campaigns import (
    add_agents,
    clone_campaign,
    create_campaign,
    create_group,
    edit_campaign,
    remove_agents,
)
from telephony.api.serializers import agent_data


class CampaignViewSet(ApiViewSet):
    """Outbound campaigns and their agents."""

    area = "campaigns"

    def list(self, request: Request) -> Response:
        campaigns = Campaign.objects.prefetch_related("fields")
        return Response([campaign_data(campaign) for campaign in campaigns])

    def create(self, request: Request) -> Response:
        values, faults = self.read(CampaignInput)
        campaign = create_campaign(self.actor, faults, **values, is_dialling=True)
        return Response({"id": campaign.code, "outbound_id": campaign.code}, status=201)

    def retrieve(self, request: Request, code: str) -> Response:
        return Response(campaign_data(campaign_or_404(code)))

    def update(self, request: Request, code: str) -> Response:
        campaign = campaign_or_404(code)
        values, faults = self.read(CampaignEditInput, is_partial=True)
        edit_campaign(campaign, self.actor, faults, **values)
        return Response(status=204)

    def clone(self, request: Request, code: str) -> Response:
        source = campaign_or_404(code)
        values, faults = self.read(CloneInput)
        return Response({"id": clone_campaign(source, self.actor, faults, **values).code}, status=201)

    def agents(self, request: Request, code: str) -> Response:
        return Response([agent_data(agent) for agent in campaign_or_404(code).agents.all()])

    def add_agents(self, request: Request, code: str) -> Response:
        campaign = campaign_or_404(code)
        values, faults = self.read(LoginsInput)
        add_agents(campaign, self.actor, values.get("logins", ()), faults)
        return Response(status=204)

    def remove_agents(self, request: Request, code: str) -> Response:
        campaign = campaign_or_404(code)
        values, faults = self.read(LoginsInput)
        remove_agents(campaign, self.actor, values.get("logins", ()), faults)
        return Response(status=204)

    def statuses(self, request: Request, code: str) -> Response:
        statuses = campaign_or_404(code).statuses.annotate(status_id=F("id"))
        return Response([*statuses.values("status_id", "name", "system_status", "dictionary_status_id")])

    def stats(self, request: Request, code: str) -> Response:
        campaign = campaign_or_404(code)
        counted = campaign.records.order_by().values_list("system_status").annotate(count=Count("pk"))
        by_status = dict.fromkeys(SystemStatus.values, 0) | dict(counted)
        total = sum(by_status.values())
        completed = sum(by_status[status] for status in SystemStatus.completed())
        return Response(
            {
                "id": campaign.code,
                "records_count": total,
                "completion_percent": round(100 * completed / total, 2) if total else 0,
                "by_system_status": by_status,
            }
        )


def campaign_or_404(code: str) -> Campaign:
    campaigns = Campaign.objects.prefetch_related("fields").filter(code=code)
    return found_or_404(campaigns.first(), ErrorCode.CAMPAIGN_NOT_FOUND)


class CampaignGroupViewSet(ApiViewSet):
    """Groups of campaigns."""

    area = "campaigns"

    def list(self, request: Request) -> Response:
        return Response([_group_data(group) for group in CampaignGroup.objects.all()])

    def create(self, request: Request) -> Response:
        values, faults = self.read(CampaignGroupInput)
        return Response(_group_data(create_group(self.actor, faults=faults, **{"name": "", **values})), status=201)


def _group_data(group: CampaignGroup) -> dict[str, Any]:
    return {"id": group.pk, "name": group.name}
