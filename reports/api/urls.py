from callcentre.api.routers import route
from reports.api.views import AgentsWorkReportViewSet, OutboundsReportViewSet, QueuesReportViewSet, TicketsReportViewSet

urlpatterns = [
    route("agents_work_report", AgentsWorkReportViewSet, get="list"),
    route("queues_report", QueuesReportViewSet, get="list"),
    route("outbounds_report", OutboundsReportViewSet, get="list"),
    route("tickets_report", TicketsReportViewSet, get="list"),
]
