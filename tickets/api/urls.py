from callcentre.api.routers import route
from tickets.api.tickets import TicketCategoryViewSet, TicketQueueViewSet, TicketStatusViewSet, TicketViewSet

urlpatterns = [
    route("tickets", TicketViewSet, get="list", post="create"),
    route("tickets/:ticket_id", TicketViewSet, get="retrieve", put="update"),
    route("tickets/:ticket_id/comment", TicketViewSet, post="comment"),
    route("tickets/:ticket_id/agent_response", TicketViewSet, post="agent_response"),
    route("tickets/:ticket_id/customer_response", TicketViewSet, post="customer_response"),
    route("ticket_statuses", TicketStatusViewSet, get="list"),
    route("ticket_categories", TicketCategoryViewSet, get="list"),
    route("ticket_queues", TicketQueueViewSet, get="list"),
]
