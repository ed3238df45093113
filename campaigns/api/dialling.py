"""The dialling of a campaign and of all campaigns."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import BooleanField, TextField
from callcentre.api.serializers import Input
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.times import minute, second
from campaigns.api.views import campaign_or_404
from campaigns.dialling.status import Counts, DiallingStatus, dialling_status
from campaigns.models import DiallingSwitch
from campaigns.verbs.dialling import pause_dialling, start_dialling, stop_dialling, switch_dialling


class SwitchInput(Input):
    running = BooleanField(source="is_running")
    reason = TextField(required=False, max_length=300)


class DiallingViewSet(ApiViewSet):
    """The dialling of a campaign."""

    area = "campaigns"

    def retrieve(self, request: Request, code: str) -> Response:
        return Response(_status_data(dialling_status(campaign_or_404(code))))

    def start(self, request: Request, code: str) -> Response:
        start_dialling(campaign_or_404(code), self.actor)
        return Response(status=204)

    def pause(self, request: Request, code: str) -> Response:
        pause_dialling(campaign_or_404(code), self.actor)
        return Response(status=204)

    def stop(self, request: Request, code: str) -> Response:
        stop_dialling(campaign_or_404(code), self.actor)
        return Response(status=204)


class AllDiallingViewSet(ApiViewSet):
    """The switch of all dialling."""

    area = "system"

    def retrieve(self, request: Request) -> Response:
        newest = DiallingSwitch.objects.of_all().first()
        return Response(
            {
                "running": newest.is_running if newest else True,
                "reason": newest.reason if newest else "",
                "since": second(newest.at) if newest else "",
                "by": newest.actor_name if newest else "",
            }
        )

    def switch(self, request: Request) -> Response:
        values, faults = self.read(SwitchInput)
        switch_dialling(self.actor, faults, **values)
        return Response(status=204)


def _status_data(status: DiallingStatus) -> dict[str, Any]:
    return {
        "state": status.state,
        "code": status.code,
        "reason": status.reason,
        "agents": status.agents,
        "ringing": status.ringing,
        "waiting": status.waiting,
        "today": _counts_data(status.today),
        "days_30": _counts_data(status.days_30),
        "records": status.records,
        "pace": {
            "lines_per_agent": status.lines_per_agent,
            "calls_per_minute": status.calls_per_minute,
            "done_at": minute(status.done_at),
        },
        "at": second(status.at),
    }


def _counts_data(counts: Counts) -> dict[str, Any]:
    return {"live_answers": counts.live_answers, "drops": counts.drops, "drop_rate": counts.drop_rate}
