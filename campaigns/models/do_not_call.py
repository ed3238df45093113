from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from callcentre.core.scope import Lookups
from campaigns.models.campaign import Campaign


class DoNotCallQuerySet(models.QuerySet["DoNotCall"]):
    def covering(self, number: str) -> "DoNotCallQuerySet":
        """Return the entries of this number (normal form) and of its beginnings, by the index of numbers."""
        beginnings = [number[:end] for end in range(1, len(number) + 1)]
        return self.filter(Q(is_prefix=True) | Q(number=number), number__in=beginnings)


@audited(secret=("number", "phone_number", "reason"))
class DoNotCall(models.Model):
    """A number, or the beginning of numbers, that is not called: in one campaign, or in all if `campaign` is NULL.

    `number` is in the normal form of records; a beginning starts with a plus too. The entry holds from `since` until
    `until`; NULL: without end. One number has one entry for a campaign: a further one extends it.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_outbounds": "campaign_id"}

    number = models.CharField(_("number"), max_length=64)
    phone_number = models.CharField(_("number as it was sent"), max_length=100)
    is_prefix = models.BooleanField(_("all numbers that begin so"), default=False)
    campaign = models.ForeignKey(
        Campaign, models.CASCADE, null=True, blank=True, related_name="do_not_call", verbose_name=_("campaign")
    )
    reason = models.CharField(_("reason"), max_length=300, blank=True)
    since = models.DateTimeField(_("since"), db_default=Now())
    until = models.DateTimeField(_("until"), null=True, blank=True)

    objects = DoNotCallQuerySet.as_manager()

    class Meta:
        verbose_name = _("do-not-call entry")
        verbose_name_plural = _("do-not-call entries")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["number", "is_prefix", "campaign"], nulls_distinct=False, name="donotcall_is_unique"
            ),
            models.CheckConstraint(
                name="donotcall_ends_after_start", condition=Q(until=None) | Q(until__gt=F("since"))
            ),
        ]
        indexes = [models.Index(fields=["number"], condition=Q(is_prefix=True), name="donotcall_prefixes")]

    def __str__(self) -> str:
        return f"{self.phone_number}…" if self.is_prefix else self.phone_number
