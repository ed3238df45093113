"""Offered at the desk during a call: addresses of other programs, and frequent targets of transfers."""

import base64
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel
from callcentre.core.scope import Lookups
from telephony.models.queue import Queue


@audited()
class ScreenPop(models.Model):
    """An address of another program that belongs to the calls of a queue or of a campaign.

    `{...}` in the address stands for a fact of the call. The desk opens it, or it is the event SCREEN_POP.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "queue_id", "scope_outbounds": "campaign_id"}

    class Moment(models.TextChoices):
        RING = "ring", _("the phone rings")
        ANSWER = "answer", _("the agent talks")
        RESULT = "result", _("the agent gives the result or the topic")

    class Way(models.TextChoices):
        DESK = "desk", _("the desk opens it")
        EVENT = "event", _("event SCREEN_POP to webhooks")

    name = models.CharField(_("name"), max_length=100)
    is_active = models.BooleanField(pgettext_lazy("of a screen pop", "active"), default=True)
    queue = models.ForeignKey(
        Queue, models.CASCADE, null=True, blank=True, related_name="screen_pops", verbose_name=_("queue")
    )
    # A campaign; telephony knows its id only.
    campaign_id = models.BigIntegerField(_("campaign"), null=True, blank=True, db_index=True)
    moment = models.CharField(_("when"), max_length=6, choices=Moment, default=Moment.RING)
    way = models.CharField(_("how"), max_length=5, choices=Way, default=Way.DESK)
    url = models.CharField(_("address"), max_length=1000)

    class Meta:
        verbose_name = _("screen pop")
        verbose_name_plural = _("screen pops")
        ordering = ["name", "id"]
        constraints = [
            models.CheckConstraint(
                name="screenpop_is_of_one",
                condition=Q(queue__isnull=False, campaign_id=None) | Q(queue=None, campaign_id__isnull=False),
                violation_error_message=_("A screen pop belongs to a queue or to a campaign."),
            )
        ]

    def __str__(self) -> str:
        return self.name


@audited()
class TransferShortcut(NamedModel):
    """A frequent target of transfers: a queue or a number, with an icon."""

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "queue_id"}

    name = models.CharField(_("name"), max_length=100, unique=True)
    queue = models.ForeignKey(
        Queue, models.PROTECT, null=True, blank=True, related_name="shortcuts", verbose_name=_("queue")
    )
    number = models.CharField(_("number"), max_length=100, blank=True)
    # A PNG that is drawn from the upload; empty for none.
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

    @property
    def icon_base64(self) -> str:
        return base64.b64encode(bytes(self.icon)).decode()

    def clean(self) -> None:
        self.number = self.number.strip()
