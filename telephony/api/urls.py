from callcentre.api.routers import route
from telephony.api.views import AgentGroupViewSet, AgentViewSet

urlpatterns = [
    route("agents", AgentViewSet, get="list"),
    route("agents/:login", AgentViewSet, get="retrieve"),
    route("agents_groups", AgentGroupViewSet, get="list"),
]
