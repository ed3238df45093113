from callcentre.api.routers import route
from reports.api.views import AgentsWorkReportViewSet

urlpatterns = [
    route("agents_work_report", AgentsWorkReportViewSet, get="list"),
]
