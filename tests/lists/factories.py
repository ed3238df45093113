from callcentre.lists.models import ListAction, ListExport
from tests.model_factory import ModelFactory


class ListExportFactory(ModelFactory[ListExport]):
    list_name = "tickets.ticket"
    list_title = "Tickets"
    actor_kind = "user"
    actor_name = "eva"


class ListActionFactory(ModelFactory[ListAction]):
    list_name = "tickets.ticket"
    list_title = "Tickets"
    action = "set_status"
    action_title = "Set the status"
    language = "en"
    actor_kind = "user"
    actor_name = "eva"
