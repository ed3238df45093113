"""Counts of lists that stay cheap: exact to a limit, none where counting takes too long."""

from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet

MOST_COUNTED = 10_000
# Counting takes no longer: a filter without an index would read the whole table.
MOST_MILLISECONDS = 200


def count_up_to(rows: "QuerySet[Any]") -> int | None:
    """Return the number of rows, at most one more than MOST_COUNTED; None if counting takes too long."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(MOST_MILLISECONDS)])
            count = rows.order_by()[: MOST_COUNTED + 1].count()
            with connection.cursor() as cursor:
                # The rest of an outer transaction has its own limit.
                cursor.execute("SELECT set_config('statement_timeout', '0', true)")
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") != "57014":  # query_canceled
            raise
        return None
    return count
