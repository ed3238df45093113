from callcentre.api.routers import route
from telephony.api.connections import ConnectionViewSet
from telephony.api.queues import QueueViewSet
from telephony.api.views import AgentGroupViewSet, AgentViewSet

urlpatterns = [
    route("agents", AgentViewSet, get="list"),
    route("agents/:login", AgentViewSet, get="retrieve"),
    route("agents_groups", AgentGroupViewSet, get="list"),
    route("connections", ConnectionViewSet, get="list"),
    route("queues", QueueViewSet, get="list"),
    route("queues/:queue_id/waiting_stats", QueueViewSet, get="waiting_stats"),
    route("queues/:queue_id/waiting_list", QueueViewSet, get="waiting_list"),
]
