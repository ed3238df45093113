"""The changes of customers in the words of the admin."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from callcentre.admin import ChangeMixin, ReadOnlyAdmin, UncountedMixin
from callcentre.admin.history import in_words
from tickets.admin.custom_field_inputs import Change, changes_of_values
from tickets.models import Company, Customer, CustomerChange, CustomField

ACTIONS = {"merge": _("merged")}
LABELS = {
    "company_id": _("company"),
    "phone_numbers": _("phone numbers"),
    "merged": _("merged customer"),
    "merged_into": _("merged into"),
}

Changes = list[Change]


def column(name: str) -> str:
    field: Any = Customer._meta.get_field(name)
    return str(field.verbose_name)


def label_of_column(name: str) -> str:
    """Return the name of a column as the label of a form."""
    return str(capfirst(column(name)))


def changes_of(entries: Sequence[CustomerChange]) -> list[Changes]:
    """Return the changed values of each entry, in two queries at most."""
    companies = {pk for entry in entries for pk in entry.changes.get("company_id", []) if pk}
    keys = {key for entry in entries for values in entry.changes.get("custom_fields", []) for key in values}
    names: dict[str, dict[Any, str]] = {
        "company_id": dict(Company.objects.filter(pk__in=companies).values_list("pk", "name")) if companies else {},
        "custom_fields": {
            str(pk): name for pk, name in CustomField.objects.filter(pk__in=keys).values_list("pk", "name")
        }
        if keys
        else {},
    }
    return [_changes(entry, names) for entry in entries]


def _changes(entry: CustomerChange, names: dict[str, dict[Any, str]]) -> Changes:
    changes: Changes = []
    for name, (old, new) in entry.changes.items():
        if name == "custom_fields":
            changes += changes_of_values(old, new, names[name])
        elif name == "company_id":
            changes.append((LABELS[name], *(names[name].get(pk, in_words(pk)) for pk in (old, new))))
        else:
            changes.append((LABELS.get(name) or column(name), in_words(old), in_words(new)))
    return changes


@admin.register(CustomerChange)
class CustomerChangeAdmin(ChangeMixin, UncountedMixin, ReadOnlyAdmin):
    """Changes of customers, newest first."""

    list_display = ("at", "customer", "what", "who", "details")
    list_display_links = ("at",)
    joined = ("customer",)
    fields = ("at", "customer", "what", "who", "details")
    action_labels = ACTIONS

    def complete_rows(self, rows: Sequence[Any]) -> None:
        for entry, changes in zip(rows, changes_of([*rows]), strict=True):
            entry.in_words = changes

    def changes_of(self, change: Any) -> Changes:
        if not hasattr(change, "in_words"):
            (change.in_words,) = changes_of([change])
        found: Changes = change.in_words
        return found
