from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.pagination import limit_and_offset
from callcentre.api.viewsets import ApiViewSet
from callcentre.core.errors import Fault
from reports import report
from reports.api.serializers import grouped_data, row_data
from reports.catalogue import OUTBOUNDS, QUEUES, TICKETS
from reports.description import Report
from reports.parameters import read, read_grouped


class AgentsWorkReportViewSet(ApiViewSet):
    """The work of agents, by periods."""

    area = "reports"

    def list(self, request: Request) -> Response:
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults)
        question = read(request.query_params, faults)
        return Response([row_data(row) for row in report.page(question, limit, offset)])


class GroupedReportViewSet(ApiViewSet):
    """A report by queue or campaign, by periods."""

    area = "reports"
    report: Report

    def list(self, request: Request) -> Response:
        faults: list[Fault] = []
        limit, offset = limit_and_offset(request.query_params, faults)
        question = read_grouped(self.report, request.query_params, faults)
        rows = self.report.answer(question, limit, offset).rows
        return Response([grouped_data(self.report, row) for row in rows])


class QueuesReportViewSet(GroupedReportViewSet):
    """The inbound calls of queues, by periods."""

    report = QUEUES


class OutboundsReportViewSet(GroupedReportViewSet):
    """The calls of campaigns, by periods."""

    report = OUTBOUNDS


class TicketsReportViewSet(GroupedReportViewSet):
    """The tickets of queues, by periods."""

    report = TICKETS
