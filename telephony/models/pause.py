from django.db import models
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import TimestampedModel


class PauseQuerySet(models.QuerySet["Pause"]):
    def active(self) -> "PauseQuerySet":
        return self.filter(is_active=True)

    def automatic(self) -> "Pause":
        """Return the pause that only the service begins. It is made, or taken over from a pause of its name, once."""
        found = self.filter(is_automatic=True).first()
        values = {"is_automatic": True, "is_active": False}
        return found or self.update_or_create(name=_now("No contact"), defaults=values)[0]


@audited()
class Pause(TimestampedModel):
    """A reason for which an agent takes no calls. An unused one is made inactive, because the ledger names it.

    The automatic one is that of agents whose desk is silent. It is always inactive, so that no person can choose it.
    """

    name = models.CharField(_("name"), max_length=100, unique=True)
    is_active = models.BooleanField(pgettext_lazy("of a pause", "active"), default=True)
    order = models.PositiveIntegerField(_("order"), default=50)
    is_automatic = models.BooleanField(default=False, db_default=False, editable=False)

    objects = PauseQuerySet.as_manager()

    class Meta:
        verbose_name = _("pause")
        verbose_name_plural = _("pauses")
        ordering = ["order", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["is_automatic"], condition=models.Q(is_automatic=True), name="pause_one_automatic"
            )
        ]

    def __str__(self) -> str:
        return self.name
