from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from webhooks.models.webhook import Webhook


class ResendQuerySet(models.QuerySet["Resend"]):
    def open(self) -> "ResendQuerySet":
        return self.exclude(state=Resend.State.FINISHED)

    def due(self) -> "ResendQuerySet":
        """Not finished, and nobody has been heard of for too long."""
        return self.open().filter(leased_until__lt=timezone.now())


class Resend(models.Model):
    """All that failed for one webhook since a time, made due again in the background: queued, running, finished.

    Each piece is a transaction that also counts it. What has been done is no longer failed, so whoever goes on after
    a killed worker starts where that one was. Finished means made due: the deliveries tell what came of them.
    """

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
    # NULL until the first piece has counted them.
    total_count = models.PositiveIntegerField(_("deliveries"), null=True)
    done_count = models.PositiveIntegerField(_("made due"), default=0)
    # Until when its worker counts as alive, or its message as under way.
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
