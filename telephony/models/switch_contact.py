from django.db import models
from django.utils.translation import gettext_lazy as _


class SwitchContact(models.Model):
    """The last contact with the switch: one row, which the leading listener updates about once a second.

    It survives the listener, the switch and the machine. A call that is gone at the next contact is presumed to have
    ended at the stored one.
    """

    heard_at = models.DateTimeField(_("heard"))

    class Meta:
        verbose_name = _("contact with the switch")
        verbose_name_plural = _("contacts with the switch")
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.heard_at:%Y-%m-%d %H:%M:%S}"
