"""The table of a customer's fields: answers, the input, documents and SQL follow from it. `c` is the customer."""

from callcentre.core.errors import ErrorCode as E
from callcentre.core.field_tables import Field, Kind
from tickets.models.ticket_fields import minute_sql

# The input of a new customer.
CREATE = "create"
_NUMBERS = "SELECT n.phone_number FROM tickets_customernumber n WHERE n.customer_id = c.id ORDER BY n.id"
CUSTOMER_FIELDS = (
    Field(name="id", wire="customer_id", kind=Kind.ID, sentence="The customer's id.", example=77, sql="c.id"),
    Field(
        name="name", kind=Kind.TEXT, sentence="First name; may be empty.", example="Jan", sql="c.name",
        inputs=(CREATE,), max_length=100,
    ),
    Field(
        name="surname", kind=Kind.TEXT, sentence="Last name, or another name of the customer.", example="Kowal",
        sql="c.surname", inputs=(CREATE,), is_required=True, max_length=100,
    ),
    Field(
        name="email", kind=Kind.TEXT, sentence="E-mail address; may be empty.", example="jan.kowal@client.example",
        sql="c.email", inputs=(CREATE,), errors=(E.ADDRESS_MALFORMED,), max_length=254,
    ),
    Field(
        name="phone_number", kind=Kind.TEXT, sentence="The main phone number; may be empty.",
        example="+48 22 555 01 07", sql=f"COALESCE(({_NUMBERS} LIMIT 1), '')",
    ),
    Field(
        name="phone_numbers", kind=Kind.TEXTS, sentence="All phone numbers, the main one first.",
        example=["+48 22 555 01 07"], sql=f"ARRAY({_NUMBERS})",
    ),
    Field(
        name="company_id", kind=Kind.ID, sentence="The company.", example=4, sql="c.company_id", unset=None,
        inputs=(CREATE,), errors=(E.COMPANY_NOT_FOUND,),
    ),
    Field(
        name="identifier", kind=Kind.TEXT, sentence="The id in another system; may be empty.", example="C-77",
        sql="c.identifier", inputs=(CREATE,), input_note="No two customers share one.",
        errors=(E.CUSTOMER_IDENTIFIER_TAKEN, E.NOT_ONE_LINE), max_length=100,
    ),
    Field(
        name="time_zone", kind=Kind.TEXT, sentence="The time zone, an IANA name; may be empty.",
        example="Europe/Warsaw", sql="c.time_zone", inputs=(CREATE,), max_length=64,
    ),
    Field(
        name="created_at", kind=Kind.MINUTE, sentence="When the customer was entered.", example="2026-10-01 08:00",
        sql=minute_sql("c.created_at"),
    ),
    Field(
        name="updated_at", kind=Kind.MINUTE, sentence="When the customer last changed.", example="2026-11-20 10:15",
        sql=minute_sql("c.updated_at"),
    ),
)  # fmt: skip
