from callcentre.api.routers import route
from reports.api.views import AgentsWorkReportViewSet, QueuesReportViewSet

urlpatterns = [
    route("agents_work_report", AgentsWorkReportViewSet, get="list"),
    route("queues_report", QueuesReportViewSet, get="list"),
]
