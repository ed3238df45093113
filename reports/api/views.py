from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.pagination import limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.errors import Fault
from reports import builder
from reports.api.serializers import row_data
from reports.reading import read_question


class AgentsWorkReportViewSet(ApiViewSet):
    """What agents did, by periods."""

    area = "reports"

    def list(self, request: Request) -> Response:
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults)
        question, agents = read_question(request.query_params, faults)
        rows = builder.page(question, limit, offset)
        return Response([row_data(agents[pk], period, row, question.threshold) for pk, period, row in rows])
