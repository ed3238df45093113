from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited


@audited()
class CustomerSettings(models.Model):
    """The settings of customers: one row, written by a migration (docs/decisions/0017)."""

    creates_unknown = models.BooleanField(
        _("create customers of unknown senders and callers"),
        help_text=_(
            "The first mail from an unknown address and the first call from an unknown number create a customer. The"
            " surname is the name in the mail, else the address or the number."
        ),
    )

    class Meta:
        verbose_name = _("settings of customers")
        verbose_name_plural = _("settings of customers")
        ordering = ["id"]
        constraints = [models.CheckConstraint(name="customersettings_is_one_row", condition=Q(pk=1))]

    def __str__(self) -> str:
        return str(self._meta.verbose_name)
