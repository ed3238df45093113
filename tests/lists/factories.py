import factory

from callcentre.lists.models import ListAction, ListExport


class ListExportFactory(factory.django.DjangoModelFactory[ListExport]):
    class Meta:
        model = ListExport

    list_name = "tickets.ticket"
    list_title = "Tickets"
    actor_kind = "user"
    actor_name = "eva"


class ListActionFactory(factory.django.DjangoModelFactory[ListAction]):
    class Meta:
        model = ListAction

    list_name = "tickets.ticket"
    list_title = "Tickets"
    action = "set_status"
    action_title = "Set the status"
    language = "en"
    actor_kind = "user"
    actor_name = "eva"
