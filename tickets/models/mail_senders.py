"""Senders whose mail is kept apart, and addresses that mail does not reach."""

from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from tickets.addresses import is_address


@audited(secret=("entry",))
class BlockedSender(models.Model):
    """An address or a domain. Mail from it, or from a domain below it, is spam."""

    entry = models.CharField(
        _("address or domain"),
        max_length=320,
        unique=True,
        help_text=_("An address (offers@shop.example), or a domain (shop.example) with all domains below it."),
    )
    blocked_by = models.CharField(_("blocked by"), max_length=150, editable=False)
    blocked_at = models.DateTimeField(_("blocked"), default=timezone.now, db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("blocked sender")
        verbose_name_plural = _("blocked senders")
        ordering = ["entry"]
        default_permissions = ("add", "delete", "view")

    def __str__(self) -> str:
        return self.entry

    def clean(self) -> None:
        self.entry = self.entry.strip().lower().removeprefix("@")
        domain = self.entry.rpartition("@")[2]
        if not is_address(self.entry if "@" in self.entry else f"x@{self.entry}") or "." not in domain:
            wrong = _("%(entry)s is neither an address nor a domain.") % {"entry": self.entry}
            raise ValidationError({"entry": wrong})


class BouncedAddress(models.Model):
    """An address to which a mail could not be delivered. A mail from the address ends that."""

    address = models.CharField(_("address"), max_length=320, unique=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    bounced_at = models.DateTimeField(_("bounced"))

    class Meta:
        verbose_name = _("address that mail does not reach")
        verbose_name_plural = _("addresses that mail does not reach")
        ordering = ["address"]
        default_permissions = ()

    def __str__(self) -> str:
        return self.address

    @classmethod
    def mark(cls, address: str, reason: str, at: datetime) -> None:
        cls.objects.update_or_create(address=address.lower()[:320], defaults={"reason": reason[:500], "bounced_at": at})
