"""The table of a customer's fields: answers, the input, documents and SQL follow from it. `c` is the customer.

The columns with a row in the form are also those of the history, of the merge and of its preview.
"""

from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from callcentre.core.errors import ErrorCode as E
from callcentre.core.field_tables import Field, Kind
from tickets.models.ticket_fields import minute_sql

# The input of a new customer.
CREATE = "create"
_NUMBERS = "SELECT n.phone_number FROM tickets_customernumber n WHERE n.customer_id = c.id ORDER BY n.id"


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomerField(Field):
    """A field of a customer."""

    # Row of the admin's form; 0 for a field without one.
    row: int = 0

    @property
    def form(self) -> str:
        """The name in the form, which is that of the model."""
        return self.name.removesuffix("_id")


CUSTOMER_FIELDS = (
    CustomerField(name="id", wire="customer_id", kind=Kind.ID, sentence="The customer's id.", example=77, sql="c.id"),
    CustomerField(
        name="name", kind=Kind.TEXT, row=1, sentence="First name; may be empty.", example="Jan", sql="c.name",
        inputs=(CREATE,), max_length=100,
    ),
    CustomerField(
        name="surname", kind=Kind.TEXT, row=1, sentence="Last name, or another name of the customer.", example="Kowal",
        sql="c.surname", inputs=(CREATE,), is_required=True, max_length=100,
    ),
    CustomerField(
        name="email", kind=Kind.TEXT, row=2, sentence="E-mail address; may be empty.",
        example="jan.kowal@client.example", sql="c.email", inputs=(CREATE,), errors=(E.ADDRESS_MALFORMED,),
        max_length=254,
    ),
    CustomerField(
        name="phone_number", kind=Kind.TEXT, sentence="The main phone number; may be empty.",
        example="+48 22 555 01 07", sql=f"COALESCE(({_NUMBERS} LIMIT 1), '')",
    ),
    CustomerField(
        name="phone_numbers", kind=Kind.TEXTS, sentence="All phone numbers, the main one first.",
        example=["+48 22 555 01 07"], sql=f"ARRAY({_NUMBERS})",
    ),
    CustomerField(
        name="company_id", kind=Kind.ID, row=3, sentence="The company.", example=4, sql="c.company_id", unset=None,
        inputs=(CREATE,), errors=(E.COMPANY_NOT_FOUND,),
    ),
    CustomerField(
        name="identifier", kind=Kind.TEXT, row=2, sentence="The id in another system; may be empty.", example="C-77",
        sql="c.identifier", inputs=(CREATE,), input_note="No two customers share one.",
        errors=(E.CUSTOMER_IDENTIFIER_TAKEN, E.NOT_ONE_LINE), max_length=100,
    ),
    CustomerField(
        name="time_zone", kind=Kind.TEXT, row=3, sentence="The time zone, an IANA name; may be empty.",
        example="Europe/Warsaw", sql="c.time_zone", inputs=(CREATE,), max_length=64,
    ),
    CustomerField(
        name="created_at", kind=Kind.MINUTE, sentence="When the customer was entered.", example="2026-10-01 08:00",
        sql=minute_sql("c.created_at"),
    ),
    CustomerField(
        name="updated_at", kind=Kind.MINUTE, sentence="When the customer last changed.", example="2026-11-20 10:15",
        sql=minute_sql("c.updated_at"),
    ),
)  # fmt: skip
# Columns that people write.
FORM_FIELDS = tuple(field for field in CUSTOMER_FIELDS if field.row)
_BY_ROW = sorted(FORM_FIELDS, key=attrgetter("row"))
FORM_ROWS = [tuple(field.form for field in fields) for _row, fields in groupby(_BY_ROW, attrgetter("row"))]
