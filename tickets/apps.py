from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TicketsConfig(AppConfig):
    name = "tickets"
    verbose_name = _("Tickets")

    def ready(self) -> None:
        from telephony import customers  # noqa: PLC0415
        from tickets import deletions, lookup  # noqa: PLC0415  (models are not there before)

        customers.register_customer_lookup(lookup.customers_of)
        customers.register_customer_query(lookup.CUSTOMER_OF)
        customers.register_customer_pages(lookup.pages_of_customers)
        deletions.register_kinds()
