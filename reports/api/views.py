from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.pagination import limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import Fault
from reports.api.pages import page
from reports.parameters import read


class AgentsWorkReportViewSet(ApiViewSet):
    """What agents did, by periods."""

    area = "reports"

    def list(self, request: Request) -> Response:
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults)
        return Response(page(read(request.query_params, faults), limit, offset))
