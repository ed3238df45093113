import base64
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from callcentre.core.changes import TimestampedModel
from callcentre.core.scope import Lookups
from telephony.models.queue import Queue


@audited()
class TransferShortcut(TimestampedModel):
    """A frequent target of transfers: a queue or a number, with an icon."""

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "queue_id"}

    name = models.CharField(_("name"), max_length=100, unique=True)
    queue = models.ForeignKey(
        Queue, models.PROTECT, null=True, blank=True, related_name="shortcuts", verbose_name=_("queue")
    )
    number = models.CharField(_("number"), max_length=100, blank=True)
    # A PNG that telephony.icons has drawn from the upload; empty for none.
    icon = models.BinaryField(_("icon"), default=b"", blank=True)
    order = models.PositiveIntegerField(_("order"), default=50)

    class Meta:
        verbose_name = _("transfer shortcut")
        verbose_name_plural = _("transfer shortcuts")
        ordering = ["order", "id"]
        constraints = [
            models.CheckConstraint(
                name="transfershortcut_leads_to_one_place",
                condition=Q(queue__isnull=False, number="") | (Q(queue__isnull=True) & ~Q(number="")),
                violation_error_message=_("A shortcut leads to a queue or to a number: give one of them."),
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def icon_base64(self) -> str:
        return base64.b64encode(bytes(self.icon)).decode()

    def clean(self) -> None:
        self.number = self.number.strip()
