from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.utils.translation import gettext_lazy as _

_KEYS = 'SELECT name, id::text FROM tickets_customfield WHERE owner = %s AND is_active ORDER BY "order", id'


class CustomFieldQuerySet(models.QuerySet["CustomField"]):
    def of(self, owner: str) -> "CustomFieldQuerySet":
        return self.filter(owner=owner, is_active=True)

    def keys_of(self, owner: str) -> dict[str, str]:
        """Name of each -> the key under which values are kept, in order."""
        with connection.cursor() as cursor:
            cursor.execute(_KEYS, [owner])
            return dict(cursor.fetchall())


class CustomField(models.Model):
    """A field that this company wants on tickets or on customers beside those that all have.

    Values are kept with their owner (`custom_fields`: the field's id, as a string -> value): a text, a number, a
    date as YYYY-MM-DD, or one of the options. A field that is no longer wanted is made inactive; its values stay.
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
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="customfield_name_is_unique")]

    def __str__(self) -> str:
        return self.name
