"""The preview of a merge of two customers: the values of each field, and the counts of rows that move."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from callcentre.core.scope import Scope
from telephony.models import Connection
from tickets.admin.customer_history import label_of_column
from tickets.models import Chat, Company, Customer, CustomField
from tickets.models.customer_fields import FORM_FIELDS
from tickets.verbs.customer_merges import plan_merge


@dataclass(frozen=True, slots=True)
class FieldPreview:
    """The values of one field before the merge and after it. `is_left`: the source's value is not taken over."""

    label: Any
    source: str
    target: str
    after: str
    is_left: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    lines: list[FieldPreview]
    # The names of rows that move to the target, and their counts.
    moving: list[tuple[Any, int]]


def preview_of(source: Customer, target: Customer, scope: Scope) -> Preview:
    done = plan_merge(source, target)
    lines = [
        _preview_of_column(source, target, field.name, done.values.get(field.name, getattr(target, field.name)))
        for field in FORM_FIELDS
    ]
    numbers = ", ".join(raw for raw, _number in done.numbers)
    lines.append(
        FieldPreview(_("Phone numbers"), ", ".join(source.phone_numbers), ", ".join(target.phone_numbers), numbers)
    )
    after = done.values["custom_fields"]
    for field in CustomField.objects.filter(owner=CustomField.Owner.CUSTOMER):
        key = str(field.pk)
        mine, others = target.custom_fields.get(key, ""), source.custom_fields.get(key, "")
        if mine or others:
            lines.append(FieldPreview(field.name, str(others), str(mine), str(after[key]), key in done.left_fields))
    moving = [
        (_("tickets"), scope.within(source.tickets.all()).count()),
        (_("calls"), scope.within(Connection.objects.filter(customer_id=source.pk)).count()),
        (_("chats"), scope.within(Chat.objects.of_emails(source.emails)).count()),
        (_("notes"), source.notes.count()),
    ]
    return Preview([line for line in lines if line.source or line.target], moving)


def _preview_of_column(source: Customer, target: Customer, name: str, after: Any) -> FieldPreview:
    theirs, mine, shown = (_shown(name, value) for value in (getattr(source, name), getattr(target, name), after))
    return FieldPreview(label_of_column(name), theirs, mine, shown, is_left=bool(theirs) and theirs != shown)


def _shown(name: str, value: Any) -> str:
    if name == "company_id" and value:
        return str(Company.objects.get(pk=value))
    return str(value or "")
