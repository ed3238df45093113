"""INSERTs of model instances as parts of a larger statement that is composed once.

A verb that writes a row with its history and its event in one statement saves the round trips, and the time in which
the ORM composes each statement anew.
"""

from typing import Any

from django.db import connection
from django.db.models import Model

from callcentre.core.statements import Statement


class RowInsert:
    """The INSERT of one row of a model, which returns its id. Other parts of the statement see it by the name."""

    def __init__(self, name: str, model: type[Model], **expressions: str) -> None:
        """Compose the WITH query. `expressions` are SQL for columns that the instance does not give."""
        self._fields = [
            (f"{name}_{field.attname}", field)
            for field in model._meta.concrete_fields
            if not field.primary_key and field.column not in expressions
        ]
        columns = ", ".join([*expressions, *(f'"{field.column}"' for _parameter, field in self._fields)])
        values = ", ".join([*expressions.values(), *(f"%({parameter})s" for parameter, _field in self._fields)])
        table = model._meta.db_table
        insert = Statement("INSERT INTO {table} ({columns}) VALUES ({values}) RETURNING id").of(
            table=table, columns=columns, values=values
        )
        self.query = f"{name} AS ({insert})"

    def parameters(self, instance: Model) -> dict[str, Any]:
        """Return the values of the instance as the ORM would store them."""
        return {
            parameter: field.get_db_prep_save(field.pre_save(instance, add=True), connection)
            for parameter, field in self._fields
        }


def mark_stored(instance: Model, pk: int) -> None:
    """Give the instance the id of its new row. From then on the ORM changes that row and adds no other."""
    instance.pk = pk
    instance._state.adding, instance._state.db = False, connection.alias
