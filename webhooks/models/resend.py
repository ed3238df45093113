from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.scope import WITHOUT_SCOPE_ONLY, Lookups
from webhooks.models.webhook import Webhook


class ResendQuerySet(models.QuerySet["Resend"]):
    def open(self) -> "ResendQuerySet":
        return self.exclude(state=Resend.State.FINISHED)

    def due(self) -> "ResendQuerySet":
        """Unfinished resends whose lease has expired."""
        return self.open().filter(leased_until__lt=timezone.now())


class Resend(models.Model):
    """An order to send again, in the background, what has failed for one webhook: queued, running, finished.

    Each transaction makes a piece of the deliveries due and counts them. They are then no longer failed, so another
    worker can go on if one is killed. Finished means that all are due; the deliveries have the results.
    """

    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        FINISHED = "finished", _("finished")

    webhook = models.ForeignKey(
        Webhook, models.CASCADE, related_name="resends", db_index=False, verbose_name=_("webhook")
    )
    since = models.DateTimeField(_("failed since"))
    includes_waiting = models.BooleanField(_("and those that wait for a later attempt"), default=False)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.QUEUED)
    # NULL until the first piece has counted the deliveries.
    total_count = models.PositiveIntegerField(_("deliveries"), null=True)
    done_count = models.PositiveIntegerField(_("made due"), default=0)
    # The end of the lease. After it, the worker or the message counts as lost.
    leased_until = models.DateTimeField()
    actor_kind = models.CharField(max_length=10)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(_("asked for by"), max_length=150)
    created_at = models.DateTimeField(_("created"), db_default=Now())
    finished_at = models.DateTimeField(_("finished"), null=True)

    objects = ResendQuerySet.as_manager()

    class Meta:
        verbose_name = _("resend of what failed")
        verbose_name_plural = _("resends of what failed")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["webhook"],
                condition=~Q(state="finished"),
                name="resend_is_alone",
                violation_error_message=_("What failed is being sent again already."),
            ),
        ]
        indexes = [models.Index(fields=["webhook", "-id"], name="resend_webhook")]

    def __str__(self) -> str:
        return str(self.webhook)

    @property
    def is_finished(self) -> bool:
        return self.state == self.State.FINISHED

    @property
    def percent(self) -> int:
        if self.is_finished:
            return 100
        return 100 * self.done_count // self.total_count if self.total_count else 0
