from collections.abc import Iterable

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.statements import Statement, rows_of

_COLUMNS = ("id", "owner", "name", "type", "options", "is_active", "order")
_ACTIVE = Statement("""
SELECT {columns} FROM tickets_customfield WHERE owner = %s AND is_active
ORDER BY "order", id
""").of(columns=", ".join(f'"{name}"' for name in _COLUMNS))


class CustomFieldQuerySet(models.QuerySet["CustomField"]):
    def of(self, owner: str) -> "CustomFieldQuerySet":
        return self.filter(owner=owner, is_active=True)

    def by_name(self, owner: str) -> "dict[str, CustomField]":
        """Return the active fields by name, in order. Building the statement would take longer than it runs."""
        fields = [CustomField.from_db(self.db, _COLUMNS, row) for row in rows_of(_ACTIVE, [owner])]
        return {field.name: field for field in fields}


@audited()
class CustomField(models.Model):
    """An additional field of tickets or customers, defined by the company.

    Values are kept with their owner (`custom_fields`: the field's id, as a string -> value): a text, a number, a
    date as YYYY-MM-DD, or one of the options. The type of a field that has values does not change. A field that is no
    longer wanted is made inactive. Values stay then, and also if their option is removed.
    """

    class Owner(models.TextChoices):
        TICKET = "ticket", _("tickets")
        CUSTOMER = "customer", _("customers")

    class Type(models.TextChoices):
        TEXT = "text", _("text")
        NUMBER = "number", _("number")
        DATE = "date", _("date")
        CHOICE = "choice", _("choice")

    owner = models.CharField(_("of"), max_length=10, choices=Owner)
    name = models.CharField(_("name"), max_length=100)
    type = models.CharField(_("type"), max_length=10, choices=Type, default=Type.TEXT)
    options = ArrayField(
        models.CharField(max_length=200),
        default=list,
        blank=True,
        verbose_name=_("options"),
        help_text=_("Of a choice."),
    )
    is_active = models.BooleanField(_("active"), default=True)
    order = models.PositiveIntegerField(_("order"), default=50)

    objects = CustomFieldQuerySet.as_manager()

    class Meta:
        verbose_name = _("custom field")
        verbose_name_plural = _("custom fields")
        ordering = ["owner", "order", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "name"],
                name="customfield_name_is_unique",
                violation_error_message=_("Another field has this name."),
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_used(self) -> bool:
        """Whether a ticket or a customer has a value of this field. Reads the whole table if none has."""
        # No index has the keys. The query is rare: it runs when a type changes.
        owners = apps.get_model("tickets", self.owner)._base_manager
        return bool(owners.filter(custom_fields__has_key=str(self.pk)).exists())


def check_options(kind: str, options: Iterable[str]) -> Iterable[Fault]:
    if kind == CustomField.Type.CHOICE and not list(options):
        yield Fault(ErrorCode.EMPTY, "options")
