"""Legal holds: a customer or a ticket whose data neither a retention nor a deletion removes.

`on_hold` of tickets/people.py returns what the holds keep; callcentre/core/personal_data.py leaves it out.
"""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import Actor
from callcentre.core.audit import audited
from callcentre.core.scope import WITHOUT_SCOPE_ONLY, Lookups


class LegalHold(models.Model):
    """A hold on a customer or a ticket, named by its kind and id, from its beginning until a person ends it."""

    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY

    class Kind(models.TextChoices):
        CUSTOMER = "customer", _("customer")
        TICKET = "ticket", _("ticket")

    kind = models.CharField(_("kind"), max_length=10, choices=Kind)
    object_id = models.BigIntegerField(_("id"))
    reason = models.CharField(_("reason"), max_length=500)
    begun_by = models.CharField(_("begun by"), max_length=150, editable=False)
    begun_at = models.DateTimeField(_("since"), db_default=Now(), editable=False)
    ended_by = models.CharField(_("ended by"), max_length=150, blank=True, editable=False)
    ended_at = models.DateTimeField(_("ended"), null=True, editable=False)

    class Meta:
        app_label = "callcentre"
        verbose_name = _("legal hold")
        verbose_name_plural = _("legal holds")
        ordering = ["-id"]
        default_permissions = ("add", "change", "view")
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "object_id"],
                condition=Q(ended_at=None),
                name="legalhold_is_unique",
                violation_error_message=_("There is a legal hold on it already."),
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.object_id}"


audited(secret=("reason",))(LegalHold)


def end_hold(actor: Actor, hold: LegalHold) -> bool:
    """End a hold. Return False if it has ended already."""
    running = LegalHold.objects.filter(pk=hold.pk, ended_at=None)
    return bool(running.update(ended_at=timezone.now(), ended_by=actor.name[:150]))
