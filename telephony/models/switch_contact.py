from django.db import models
from django.utils.translation import gettext_lazy as _


class SwitchContact(models.Model):
    """When the switch was heard last: one row, which the leading listener writes about once a second.

    It survives the listener, the switch and the machine: a call that is gone when the switch is heard again ended
    then at the latest.
    """

    heard_at = models.DateTimeField(_("heard"))

    class Meta:
        verbose_name = _("contact with the switch")
        verbose_name_plural = _("contacts with the switch")
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.heard_at:%Y-%m-%d %H:%M:%S}"
