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
            "vacd": "cannedreply rule macro servicelevel businesscalendar calendarhours closedday team teammember",
            "vac": "agentpreferences",
            "vad": "blockedsender",
            "v": (
                "ticketqueue customfield ticketstatus ticketsubstatus ticketcategory tickettype "
                "rating storedfile customerchange"
            ),
        },
    }

    def ready(self) -> None:
        from telephony import call_lookups, customers
        from tickets import customer_lookups, deletions, timeline
        from tickets.admin import customer_search
        from tickets.timeline.own_kinds import KINDS

        customers.register(customer_lookups)
        call_lookups.register_call_search(customer_search.call_branches)
        deletions.register_kinds()
        for kind in KINDS:
            timeline.register(kind)
