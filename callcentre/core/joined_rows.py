"""Model instances from a statement that is composed once.

The ORM composes a statement each time. With five joined tables that takes longer than the statement.
"""

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Model


class JoinedRows:
    """The models of a joined row: alias of the table in the statement -> model."""

    def __init__(self, **models: type[Model]) -> None:
        fields = [(alias, field) for alias, model in models.items() for field in model._meta.concrete_fields]
        # The SELECT list.
        self.columns = ", ".join(f'{alias}."{field.column}"' for alias, field in fields)
        self._parts = [
            (model, [field.attname for field in model._meta.concrete_fields], model._meta.pk.attname)
            for model in models.values()
        ]
        converted = ((place, getattr(field, "from_db_value", None)) for place, (_alias, field) in enumerate(fields))
        self._converters = [(place, convert) for place, convert in converted if convert is not None]

    def instances(self, row: Sequence[Any]) -> list[Any]:
        """Return an instance of each model; None for a model that the join did not find."""
        values = list(row)
        for place, convert in self._converters:
            values[place] = convert(values[place], None, connection)
        found, end = [], 0
        for model, names, key in self._parts:
            start, end = end, end + len(names)
            part = values[start:end]
            is_found = part[names.index(key)] is not None
            found.append(model.from_db(connection.alias, names, part) if is_found else None)
        return found
