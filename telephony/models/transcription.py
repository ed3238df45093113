"""Transcriptions of calls, evaluation criteria, and the minutes used by month."""

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel
from callcentre.core.due_work import DIED, DueQuerySet, DueWork, Retries
from callcentre.core.scope import Lookups
from telephony.models.connection import SCOPE_OF_PART, Connection
from telephony.models.queue import Queue

NOTHING_MADE: dict[str, Any] = {"summary": None, "sentiment": None, "evaluated_criteria": None}


def is_configured() -> bool:
    return bool(settings.TRANSCRIPTION_URL)


@audited()
class EvaluationCriterion(NamedModel):
    """A criterion of a good call, as the agent's greeting. The model reads the description and answers yes or no."""

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "queue_id"}

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

    class Meta:
        verbose_name = _("evaluation criterion")
        verbose_name_plural = _("evaluation criteria")
        ordering = ["order", "id"]


class Transcription(DueWork):
    """The words of a connection, and their analysis by a model.

    PENDING until the last attempt has succeeded or failed. `parts` are stored at once, so that a failed analysis is
    retried without paying for the words again.
    """

    scope_lookups: ClassVar[Lookups] = SCOPE_OF_PART
    waits = Q(status="PENDING")
    delays = Retries.TRANSCRIPTION
    task = "telephony.transcribe"

    class Status(models.TextChoices):
        PENDING = "PENDING", _("in progress")
        SUCCESS = "SUCCESS", _("ready")
        ERROR = "ERROR", _("failed")
        LIMIT_EXCEEDED = "LIMIT_EXCEEDED", _("limit exceeded")

    connection = models.OneToOneField(
        Connection, models.CASCADE, primary_key=True, related_name="transcription", verbose_name=_("call")
    )
    status = models.CharField(_("status"), max_length=14, choices=Status, default=Status.PENDING)
    # In the words of the wire: [{"begin": 0.0, "end": 2.5, "speaker": "USER", "text": "…"}, …]
    parts = models.JSONField(_("parts"), null=True)
    seconds = models.FloatField(_("length in s"), default=0)
    # [{"content": "…", "important": true}, …]; {"sentiment": "POSITIVE", "justification": "…"};
    # [{"criteriaId": "3", "fulfilled": true}, …]. None without an analysis.
    summary = models.JSONField(_("summary"), null=True)
    sentiment = models.JSONField(_("sentiment"), null=True)
    evaluated_criteria = models.JSONField(_("evaluated criteria"), null=True)
    created_at = models.DateTimeField(_("requested"))
    finished_at = models.DateTimeField(_("finished"), null=True)
    # Since the request.
    attempt_count = models.PositiveSmallIntegerField(_("attempts"), default=0, db_column="attempts")
    # Not used since 1.0.0, whose workers name a claim by the end of its lease. The next release drops the column.
    claim_number = models.PositiveIntegerField(default=0)
    error = models.CharField(_("error"), max_length=300, blank=True)
    # Seconds charged to `charged_month`; refunded if the transcription fails without words.
    charged_seconds = models.PositiveIntegerField(default=0)
    charged_month = models.CharField(max_length=7, blank=True)
    # The user who requested it again; empty for the automatic request.
    requested_by = models.CharField(_("requested by"), max_length=150, blank=True)

    objects = DueQuerySet.as_manager()

    class Meta:
        verbose_name = _("transcription")
        verbose_name_plural = _("transcriptions")
        ordering = ["-connection_id"]
        constraints = [
            models.CheckConstraint(
                name="transcription_pending_is_due", condition=~Q(status="PENDING") | Q(next_attempt_at__isnull=False)
            )
        ]
        indexes = [
            models.Index(fields=["next_attempt_at"], condition=Q(status="PENDING"), name="transcription_queue"),
            models.Index(fields=["status", "-connection"], name="transcription_status"),
        ]

    def __str__(self) -> str:
        return str(self.connection)

    def given_up(self, error: str) -> dict[str, Any]:
        return {"status": self.Status.ERROR, "finished_at": timezone.now(), **self.failed(error or DIED)}

    @property
    def has_content(self) -> bool:
        return any((self.parts, self.summary, self.sentiment, self.evaluated_criteria))


class TranscriptionUsage(models.Model):
    """The seconds of calls sent to the provider in a month of the configured zone."""

    month = models.CharField(_("month"), max_length=7, primary_key=True)
    seconds = models.PositiveBigIntegerField(_("seconds"), default=0)

    class Meta:
        verbose_name = _("minutes transcribed in a month")
        verbose_name_plural = _("minutes transcribed by month")
        ordering = ["-month"]

    def __str__(self) -> str:
        return self.month
