from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.pagination import limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import Fault
from reports import report
from reports.api.serializers import row_data
from reports.measures import ReportRow
from reports.parameters import read


class AgentsWorkReportViewSet(ApiViewSet):
    """The work of agents, by periods."""

    area = "reports"

    def list(self, request: Request) -> Response:
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults)
        question, agents = read(request.query_params, faults)
        rows = report.page(question, limit, offset)
        return Response([row_data(ReportRow(pk, agents[pk], period, sums)) for pk, period, sums in rows])
