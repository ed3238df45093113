from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _now
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
# How long a worker may keep what it has claimed: longer than a batch and the last request of it can take.
LEASE_SECONDS = 60
FAILED_ATTEMPT = Q(status__isnull=True) | Q(status__lt=200) | Q(status__gte=300)


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def waiting(self) -> "DeliveryQuerySet":
        return self.filter(state=Delivery.State.WAITING)

    def failed(self) -> "DeliveryQuerySet":
        return self.filter(state=Delivery.State.FAILED)

    def put_off(self) -> "DeliveryQuerySet":
        """Waiting for a next attempt that is so far away that no worker can hold them."""
        return self.waiting().filter(next_attempt_at__gt=Now() + timedelta(seconds=LEASE_SECONDS))

    def failed_between(self, since: datetime, until: datetime) -> "DeliveryQuerySet":
        return self.failed().filter(finished_at__gte=since, finished_at__lte=until)


class Delivery(models.Model):
    """One event to be told to one webhook: waiting, succeeded, or failed after the last attempt.

    `next_attempt_at` is when it is due. A worker that takes it pushes that past its lease: should the worker die, the
    delivery becomes due again by itself. Deliveries that were never tried go before retries.
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
    # An attempt was made, or a person has it sent again: deliveries that were never tried go first.
    is_retry = models.BooleanField(db_default=False, editable=False)
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
            models.Index(
                fields=["webhook", "next_attempt_at", "id"],
                condition=Q(state="waiting", is_retry=False),
                name="delivery_untried",
            ),
            models.Index(fields=["webhook", "-id"], name="delivery_webhook"),
            models.Index(fields=["webhook", "finished_at"], condition=Q(state="failed"), name="delivery_failed"),
            # The newest that failed, of one webhook and of all: among millions that succeeded there may be none.
            models.Index(fields=["webhook", "-id"], condition=Q(state="failed"), name="delivery_newest_failed"),
            models.Index(fields=["-id"], condition=Q(state="failed"), name="delivery_any_failed"),
        ]

    def __str__(self) -> str:
        return _now("event %(event)s to webhook %(webhook)s") % {
            "event": self.event_id,
            "webhook": self.webhook_id,
        }


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
        indexes = [
            # Also how a webhook's last hours were, without a look at the rows.
            models.Index(fields=["webhook", "-id"], include=["started_at", "status"], name="attempt_webhook"),
            models.Index(fields=["webhook", "-id"], condition=FAILED_ATTEMPT, name="attempt_failed"),
            models.Index(fields=["-id"], condition=FAILED_ATTEMPT, name="attempt_any_failed"),
        ]

    def __str__(self) -> str:
        return f"{timezone.localtime(self.started_at):%Y-%m-%d %H:%M:%S}, {self.error or self.status}"

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300
