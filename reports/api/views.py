from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.pagination import limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import Fault
from reports import report
from reports.api.serializers import row_data
from reports.parameters import read


class AgentsWorkReportViewSet(ApiViewSet):
    """The work of agents, by periods."""

    area = "reports"

    def list(self, request: Request) -> Response:
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults)
        question = read(request.query_params, faults)
        return Response([row_data(row) for row in report.page(question, limit, offset)])
