"""The tables of fields of tickets, messages and customers; ticket_fields.sql has the statements composed of them."""

from pathlib import Path

from django.conf import settings

from tickets.api.customers import CustomerInput
from tickets.api.serializers import TicketEditInput, TicketInput
from tickets.models import customer_rows, ticket_rows


def test_composed_statements() -> None:
    statements = {
        "Read tickets": ticket_rows.TICKETS,
        "Read their messages": ticket_rows.MESSAGES,
        "Read customers": customer_rows.CUSTOMERS,
    }
    composed = "\n\n".join(f"-- {title}\n{sql.strip()}" for title, sql in statements.items())
    print(composed)
    assert (
        f"{composed}\n".replace(settings.TIME_ZONE, "[zone]")
        == Path(__file__).with_name("ticket_fields.sql").read_text()
    )


def test_accepted_names_of_each_input() -> None:
    choices = {"user_login", "customer_id", "ticket_queue_id", "category_id", "status_id", "substatus_id"}
    both = choices | {"subject", "from", "tags", "custom_fields"}
    assert TicketEditInput.plan().keys() == both
    assert TicketInput.plan().keys() == both | {"source", "body", "body_type", "attachments"}
    assert CustomerInput.plan().keys() == {
        "name",
        "surname",
        "email",
        "phone_numbers",
        "company_id",
        "identifier",
        "time_zone",
        "custom_fields",
    }
