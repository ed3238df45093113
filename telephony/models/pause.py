from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import TimestampedModel


class PauseQuerySet(models.QuerySet["Pause"]):
    def active(self) -> "PauseQuerySet":
        return self.filter(is_active=True)


@audited()
class Pause(TimestampedModel):
    """A reason for which an agent takes no calls. An unused one is made inactive, because the ledger names it."""

    name = models.CharField(_("name"), max_length=100, unique=True)
    is_active = models.BooleanField(pgettext_lazy("of a pause", "active"), default=True)
    order = models.PositiveIntegerField(_("order"), default=50)

    objects = PauseQuerySet.as_manager()

    class Meta:
        verbose_name = _("pause")
        verbose_name_plural = _("pauses")
        ordering = ["order", "id"]

    def __str__(self) -> str:
        return self.name
