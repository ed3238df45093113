from typing import Any

from django.db import transaction

from callcentre.core.actor import Actor
from callcentre.core.changes import store
from callcentre.core.errors import ErrorCode, Fault, Invalid
from tickets.models.custom_field import CustomField, check_options


def edit_custom_field(field: CustomField, actor: Actor, **values: Any) -> None:
    """Change the given columns. The type of a field that has values cannot change; a choice needs options."""
    with transaction.atomic():
        locked = CustomField.objects.select_for_update(no_key=True).get(pk=field.pk)
        kind, options = values.get("type", locked.type), values.get("options", locked.options)
        faults = list(check_options(kind, options))
        if kind != locked.type and locked.is_used:
            faults.append(Fault(ErrorCode.CUSTOM_FIELD_IN_USE, "type"))
        if faults:
            raise Invalid(faults)
        store(field, **values)
