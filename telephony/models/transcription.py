"""Transcriptions of calls: who said what, what it came to, and how much of the month's minutes they took."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.models import TimestampedModel
from telephony.models.connection import Connection
from telephony.models.queue import Queue

NOTHING_MADE: dict[str, Any] = {"summary": None, "sentiment": None, "evaluated_criteria": None}


def is_configured() -> bool:
    """Return whether a provider is configured."""
    return bool(settings.TRANSCRIPTION_URL)


class EvaluationCriterionQuerySet(models.QuerySet["EvaluationCriterion"]):
    def for_queue(self, queue_id: int | None) -> "EvaluationCriterionQuerySet":
        return self.filter(Q(queue=None) | Q(queue=queue_id), is_active=True)


class EvaluationCriterion(TimestampedModel):
    """Something that a good call has, as the agent's greeting: the model reads the description and says yes or no."""

    name = models.CharField(_("name"), max_length=100, unique=True)
    description = models.TextField(
        _("description"),
        max_length=1000,
        help_text=_("What must be true of the conversation, as you would say it to a new supervisor."),
    )
    queue = models.ForeignKey(
        Queue,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="criteria",
        verbose_name=_("queue"),
        help_text=_("Of whose calls; empty for all calls."),
    )
    is_active = models.BooleanField(pgettext_lazy("of a criterion", "active"), default=True)
    order = models.PositiveIntegerField(_("order"), default=50)

    objects = EvaluationCriterionQuerySet.as_manager()

    class Meta:
        verbose_name = _("evaluation criterion")
        verbose_name_plural = _("evaluation criteria")
        ordering = ["order", "id"]

    def __str__(self) -> str:
        return self.name


class TranscriptionQuerySet(models.QuerySet["Transcription"]):
    def due(self, now: datetime) -> "TranscriptionQuerySet":
        return self.filter(status=Transcription.Status.PENDING, next_attempt_at__lte=now)


class Transcription(models.Model):
    """What was said in a connection, and what a model makes of it.

    PENDING until the provider has answered, or has failed for the last time. `parts` are kept as soon as they are
    there, so that an analysis that fails is tried again without paying for the words twice.
    """

    class Status(models.TextChoices):
        PENDING = "PENDING", _("in progress")
        SUCCESS = "SUCCESS", _("ready")
        ERROR = "ERROR", _("failed")
        LIMIT_EXCEEDED = "LIMIT_EXCEEDED", _("limit exceeded")

    connection = models.OneToOneField(
        Connection, models.CASCADE, primary_key=True, related_name="transcription", verbose_name=_("call")
    )
    status = models.CharField(_("status"), max_length=14, choices=Status, default=Status.PENDING)
    # As the interface spells them: [{"begin": 0.0, "end": 2.5, "speaker": "USER", "text": "…"}, …]
    parts = models.JSONField(_("parts"), null=True)
    # The length in which the parts lie.
    seconds = models.FloatField(_("length in s"), default=0)
    # [{"content": "…", "important": true}, …]; {"sentiment": "POSITIVE", "justification": "…"};
    # [{"criteriaId": "3", "fulfilled": true}, …]. None: nobody was asked.
    summary = models.JSONField(_("summary"), null=True)
    sentiment = models.JSONField(_("sentiment"), null=True)
    evaluated_criteria = models.JSONField(_("evaluated criteria"), null=True)
    created_at = models.DateTimeField(_("requested"))
    finished_at = models.DateTimeField(_("finished"), null=True)
    # Since it was asked for.
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    # Grows with every claim, and so tells a worker whether the transcription is still its own.
    claim_number = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(_("next attempt"), null=True)
    error = models.CharField(_("error"), max_length=300, blank=True)
    # Of the month `charged_month`; given back where no word came of it.
    charged_seconds = models.PositiveIntegerField(default=0)
    charged_month = models.CharField(max_length=7, blank=True)
    # Who had it made anew; empty where the service did by itself.
    requested_by = models.CharField(_("requested by"), max_length=150, blank=True)

    objects = TranscriptionQuerySet.as_manager()

    class Meta:
        verbose_name = _("transcription")
        verbose_name_plural = _("transcriptions")
        ordering = ["-connection_id"]
        constraints = [
            models.CheckConstraint(
                name="transcription_pending_is_due", condition=~Q(status="PENDING") | Q(next_attempt_at__isnull=False)
            ),
        ]
        indexes = [
            models.Index(fields=["next_attempt_at"], condition=Q(status="PENDING"), name="transcription_queue"),
            models.Index(fields=["status", "-connection"], name="transcription_status"),
        ]

    def __str__(self) -> str:
        return str(self.connection)


class TranscriptionUsage(models.Model):
    """How many seconds of calls were sent to the provider in a month of the service's clock."""

    month = models.CharField(_("month"), max_length=7, primary_key=True)
    seconds = models.PositiveBigIntegerField(_("seconds"), default=0)

    class Meta:
        verbose_name = _("minutes transcribed in a month")
        verbose_name_plural = _("minutes transcribed by month")
        ordering = ["-month"]

    def __str__(self) -> str:
        return self.month
