from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.core.due_work import LEASE, DueQuerySet, DueWork, Retries
from callcentre.core.scope import WITHOUT_SCOPE_ONLY, Lookups
from webhooks.models.event import Event
from webhooks.models.webhook import Webhook

FAILED_ATTEMPT = Q(status__isnull=True) | Q(status__lt=200) | Q(status__gte=300)


class DeliveryQuerySet(DueQuerySet):
    def waiting(self) -> "DeliveryQuerySet":
        return self.filter(Delivery.waits)

    def failed(self) -> "DeliveryQuerySet":
        return self.filter(state=Delivery.State.FAILED)

    def put_off(self) -> "DeliveryQuerySet":
        """Deliveries that wait for a next attempt beyond the lease, so that no worker holds them."""
        return self.waiting().filter(next_attempt_at__gt=Now() + LEASE)


class Delivery(DueWork):
    """The delivery of one event to one webhook: waiting, succeeded, or failed after the last attempt.

    A worker claims many of one webhook by one statement, for a lease that is longer than a batch with its last request
    can take. Untried deliveries go before retries.
    """

    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY
    waits = Q(state="waiting")
    delays = Retries.EVENT

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        SUCCEEDED = "succeeded", _("succeeded")
        FAILED = "failed", _("failed")

    # Without constraints in the database: a batch of 10,000 events would need 20,000 look-ups. Only webhooks.retention
    # deletes rows, deliveries before events and webhooks.
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
    # Whether an attempt was made, or a person sent it again. Other deliveries go first.
    is_retry = models.BooleanField(db_default=False, editable=False)
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
            # The queue of one webhook.
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
            # The newest failed deliveries, of one webhook and of all. Scanning for them would read millions of rows.
            models.Index(fields=["webhook", "-id"], condition=Q(state="failed"), name="delivery_newest_failed"),
            models.Index(fields=["-id"], condition=Q(state="failed"), name="delivery_any_failed"),
        ]

    def __str__(self) -> str:
        return _now("event %(event)s to webhook %(webhook)s") % {
            "event": self.event_id,
            "webhook": self.webhook_id,
        }


class Attempt(models.Model):
    """One request to a receiver with its result: an HTTP status, or the reason why there is none."""

    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY

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
            # Also answers the health of the last hours from the index alone.
            models.Index(fields=["webhook", "-id"], include=["started_at", "status"], name="attempt_webhook"),
            models.Index(fields=["webhook", "-id"], condition=FAILED_ATTEMPT, name="attempt_failed"),
            models.Index(fields=["-id"], condition=FAILED_ATTEMPT, name="attempt_any_failed"),
        ]

    def __str__(self) -> str:
        return f"{timezone.localtime(self.started_at):%Y-%m-%d %H:%M:%S}, {self.error or self.status}"

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def came_back(self) -> str:
        return " ".join(str(part) for part in (self.status, self.error) if part)


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
