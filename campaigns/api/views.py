from django.db.models import Count, F
from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.openapi import array, integer, mapping, number, operation, shape, text
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode
from callcentre.core.lookups import found_or_404
from campaigns.api.serializers import (
    CAMPAIGN,
    CampaignEditInput,
    CampaignGroupInput,
    CampaignInput,
    CloneInput,
    LoginsInput,
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
from telephony.api.agents import AGENT

CAMPAIGN_STATUS = shape(
    "CampaignStatus",
    "A status that records of the campaign can have.",
    status_id=integer("The status's id.", 11),
    name=text("Its name.", "To be called"),
    system_status=text("What the dialler does with such a record.", "TO_CALL", enum=SystemStatus.values),
    dictionary_status_id=integer("The dictionary entry behind it.", 1, nullable=True),
)
CAMPAIGN_STATS = shape(
    "CampaignStats",
    "How far a campaign is.",
    id=text("The campaign's id.", "DEMO1"),
    records_count=integer("Records of the campaign.", 200, minimum=0),
    completion_percent=number("Share of records with which nothing more is to be done.", 12.5, minimum=0, maximum=100),
    by_system_status=mapping(
        "Records of each system status.",
        {"type": "integer"},
        dict.fromkeys(SystemStatus.values, 0) | {"TO_CALL": 175, "NO_CALL": 25},
    ),
)
CAMPAIGN_GROUP = shape(
    "CampaignGroup",
    "Campaigns that belong together.",
    id=integer("The group's id.", 1, of="pk"),
    name=text("The group's name.", "Spring"),
)


class CampaignViewSet(ApiViewSet):
    """Outbound campaigns and their agents."""

    area = "campaigns"

    @operation(
        "list_campaigns", "List the campaigns", "All of them, by their order, then by id.", answer=array(CAMPAIGN)
    )
    def list(self, request: Request) -> Response:
        campaigns = Campaign.objects.prefetch_related("fields")
        return Response([CAMPAIGN.data(campaign) for campaign in campaigns])

    @operation(
        "create_campaign",
        "Create a campaign",
        "The new campaign gets one status for each entry of the dictionary. Its dialling runs: a second"
        " after its first records are added, the dialler calls them if agents of the campaign are ready and"
        " the hours allow it. To begin later, use `active` or `start_date`, or pause it (`POST"
        " /outbounds/{id}/dialer/pause`). A clone is paused until `POST /outbounds/{id}/dialer/start`.",
        is_extension=False,
        body=CampaignInput,
        answer=shape(
            "CreatedCampaign",
            "The campaign that was created.",
            id=text("Its id.", "SPR26"),
            outbound_id=text("Its id again.", "SPR26"),
        ),
    )
    def create(self, request: Request) -> Response:
        values, faults = self.read(CampaignInput)
        campaign = create_campaign(self.actor, faults, **values, is_dialling=True)
        return Response({"id": campaign.code, "outbound_id": campaign.code}, status=201)

    @operation("read_campaign", "Read a campaign", answer=CAMPAIGN)
    def retrieve(self, request: Request, code: str) -> Response:
        return Response(CAMPAIGN.data(campaign_or_404(code)))

    @operation(
        "edit_campaign",
        "Edit a campaign",
        "Missing fields, and fields that are null, stay as they are. The id never changes.",
        body=CampaignEditInput,
        is_partial=True,
    )
    def update(self, request: Request, code: str) -> None:
        campaign = campaign_or_404(code)
        values, faults = self.read(CampaignEditInput, is_partial=True)
        edit_campaign(campaign, self.actor, faults, **values)

    @operation(
        "clone_campaign",
        "Clone a campaign",
        "Copies settings, parameters (the given ones win), group, fields, statuses and agents; no records,"
        " no history, no dates. Its dialling is paused.",
        is_extension=False,
        body=CloneInput,
        answer=shape("ClonedCampaign", "The new campaign.", id=text("Its id.", "SUM26")),
    )
    def clone(self, request: Request, code: str) -> Response:
        source = campaign_or_404(code)
        values, faults = self.read(CloneInput)
        return Response({"id": clone_campaign(source, self.actor, faults, **values).code}, status=201)

    @operation("list_campaign_agents", "List the agents of a campaign", "Ordered by login.", answer=array(AGENT))
    def agents(self, request: Request, code: str) -> Response:
        return Response([AGENT.data(agent) for agent in campaign_or_404(code).agents.all()])

    @operation(
        "add_campaign_agents",
        "Add agents to a campaign",
        "Agents who are in it already stay. If one of the logins is unknown, none is added and the message"
        " names all that are.",
        is_extension=False,
        body=LoginsInput,
    )
    def add_agents(self, request: Request, code: str) -> None:
        campaign = campaign_or_404(code)
        values, faults = self.read(LoginsInput)
        add_agents(campaign, self.actor, values.get("logins", ()), faults)

    @operation(
        "remove_campaign_agents",
        "Take agents out of a campaign",
        "Agents who are not in it are no fault. If one of the logins is unknown, none is taken out.",
        body=LoginsInput,
    )
    def remove_agents(self, request: Request, code: str) -> None:
        campaign = campaign_or_404(code)
        values, faults = self.read(LoginsInput)
        remove_agents(campaign, self.actor, values.get("logins", ()), faults)

    @operation(
        "list_campaign_statuses",
        "List the statuses of a campaign",
        "Those that its records can have, in order.",
        answer=array(CAMPAIGN_STATUS),
    )
    def statuses(self, request: Request, code: str) -> Response:
        statuses = campaign_or_404(code).statuses.annotate(status_id=F("id"))
        return Response([*statuses.values("status_id", "name", "system_status", "dictionary_status_id")])

    @operation("read_campaign_stats", "Read how far a campaign is", answer=CAMPAIGN_STATS)
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

    @operation(
        "list_campaign_groups",
        "List the groups of campaigns",
        "All of them, ordered by name.",
        answer=array(CAMPAIGN_GROUP),
    )
    def list(self, request: Request) -> Response:
        return Response([CAMPAIGN_GROUP.data(group) for group in CampaignGroup.objects.all()])

    @operation(
        "create_campaign_group",
        "Create a group of campaigns",
        is_extension=False,
        body=CampaignGroupInput,
        answer=CAMPAIGN_GROUP,
    )
    def create(self, request: Request) -> Response:
        values, faults = self.read(CampaignGroupInput)
        return Response(
            CAMPAIGN_GROUP.data(create_group(self.actor, faults=faults, **{"name": "", **values})), status=201
        )
