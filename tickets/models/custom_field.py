from collections.abc import Iterable
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models, transaction
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode, Fault, Invalid

_COLUMNS = ("id", "owner", "name", "type", "options", "is_active", "order")
_ACTIVE = f"""
SELECT {", ".join(f'"{name}"' for name in _COLUMNS)} FROM tickets_customfield WHERE owner = %s AND is_active
ORDER BY "order", id
"""  # noqa: S608


class CustomFieldQuerySet(models.QuerySet["CustomField"]):
    def of(self, owner: str) -> "CustomFieldQuerySet":
        return self.filter(owner=owner, is_active=True)

    def by_name(self, owner: str) -> "dict[str, CustomField]":
        """The same by their names, in order; for lists, where the statement's making would take longer than its run."""
        with connection.cursor() as cursor:
            cursor.execute(_ACTIVE, [owner])
            fields = [CustomField.from_db(self.db, _COLUMNS, row) for row in cursor.fetchall()]
        return {field.name: field for field in fields}


class CustomField(models.Model):
    """A field that this company wants on tickets or on customers beside those that all have.

    Values are kept with their owner (`custom_fields`: the field's id, as a string -> value): a text, a number, a
    date as YYYY-MM-DD, or one of the options. A field that has values keeps its type. One that is no longer wanted is
    made inactive, as is an option removed: values stay.
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
        """Whether a ticket or customer has a value of it. Where none has, all of them are looked through."""
        table = f"tickets_{self.owner}"
        with connection.cursor() as cursor:
            # No index knows the keys; this is asked when somebody changes a type.
            cursor.execute(f"SELECT EXISTS (SELECT FROM {table} WHERE custom_fields ? %s)", [str(self.pk)])  # noqa: S608
            return bool(cursor.fetchone()[0])

    def edit(self, actor: Actor, **values: Any) -> None:
        """Change what is given. Raises Invalid: a type that values have stays, and a choice has options."""
        with transaction.atomic():
            locked = CustomField.objects.select_for_update(no_key=True).get(pk=self.pk)
            kind, options = values.get("type", locked.type), values.get("options", locked.options)
            faults = list(check_options(kind, options))
            if kind != locked.type and locked.is_used:
                faults.append(Fault(ErrorCode.CUSTOM_FIELD_IN_USE, "type"))
            if faults:
                raise Invalid(faults)
            for name, value in values.items():
                setattr(self, name, value)
            self.save(update_fields=list(values))


def check_options(kind: str, options: Iterable[str]) -> Iterable[Fault]:
    if kind == CustomField.Type.CHOICE and not list(options):
        yield Fault(ErrorCode.EMPTY, "options")
