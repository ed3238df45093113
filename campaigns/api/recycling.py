"""Recycling of a campaign's records."""

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import BooleanField, ChoiceField, IdField, ListField, TextField
from callcentre.api.serializers import Input
from callcentre.api.viewsets import ApiViewSet
from campaigns.api.views import campaign_or_404
from campaigns.models import Attempt
from campaigns.verbs.recycling import recycle_campaign

OUTCOMES = [outcome.value for outcome in Attempt.Outcome if outcome != Attempt.Outcome.NOT_DIALLED]


class RecycleInput(Input):
    name = TextField(required=False, max_length=200)
    statuses = ListField(child=IdField(), required=False, max_length=1_000)
    outcomes = ListField(child=ChoiceField(choices=OUTCOMES), required=False, max_length=len(OUTCOMES))
    dry_run = BooleanField(source="is_dry_run", required=False)


class RecycleViewSet(ApiViewSet):
    """Records of a campaign that are called again in a new one."""

    area = "campaigns"

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
