"""The alarms that supervisors set."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, ClassVar, NamedTuple

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, validate_email
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel, languages
from callcentre.core.due_work import DueQuerySet, Retries
from callcentre.core.mail_outbox import QueuedMail
from callcentre.core.scope import Lookups, within_scope
from callcentre.models import User
from campaigns.models import Campaign
from telephony.models import Queue

MOST_RECIPIENTS = 50


class AlarmSubject(models.TextChoices):
    """The watched figure. The names are published in events and never change."""

    QUEUE_WAIT = "QUEUE_WAIT", _("queue: the longest wait is above (seconds)")
    QUEUE_CALLERS = "QUEUE_CALLERS", _("queue: the number of waiting callers is above")
    QUEUE_FREE_AGENTS = "QUEUE_FREE_AGENTS", _("queue: the number of free agents is below, while it is open")
    CAMPAIGN_DROP_RATE = "CAMPAIGN_DROP_RATE", _("campaign: the drop rate of today is above (%)")
    TRUNK_FAILED = "TRUNK_FAILED", _("trunk: no call has got through for longer than (seconds)")

    @property
    def place(self) -> str:
        """The field with the queue or the campaign; "" for the trunk, which needs none."""
        return MEANINGS[self].place

    def sentence(self, limit: float) -> str:
        """Return the condition in words."""
        return str(MEANINGS[self].sentence) % {"limit": f"{limit:g}"}

    def is_beyond(self, value: float, limit: float) -> bool:
        return value < limit if MEANINGS[self].is_low else value > limit


class Meaning(NamedTuple):
    """The meaning of a subject: its condition in words, what it watches, and whether a low value raises the alarm."""

    sentence: Any
    place: str = "queue"
    is_low: bool = False


MEANINGS = {
    AlarmSubject.QUEUE_WAIT: Meaning(_("a caller waits longer than %(limit)s s")),
    AlarmSubject.QUEUE_CALLERS: Meaning(_("more than %(limit)s callers wait")),
    AlarmSubject.QUEUE_FREE_AGENTS: Meaning(_("fewer than %(limit)s agents are free"), is_low=True),
    AlarmSubject.CAMPAIGN_DROP_RATE: Meaning(_("the drop rate of today is above %(limit)s %%"), "campaign"),
    AlarmSubject.TRUNK_FAILED: Meaning(_("no call has got through for longer than %(limit)s s"), ""),
}


def _is_of_its_place() -> Q:
    """Return the condition that an alarm has the queue or the campaign that its subject watches, and nothing else."""
    others = {subject.value: meaning.place for subject, meaning in MEANINGS.items() if meaning.place != "queue"}
    condition = Q()
    for subject, place in others.items():
        condition |= Q(("campaign__isnull", False) if place else ("campaign", None), queue=None, subject=subject)
    return condition | ~Q(subject__in=[*others]) & Q(campaign=None, queue__isnull=False)


@audited(ignored=("raised_at", "value", "user_id"))
class Alarm(NamedModel):
    """A limit of a figure of a queue, a campaign or the trunk. It is raised while the figure is beyond the limit.

    Only `callcentre.overview.watch` sets `raised_at` and `value`, with the event and the mails of the change in one
    transaction.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "queue_id", "scope_outbounds": "campaign_id"}

    Subject = AlarmSubject

    name = models.CharField(_("name"), max_length=100, unique=True)
    is_active = models.BooleanField(pgettext_lazy("of an alarm", "active"), default=True)
    subject = models.CharField(_("raised if"), max_length=20, choices=Subject)
    limit = models.FloatField(_("limit"), validators=[MinValueValidator(0), MaxValueValidator(100_000)])
    queue = models.ForeignKey(
        Queue, models.CASCADE, null=True, blank=True, related_name="alarms", verbose_name=_("queue")
    )
    campaign = models.ForeignKey(
        Campaign, models.CASCADE, null=True, blank=True, related_name="alarms", verbose_name=_("campaign")
    )
    sounds = models.BooleanField(
        _("sound"), default=False, help_text=_("Open overviews and wallboards sound when it is raised.")
    )
    recipients = ArrayField(models.CharField(max_length=320), default=list, blank=True, verbose_name=_("recipients"))
    language = models.CharField(
        _("language of mails"), max_length=10, choices=languages, default=settings.LANGUAGE_CODE
    )
    # The person who saved it last; NULL: from before the upgrade. It mails only what this person may see.
    user = models.ForeignKey(
        User,
        models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        db_index=False,
        verbose_name=_("saved by"),
    )
    # The state: since when the figure is beyond the limit, and the figure at the last change of the state.
    raised_at = models.DateTimeField(_("raised"), null=True, editable=False)
    value = models.FloatField(_("value"), null=True, editable=False)

    class Meta:
        verbose_name = _("alarm")
        verbose_name_plural = _("alarms")
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                name="alarm_is_of_queue_or_campaign",
                condition=_is_of_its_place(),
                violation_error_message=_("Choose the queue or the campaign that the alarm watches."),
            ),
        ]

    @property
    def may_be_mailed(self) -> bool:
        """Whether the person who saved it last may still see it. Inactive people count like active ones, as for
        scheduled reports: an alarm goes on when its author has left.
        """
        if self.user is None:
            return True
        self.user.is_active = True
        is_within = within_scope(Alarm.objects.filter(pk=self.pk), self.user).exists()
        return is_within and self.user.has_perm("overview.view_alarm")

    @property
    def place(self) -> str:
        """The name of the queue, the campaign or the trunk, or that of the alarm, if it watches something else."""
        is_of_trunk = self.subject == AlarmSubject.TRUNK_FAILED
        return str(self.queue or self.campaign or (settings.TRUNK if is_of_trunk else self.name))

    @property
    def sentence(self) -> str:
        return f"{self.place}: {self.Subject(self.subject).sentence(self.limit)}"

    def clean(self) -> None:
        faults: dict[str, Any] = dict(self.faults())
        if faults:
            raise ValidationError(faults)

    def faults(self) -> Iterator[tuple[str, Any]]:
        """Yield the name of each faulty field with a sentence, of rules about several fields or a list."""
        if self.subject in self.Subject.values:
            wanted = self.Subject(self.subject).place
            for name in ("queue", "campaign"):
                is_given = getattr(self, f"{name}_id") is not None
                if name == wanted and not is_given:
                    yield name, _("This field is required.")
                elif name != wanted and is_given:
                    yield name, _("The alarm does not watch this: leave it empty.")
        if len(self.recipients) > MOST_RECIPIENTS:
            yield "recipients", _("No more than %(limit)s.") % {"limit": MOST_RECIPIENTS}
        for recipient in self.recipients:
            try:
                validate_email(recipient)
            except ValidationError:
                yield "recipients", _("%(address)s is no e-mail address.") % {"address": recipient}


# Mails are kept for so long after the change that they report.
KEPT = timedelta(days=30)


class AlarmMailQuerySet(DueQuerySet):
    def outdated(self, now: datetime) -> "AlarmMailQuerySet":
        """Return mails that nothing happens to any more, of changes long ago."""
        return self.exclude(state=AlarmMail.State.QUEUED).filter(at__lt=now - KEPT)


class AlarmMail(QueuedMail):
    """A change of an alarm for one of its recipients, written in the transaction of the change."""

    delays = Retries.ALARM
    task = "overview.mail_alarm"

    alarm = models.ForeignKey(Alarm, models.CASCADE, related_name="mails", verbose_name=_("alarm"))
    is_raised = models.BooleanField(_("raised"))
    at = models.DateTimeField(_("time"))
    value = models.FloatField(_("value"), null=True)
    limit = models.FloatField(_("limit"))

    objects = AlarmMailQuerySet.as_manager()

    class Meta:
        verbose_name = _("mail of an alarm")
        verbose_name_plural = _("mails of alarms")
        ordering = ["-id"]
        indexes = [models.Index(fields=["next_attempt_at"], condition=Q(state="queued"), name="alarmmail_due")]
