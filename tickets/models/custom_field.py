"""Custom fields, and their values: given by name, stored by the id of the field, converted to its type."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
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
    date as YYYY-MM-DD, true or false, one of the options, or a list of some. The type of a field that has values does
    not change. A field that is no longer wanted is made inactive. Values stay then, and also if their option is
    removed.
    """

    class Owner(models.TextChoices):
        TICKET = "ticket", _("tickets")
        CUSTOMER = "customer", _("customers")

    class Type(models.TextChoices):
        TEXT = "text", _("text")
        NUMBER = "number", _("number")
        DATE = "date", _("date")
        CHOICE = "choice", _("choice")
        CHOICES = "choices", _("several choices")
        BOOLEAN = "boolean", _("yes or no")

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
    # Of a ticket: before it is closed, in these queues or in all.
    is_required = models.BooleanField(
        _("needed to close a ticket"),
        default=False,
        db_default=False,
        help_text=_("A ticket without a value cannot be closed."),
    )
    queues = models.ManyToManyField(
        "tickets.TicketQueue",
        blank=True,
        related_name="+",
        verbose_name=_("needed in these ticket queues"),
        help_text=_("None: in all of them."),
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
    if kind in (CustomField.Type.CHOICE, CustomField.Type.CHOICES) and not list(options):
        yield Fault(ErrorCode.EMPTY, "options")


def check_required(values: Mapping[str, Any], queue_id: int) -> list[Fault]:
    """Return a fault for each field without a value that a ticket of this queue needs before it is closed."""
    fields = CustomField.objects.of(CustomField.Owner.TICKET).filter(is_required=True)
    wanted = fields.filter(Q(queues=None) | Q(queues=queue_id)).distinct()
    return [
        Fault(ErrorCode.CUSTOM_FIELD_MISSING, f"custom_fields.{field.name}", {"name": field.name})
        for field in wanted
        if str(field.pk) not in values
    ]


# What a person or program may write for yes and no.
_ANSWERS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}

Value = str | int | float | list[str]


class WrongValue(ValueError):
    def __init__(self, code: ErrorCode, **params: Any) -> None:
        self.code, self.params = code, params
        super().__init__(code.slug)


def parse(field: CustomField, raw: Any) -> Value | None:
    """Return the value as it is stored, or None for an empty one. Raise WrongValue if the field cannot hold it."""
    given = raw.strip() if isinstance(raw, str) else raw
    if given in ("", None, []):
        return None
    if field.type == CustomField.Type.BOOLEAN:
        return _yes_or_no(field, given)
    if field.type == CustomField.Type.CHOICES:
        return [_option(field, one) for one in dict.fromkeys(given if isinstance(given, list) else [given])]
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise WrongValue(ErrorCode.NOT_TEXT)
    return _number(given) if field.type == CustomField.Type.NUMBER else _text(field, str(given))


def _text(field: CustomField, text: str) -> str:
    if "\0" in text:
        raise WrongValue(ErrorCode.NUL)
    if field.type == CustomField.Type.DATE:
        try:
            return date.fromisoformat(text).isoformat()
        except ValueError as error:
            raise WrongValue(ErrorCode.NOT_DATE) from error
    if field.type == CustomField.Type.CHOICE:
        return _option(field, text)
    if len(text) > 10_000:
        raise WrongValue(ErrorCode.TOO_LONG, limit=10_000)
    return text


def _yes_or_no(field: CustomField, given: Any) -> bool:
    if (answer := _ANSWERS.get(str(given).lower())) is None:
        raise WrongValue(ErrorCode.CUSTOM_FIELD_OPTION, name=field.name, choices="yes, no")
    return answer


def _option(field: CustomField, text: str) -> str:
    if text not in field.options:
        raise WrongValue(ErrorCode.CUSTOM_FIELD_OPTION, name=field.name, choices=", ".join(field.options))
    return text


def _number(raw: str | float) -> Value:
    try:
        number = float(raw.replace(",", ".") if isinstance(raw, str) else raw)
    except (ValueError, OverflowError) as error:
        raise WrongValue(ErrorCode.NOT_NUMBER) from error
    if not abs(number) < 1e15:  # infinite, NaN, or too large for an exact float
        raise WrongValue(ErrorCode.NOT_NUMBER)
    return int(number) if number.is_integer() else number


def read(owner: str, given: Mapping[str, Any], before: Mapping[str, Value]) -> tuple[dict[str, Value], list[Fault]]:
    """Return all values of the owner after the given ones are set, and the faults. An empty value clears the field."""
    after, faults = dict(before), []
    fields = CustomField.objects.by_name(owner) if given else {}
    for name, raw in given.items():
        path = f"custom_fields.{name}"
        if (field := fields.get(name)) is None:
            faults.append(Fault(ErrorCode.CUSTOM_FIELD_UNKNOWN, path, {"name": name}))
            continue
        try:
            value = parse(field, raw)
        except WrongValue as wrong:
            faults.append(Fault(wrong.code, path, wrong.params))
            continue
        if value is None:
            after.pop(str(field.pk), None)
        else:
            after[str(field.pk)] = value
    return after, faults


def keys_by_name(owner: str) -> dict[str, str]:
    """Return the key in `custom_fields` of each active field by its name."""
    return {name: str(field.pk) for name, field in CustomField.objects.by_name(owner).items()}


def by_name(owner: str, values: Mapping[str, Value]) -> dict[str, Value | None]:
    """Return the values of all active fields by name, None for a field without a value."""
    return {name: values.get(key) for name, key in keys_by_name(owner).items()}
