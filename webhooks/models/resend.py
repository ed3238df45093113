from datetime import datetime, timedelta
from typing import Any

from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import Actor
from callcentre.core.enqueue import enqueue
from callcentre.models import actor_columns
from webhooks.models.delivery import Delivery
from webhooks.models.webhook import Webhook

# Deliveries in one transaction: short enough that nobody who sends to the webhook waits for it.
PIECE = 1_000
# Silent for this long, its message or its worker was lost.
LEASE = timedelta(seconds=30)


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

    @classmethod
    def start(cls, actor: Actor, webhook: Webhook, since: datetime, *, includes_waiting: bool = False) -> "Resend":
        """Send again what failed since then; also, where asked for, what waits for a later attempt.

        Raises IntegrityError while another one of this webhook is not finished.
        """
        with transaction.atomic():
            resend = cls.objects.create(
                webhook=webhook,
                since=since,
                includes_waiting=includes_waiting,
                leased_until=timezone.now() + LEASE,
                **actor_columns(actor),
            )
            webhook.history.create(
                action="resend", changes={"since": [None, since.isoformat()]}, **actor_columns(actor)
            )
            enqueue("webhooks.resend", resend.pk)
        resend.refresh_from_db(fields=["created_at"])
        return resend

    def step(self) -> bool:
        """Make one piece due. Whether there is more to do."""
        with transaction.atomic():
            # Two workers that believe it theirs take turns.
            self.refresh_from_db(from_queryset=Resend.objects.select_for_update(no_key=True))
            if self.state == self.State.FINISHED:
                return False
            if self.total_count is None:
                self.total_count = sum(deliveries.count() for deliveries in self._left())
            done = next((count for deliveries in self._left() if (count := _begin_anew(deliveries))), 0)
            self.done_count += done
            # More may turn up than were counted: what waits and fails once more meanwhile. It has had its turn.
            is_over = not done or (self.includes_waiting and self.done_count >= self.total_count)
            self._set(
                state=self.State.FINISHED if is_over else self.State.RUNNING,
                finished_at=timezone.now() if is_over else None,
                leased_until=timezone.now() + LEASE,
                total_count=self.done_count if is_over else max(self.total_count, self.done_count),
                done_count=self.done_count,
            )
            if done:
                self.webhook.try_now()
        return not is_over

    def _left(self) -> list[models.QuerySet[Delivery]]:
        of_webhook = Delivery.objects.filter(webhook_id=self.webhook_id)
        failed = of_webhook.failed_between(self.since, self.created_at).order_by("finished_at")
        waiting = of_webhook.put_off().order_by("next_attempt_at", "id")
        return [failed, waiting] if self.includes_waiting else [failed]

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=values)

    @property
    def is_finished(self) -> bool:
        return self.state == self.State.FINISHED

    @property
    def percent(self) -> int:
        if self.is_finished:
            return 100
        return 100 * self.done_count // self.total_count if self.total_count else 0


def _begin_anew(deliveries: models.QuerySet[Delivery]) -> int:
    locked = deliveries.select_for_update(skip_locked=True).values_list("pk", flat=True)[:PIECE]
    return Delivery.objects.filter(pk__in=list(locked)).begin_anew()
