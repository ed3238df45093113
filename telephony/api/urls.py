from callcentre.api.routers import route
from telephony.api.agents import AgentGroupViewSet, AgentViewSet, PauseViewSet
from telephony.api.connections import ConnectionViewSet
from telephony.api.queues import QueueViewSet

urlpatterns = [
    route("agents", AgentViewSet, get="list"),
    route("agents/:login", AgentViewSet, get="retrieve"),
    route("agents/:login/login", AgentViewSet, post="log_in"),
    route("agents/:login/logout", AgentViewSet, post="log_out"),
    route("agents/:login/pause", AgentViewSet, post="pause"),
    route("agents/:login/free", AgentViewSet, post="free"),
    route("agents_statuses", AgentViewSet, get="statuses"),
    route("agents_groups", AgentGroupViewSet, get="list"),
    route("system/pauses", PauseViewSet, get="list"),
    route("connections", ConnectionViewSet, get="list"),
    route("queues", QueueViewSet, get="list"),
    route("queues/:queue_id/waiting_stats", QueueViewSet, get="waiting_stats"),
    route("queues/:queue_id/waiting_list", QueueViewSet, get="waiting_list"),
]
