from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from callcentre.core.roles import RoleRights


class TicketsConfig(AppConfig):
    name = "tickets"
    verbose_name = _("Tickets")
    # Right of the API -> equivalent permissions of the admin (docs/decisions/0021).
    api_permissions = {
        "tickets:read": ("view_ticket", "view_ticketqueue", "view_chat", "view_storedfile"),
        "tickets:write": ("add_ticket", "change_ticket", "add_chat", "change_chat", "add_storedfile"),
        # The report of tickets.
        "reports:read": ("view_ticketqueue",),
        "customers:read": ("view_customer", "view_company"),
        "customers:write": ("add_customer", "change_customer", "add_company"),
    }
    # Role -> letters of rights -> models (callcentre/core/roles.py).
    role_rights: RoleRights = {
        "Agent": {
            "vac": "ticket chat customer company",
        },
        "Supervisor": {
            "vc": "receivedmail dispatch",
            "vacd": "cannedreply",
            "vad": "blockedsender",
            "v": (
                "ticketqueue ticketqueuehours customfield ticketstatus ticketsubstatus ticketcategory rating "
                "storedfile customerchange"
            ),
        },
    }

    def ready(self) -> None:
        from telephony import call_lookups, callers_messages, customers  # noqa: PLC0415
        from tickets import customer_lookups, deletions, message_tickets, timeline  # noqa: PLC0415  (models come later)
        from tickets.admin import customer_search  # noqa: PLC0415
        from tickets.timeline.calls import CALLS  # noqa: PLC0415
        from tickets.timeline.own_kinds import CHATS, NOTES, RATINGS, TICKETS  # noqa: PLC0415

        customers.register_customer_lookup(customer_lookups.customers_of)
        customers.register_customer_of_caller(customer_lookups.customer_of_caller)
        customers.register_customer_query(customer_lookups.CUSTOMER_OF)
        customers.register_customer_pages(customer_lookups.pages_of_customers)
        callers_messages.register_choices(message_tickets.choices)
        callers_messages.register_opener(message_tickets.open_for)
        call_lookups.register_call_search(customer_search.call_branches)
        deletions.register_kinds()
        for kind in (CALLS, CHATS, NOTES, RATINGS, TICKETS):
            timeline.register(kind)
