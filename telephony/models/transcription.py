"""Transcriptions of calls: who said what, what it came to, and how much of the month's minutes they took."""

import math
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.actor import Actor
from callcentre.core.enqueue import enqueue
from callcentre.models import TimestampedModel
from telephony import events
from telephony.models.connection import Connection
from telephony.models.queue import Queue
from telephony.models.recording import Recording

# Between the attempts; the first is made at once. After the last one the transcription has failed.
DELAYS = (timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30))
LONGEST_DELAY = timedelta(hours=1)
# How long a worker may keep what it has claimed without a word. It renews its lease before each request.
LEASE_MARGIN = timedelta(minutes=2)
NOTHING_MADE: dict[str, Any] = {"summary": None, "sentiment": None, "evaluated_criteria": None}


def is_configured() -> bool:
    """Whether there is somebody to send recordings to."""
    return bool(settings.TRANSCRIPTION_URL)


def lease() -> timedelta:
    """Longer than the longest request of a worker: an answer that trickles may take twice the time-out."""
    return 2 * timedelta(seconds=settings.TRANSCRIPTION_TIMEOUT_SECONDS) + LEASE_MARGIN


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

    @classmethod
    def request(cls, connection_id: int) -> None:
        """Have the recordings of a call transcribed, now that they are all there. Asked twice it is asked once."""
        with transaction.atomic():
            Connection.objects.select_for_update(no_key=True, of=("self",)).get(pk=connection_id)
            Recording.objects.filter(connection=connection_id).update(is_considered=True)
            now = timezone.now()
            values = {"created_at": now, "next_attempt_at": now}
            cls.objects.get_or_create(connection_id=connection_id, defaults=values)
            enqueue("telephony.transcribe", connection_id)

    def request_again(self, actor: Actor) -> bool:
        """Forget what was made of the call, and make it anew. Whether there is something to make it of."""
        with transaction.atomic():
            Connection.objects.select_for_update(no_key=True, of=("self",)).get(pk=self.pk)
            if not is_configured() or not Recording.objects.ready().filter(connection=self.pk).exists():
                return False
            now = timezone.now()
            Transcription.objects.filter(pk=self.pk).update(
                status=self.Status.PENDING,
                parts=None,
                **NOTHING_MADE,
                created_at=now,
                next_attempt_at=now,
                finished_at=None,
                attempts=0,
                claim_number=F("claim_number") + 1,  # whoever still works on it has lost it
                error="",
                charged_seconds=0,
                charged_month="",
                requested_by=actor.name[:150],
            )
            enqueue("telephony.transcribe", self.pk)
        return True

    # What a worker does with it

    def claim(self) -> bool:
        """Take it for one attempt, if it is due and nobody has it."""
        now = timezone.now()
        due = Transcription.objects.due(now).filter(pk=self.pk)
        taken = {"attempts": F("attempts") + 1, "claim_number": F("claim_number") + 1}
        if not due.update(next_attempt_at=now + lease(), **taken):
            return False
        self.refresh_from_db()
        if self.attempts > len(DELAYS) + 1:  # the last one ended its worker
            self._end(self.Status.ERROR, error=self.error or "the attempts ended early")
            return False
        return True

    def renew(self) -> bool:
        """Keep it for the next request; whether it is still ours."""
        return bool(self._ours().update(next_attempt_at=timezone.now() + lease()))

    def withdraw(self) -> None:
        """There is no provider any more: as if it had never been asked for, until there is one."""
        with transaction.atomic():
            if self._ours().delete()[0]:
                Recording.objects.filter(connection=self.pk).update(is_considered=False)

    def charge(self, seconds: float) -> bool:
        """Take these seconds from the month's, unless that was done in an earlier attempt; whether they were left."""
        if self.charged_month:
            return True
        needed = math.ceil(seconds)
        month = f"{timezone.localtime():%Y-%m}"
        with transaction.atomic():
            if not TranscriptionUsage.take(month, needed):
                return False
            self.charged_month, self.charged_seconds = month, needed
            self._ours().update(charged_month=month, charged_seconds=needed)
        return True

    def keep_parts(self, parts: list[dict[str, Any]], seconds: float) -> None:
        self.parts, self.seconds = parts, seconds
        self._ours().update(parts=parts, seconds=seconds)

    def succeed(self, **made: Any) -> None:
        """It is ready; `made`: what the model made of it."""
        self._end(self.Status.SUCCESS, **made)

    def exceed_limit(self) -> None:
        self._end(self.Status.LIMIT_EXCEEDED)

    def put_off(self, error: str, *, is_final: bool = False, retry_after: float = 0) -> None:
        """This attempt failed: there is another, or it was the last."""
        if is_final or self.attempts > len(DELAYS):
            self._end(self.Status.ERROR, error=error[:300])
            return
        wait = max(DELAYS[self.attempts - 1], min(timedelta(seconds=retry_after), LONGEST_DELAY))
        self._ours().update(error=error[:300], next_attempt_at=timezone.now() + wait)

    def _end(self, status: str, **values: Any) -> None:
        with transaction.atomic():
            call = Connection.objects.select_for_update(no_key=True, of=("self",)).get(pk=self.pk)
            values = {"error": "", **values}
            if not self._ours().update(status=status, finished_at=timezone.now(), next_attempt_at=None, **values):
                return
            if status == self.Status.ERROR and self.parts is None and self.charged_month:
                TranscriptionUsage.give_back(self.charged_month, self.charged_seconds)
            events.transcription_ready(call.uid, status)

    def _ours(self) -> TranscriptionQuerySet:
        return Transcription.objects.filter(pk=self.pk, status=self.Status.PENDING, claim_number=self.claim_number)


# A row that is there already takes the seconds only while they fit; one that is not there begins with them.
_TAKE = """
INSERT INTO telephony_transcriptionusage AS u (month, seconds) SELECT %(month)s, %(seconds)s WHERE {first}
ON CONFLICT (month) DO UPDATE SET seconds = u.seconds + EXCLUDED.seconds WHERE {further}
"""
_TAKE_LIMITED = _TAKE.format(first="%(seconds)s <= %(limit)s", further="u.seconds + EXCLUDED.seconds <= %(limit)s")
_TAKE_ANY = _TAKE.format(first="true", further="true")


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

    @classmethod
    def take(cls, month: str, seconds: int) -> bool:
        """Count them, unless that would be more than the limit; of two at once that do not both fit one gets them."""
        limit = settings.TRANSCRIPTION_MONTHLY_MINUTES * 60
        with connection.cursor() as cursor:
            values: dict[str, int | str] = {"month": month, "seconds": seconds, "limit": limit}
            cursor.execute(_TAKE_LIMITED if limit else _TAKE_ANY, values)
            return bool(cursor.rowcount)

    @classmethod
    def give_back(cls, month: str, seconds: int) -> None:
        cls.objects.filter(month=month).update(seconds=F("seconds") - seconds)
