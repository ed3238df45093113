"""Legal holds: a customer or a ticket whose data neither a retention nor a deletion removes."""

from collections.abc import Callable
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


# Kind -> the function that returns the ids of the rows that rows on hold were merged into.
merged: dict[str, Callable[[set[int]], set[int]]] = {}


def held(kind: str) -> set[int]:
    """Return the ids of the customers, or of the tickets, that are on hold, or that such ones were merged into. They
    are few.
    """
    holds = LegalHold.objects.filter(kind=kind, ended_at=None)
    ids = set(holds.order_by().values_list("object_id", flat=True))
    return ids | merged[kind](ids) if ids else ids


def end_hold(actor: Actor, hold: LegalHold) -> bool:
    """End a hold. Return False if it has ended already."""
    running = LegalHold.objects.filter(pk=hold.pk, ended_at=None)
    return bool(running.update(ended_at=timezone.now(), ended_by=actor.name[:150]))
