from datetime import timedelta

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from webhooks.models.event import Event
from webhooks.models.webhook import Webhook

# Between the attempts; the first is made at once.
DELAYS = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=10),
)


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def waiting(self) -> "DeliveryQuerySet":
        return self.filter(state=Delivery.State.WAITING)

    def failed(self) -> "DeliveryQuerySet":
        return self.filter(state=Delivery.State.FAILED)


class Delivery(models.Model):
    """One event to be told to one webhook: waiting, succeeded, or failed after the last attempt.

    `next_attempt_at` is when it is due. A worker that takes it pushes that past its lease: should the worker die, the
    delivery becomes due again by itself.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        SUCCEEDED = "succeeded", _("succeeded")
        FAILED = "failed", _("failed")

    # No constraints in the database on either: they would cost a batch of 10,000 events 20,000 look-ups, and rows go
    # in this order only (webhooks.retention).
    event = models.ForeignKey(
        Event,
        models.DO_NOTHING,
        related_name="deliveries",
        db_index=False,
        db_constraint=False,
        verbose_name=_("event"),
    )
    webhook = models.ForeignKey(
        Webhook,
        models.DO_NOTHING,
        related_name="deliveries",
        db_index=False,
        db_constraint=False,
        verbose_name=_("webhook"),
    )
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.WAITING)
    attempt_count = models.PositiveSmallIntegerField(_("attempts"), default=0)
    next_attempt_at = models.DateTimeField(_("next attempt"), null=True)
    finished_at = models.DateTimeField(_("finished"), null=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["event", "webhook"], name="delivery_is_unique"),
            models.CheckConstraint(
                name="delivery_waiting_is_due",
                condition=~Q(state="waiting") | Q(next_attempt_at__isnull=False),
            ),
        ]
        indexes = [
            # The queue of one webhook; succeeded and failed ones are not in it.
            models.Index(
                fields=["webhook", "next_attempt_at", "id"], condition=Q(state="waiting"), name="delivery_queue"
            ),
            models.Index(fields=["webhook", "-id"], name="delivery_webhook"),
            models.Index(fields=["webhook", "finished_at"], condition=Q(state="failed"), name="delivery_failed"),
        ]

    def __str__(self) -> str:
        return f"{self.event_id} → {self.webhook_id}"


class Attempt(models.Model):
    """One request to a receiver and what came of it: an HTTP status, or the reason why there was none."""

    delivery = models.ForeignKey(
        Delivery, models.DO_NOTHING, related_name="attempts", db_constraint=False, verbose_name=_("delivery")
    )
    webhook = models.ForeignKey(
        Webhook, models.DO_NOTHING, related_name="attempts", db_index=False, db_constraint=False
    )
    started_at = models.DateTimeField(_("time"))
    milliseconds = models.PositiveIntegerField(_("duration in ms"))
    status = models.PositiveSmallIntegerField(_("status"), null=True)
    error = models.CharField(_("error"), max_length=200, blank=True)
    # The first 2 kB of the answer.
    answer = models.TextField(_("answer"), blank=True)

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        ordering = ["-id"]
        indexes = [models.Index(fields=["webhook", "started_at"], name="attempt_webhook")]

    def __str__(self) -> str:
        return self.error or str(self.status)

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300
