"""Recycling of a campaign's records."""

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import BooleanField, ChoiceField, IdField, ListField, TextField
from callcentre.api.openapi import count, mapping, operation, shape, text
from callcentre.api.serializers import Input
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import ErrorCode
from campaigns.api.views import campaign_or_404
from campaigns.models import Attempt
from campaigns.verbs.recycling import recycle_campaign

OUTCOMES = [outcome.value for outcome in Attempt.Outcome if outcome != Attempt.Outcome.NOT_DIALLED]


class RecycleInput(Input):
    example = {"outcomes": ["busy", "no_answer"], "dry_run": True}
    name = TextField(
        "Name of the new campaign; needed without `dry_run`.", required=False, max_length=200, example="Second round"
    )
    statuses = ListField(
        "Records with one of these statuses of the campaign.",
        child=IdField(),
        required=False,
        max_length=1_000,
        example=[3],
        errors=[ErrorCode.EMPTY, ErrorCode.STATUS_NOT_FOUND, ErrorCode.NOTHING_TO_RECYCLE],
    )
    outcomes = ListField(
        "Records whose last call had one of these outcomes. With `statuses`, both must hold.",
        child=ChoiceField(choices=OUTCOMES),
        required=False,
        max_length=len(OUTCOMES),
        example=["busy", "no_answer"],
    )
    dry_run = BooleanField("Only count the records; nothing is written.", source="is_dry_run", required=False)


COUNT = {"type": "integer", "minimum": 0}


class RecycleViewSet(ApiViewSet):
    """Records of a campaign that are called again in a new one."""

    area = "campaigns"

    @operation(
        "recycle_campaign",
        "Call records again in a new campaign",
        "Clones the campaign, paused, and counts the chosen records. A worker then copies them into the"
        " clone, to be called: those that are chosen when it begins, all at once; `GET"
        " /outbounds/:id/stats` counts them. At least one of `statuses` and `outcomes` is needed. Their"
        " history and their attempts begin anew, and there is no event for each record. Records in a call"
        " are left out.",
        body=RecycleInput,
        status=200,
        answer=shape(
            "RecycledCampaign",
            "The chosen records, and the campaign that has them now.",
            outbound_id=text("The new campaign, whose records follow; null in a dry run.", "00001", nullable=True),
            records_count=count("Chosen records.", 120),
            by_status=mapping("Their number by `status_id`; `none` for records without one.", COUNT, {"3": 120}),
            by_outcome=mapping(
                "Their number by the outcome of the last call; `none` for records without a call.",
                COUNT,
                {"busy": 20, "no_answer": 100},
            ),
        ),
        errors=[ErrorCode.CAMPAIGN_IDS_EXHAUSTED],
    )
    def recycle(self, request: Request, code: str) -> Response:
        source = campaign_or_404(code)
        values, faults = self.read(RecycleInput)
        recycled = recycle_campaign(source, self.actor, faults, **values)
        return Response(
            {
                "outbound_id": recycled.campaign.code if recycled.campaign else None,
                "records_count": recycled.records_count,
                "by_status": {str(key or "none"): count for key, count in recycled.by_status.items()},
                "by_outcome": {key or "none": count for key, count in recycled.by_outcome.items()},
            }
        )
