"""Customers as the API shows them."""

from typing import Any

import orjson
from django.db import connection

from callcentre.core.field_tables import named_rows, select_list
from callcentre.core.statements import Statement
from tickets.models.custom_field import CustomField
from tickets.models.custom_values import keys_by_name
from tickets.models.customer_fields import CUSTOMER_FIELDS

CUSTOMERS = Statement("""
SELECT
{select_list},
  c.custom_fields::text AS custom_fields
FROM tickets_customer c WHERE c.id = ANY(%s::bigint[]) ORDER BY c.id
""").of(select_list=select_list(CUSTOMER_FIELDS))


def read_customers(ids: list[int]) -> list[dict[str, Any]]:
    """Return the customers with these ids, in the order of ids."""
    with connection.cursor() as cursor:
        cursor.execute(CUSTOMERS, [ids])
        customers = named_rows(cursor)
    keys = keys_by_name(CustomField.Owner.CUSTOMER)
    for customer in customers:
        values = orjson.loads(customer["custom_fields"])
        customer["custom_fields"] = {name: values.get(key) for name, key in keys.items()}
    return customers
