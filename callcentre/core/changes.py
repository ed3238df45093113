"""Columns that rows share: their times, and the histories of what people and programs changed."""

from datetime import datetime
from typing import Any, ClassVar, Self, TypeVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import Actor
from callcentre.core.errors import Conflict, ErrorCode
from callcentre.core.sender import sender
from callcentre.core.times import minute

Row = TypeVar("Row", bound=models.Model)


def still_there(rows: models.QuerySet[Row]) -> Row:
    """Lock the row and return it; raise Conflict if it was deleted meanwhile."""
    row = rows.order_by().first()
    if row is None:
        raise Conflict(ErrorCode.CONFLICT)
    return row


def store(row: models.Model, **values: Any) -> None:
    """Set these columns of a row, and save them alone."""
    for name, value in values.items():
        setattr(row, name, value)
    row.save(update_fields=values)


def store_edit(row: models.Model, **values: Any) -> None:
    """Set these columns of a row, and save them with the time of the change."""
    for name, value in values.items():
        setattr(row, name, value)
    row.save(update_fields=[*values, "updated_at"])


def languages() -> list[tuple[str, Any]]:
    """Return the choices of a column with a language: a further language changes no migration."""
    return settings.LANGUAGES


def copy_of(row: Row, **values: Any) -> Row:
    """Return a new row with every column of this one but its key, and with the values given."""
    columns = {
        field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields if not field.primary_key
    }
    return type(row)(**columns | values)


class TimestampedModel(models.Model):
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)
    updated_at = models.DateTimeField(_("changed"), auto_now=True, editable=False)

    class Meta:
        abstract = True

    @property
    def version(self) -> str:
        """The version of the row that a page was made from. It differs after each change."""
        return self.updated_at.isoformat()


class NamedModel(TimestampedModel):
    """A row that people know by its name."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(self.name)  # type: ignore[attr-defined]


class Change(models.Model):
    """An entry of a history: the person, the time, the change. A verb writes it in its own transaction; it never
    changes.

    It outlives its object if its foreign key is DO_NOTHING and without a constraint. Histories that go with their
    object tell of customers: docs/decisions/0022.
    """

    class ActorKind(models.TextChoices):
        API_USER = "api_user", _("API user")
        USER = "user", _("user")
        AGENT = "agent", _("agent")
        IMPORT = "import", _("import")
        DIALLER = "dialler", _("dialler")
        SYSTEM = "system", _("system")

    # Actions on very many objects, for which the audit log has one entry in place of one for each.
    bulk_actions: ClassVar[tuple[str, ...]] = ()

    at = models.DateTimeField(_("time"), db_default=Now(), editable=False)
    actor_kind = models.CharField(_("kind of actor"), max_length=10, choices=ActorKind)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(_("actor"), max_length=150)
    # The address of the request that made the change; null for the service's own changes.
    actor_address = models.GenericIPAddressField(_("address"), null=True)
    action = models.CharField(_("action"), max_length=30)
    # Field name -> [old, new]; never secrets.
    changes = models.JSONField(_("changes"), default=dict)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{timezone.localtime(self.at):%Y-%m-%d %H:%M}, {self.actor_name}"


class AskedForQuerySet(models.QuerySet[Any]):
    def of_user(self, user: Any) -> Self:
        return self.filter(actor_kind="user", actor_id=user.pk)


class AskedFor(models.Model):
    """A row that names the person or program that asked for it, by `actor_columns`."""

    actor_kind = models.CharField(max_length=10, editable=False)
    actor_id = models.BigIntegerField(null=True, editable=False)
    actor_name = models.CharField(_("asked for by"), max_length=150, editable=False)

    class Meta:
        abstract = True

    def is_of(self, user: Any) -> bool:
        return self.actor_kind == "user" and self.actor_id == user.pk


def actor_columns(actor: Actor) -> dict[str, Any]:
    return {"actor_kind": actor.kind, "actor_id": actor.id, "actor_name": actor.name[:150]}


def change_columns(actor: Actor) -> dict[str, Any]:
    """Return the columns of a history entry that name the actor and the address of the request."""
    return {**actor_columns(actor), "actor_address": sender().address}


def in_history(value: Any) -> Any:
    """Return the value in a form that JSON can hold."""
    if isinstance(value, datetime):
        return minute(value)
    return value if isinstance(value, str | int | float | list | dict | None) else str(value)


def differences(instance: models.Model, values: dict[str, Any]) -> dict[str, list[Any]]:
    """Return field name -> [old, new] of the values that differ."""
    return {
        name: [in_history(old), in_history(value)]
        for name, value in values.items()
        if (old := getattr(instance, name)) != value
    }
