from datetime import datetime, time
from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel
from callcentre.core.opening_hours import WeeklyHours
from callcentre.core.scope import Lookups
from telephony.models.agent import Agent

NUMBER = RegexValidator(r"\A\+?[0-9]+\Z", _("A number has digits, and may begin with +."))
# ISO 639.
LANGUAGE = RegexValidator(r"\A[a-z]{2}\Z", _("Two small letters, such as pl."))


class QueueQuerySet(models.QuerySet["Queue"]):
    def active(self) -> "QueueQuerySet":
        return self.filter(is_active=True)


@audited()
class Queue(NamedModel):
    """A queue of callers who wait for an agent. A call to its number enters it; the longest wait is served first.

    An unused queue is made inactive, never deleted, because connections refer to it. Its ids and those of ticket queues
    come from one sequence, so that a report can name either.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "id"}

    name = models.CharField(_("name"), max_length=100, unique=True)
    is_active = models.BooleanField(pgettext_lazy("of a queue", "active"), default=True)
    # The digits that the switch reports for an arriving call.
    number = models.CharField(
        _("number"),
        max_length=40,
        blank=True,
        validators=[NUMBER],
        help_text=_("Calls to this number enter the queue."),
    )
    priority = models.PositiveSmallIntegerField(
        _("priority"), default=50, help_text=_("Of queues with the same agents the lower number is served first.")
    )
    step_seconds = models.PositiveIntegerField(
        _("seconds of waiting that count as a step"),
        default=0,
        db_default=0,
        help_text=_(
            "After each so many seconds a caller is served as if the priority number were one lower; 0: never."
        ),
    )
    wrap_up_seconds = models.PositiveIntegerField(
        _("wrap-up time in s"), default=10, validators=[MaxValueValidator(3600)]
    )
    topic_minutes = models.PositiveSmallIntegerField(
        _("wait for the topic in min"),
        default=0,
        db_default=0,
        validators=[MaxValueValidator(60)],
        help_text=_(
            "At the desk the wrap-up lasts until the call has a topic, at most so long; 0: no topic is required."
        ),
    )
    ring_seconds = models.PositiveIntegerField(
        _("ringing time in s"),
        default=20,
        validators=[MinValueValidator(3), MaxValueValidator(300)],
        help_text=_("How long an agent's phone rings before the call goes on to the next."),
    )
    longest_wait_seconds = models.PositiveIntegerField(
        _("longest wait in s"), default=600, help_text=_("After it the call overflows; 0 for no limit.")
    )
    overflow_queue = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("overflow queue")
    )
    overflow_number = models.CharField(
        _("overflow number"),
        max_length=40,
        blank=True,
        help_text=_(
            "Where callers go who waited too long or call outside the opening hours; empty: they are disconnected."
        ),
    )
    most_waiting = models.PositiveSmallIntegerField(
        _("most waiting callers"),
        default=0,
        db_default=0,
        help_text=_("A queue with so many is full: further callers go where it overflows; 0 for no limit."),
    )
    callback_key = models.CharField(
        _("key for a call-back"),
        max_length=1,
        blank=True,
        default="",
        db_default="",
        validators=[RegexValidator(r"\A[0-9*#]\Z", _("A key is a digit, * or #."))],
        help_text=_("A waiting caller who presses it is disconnected and called in turn; empty: no key."),
    )
    callback_after_seconds = models.PositiveIntegerField(
        _("call-back after a wait of s"),
        default=0,
        db_default=0,
        help_text=_("A caller who has waited so long is disconnected and called in turn; 0: never."),
    )
    callback_attempts = models.PositiveSmallIntegerField(
        _("attempts of a call-back"),
        default=3,
        db_default=3,
        validators=[MinValueValidator(1), MaxValueValidator(20)],
        help_text=_("How often a number that does not answer is called."),
    )
    callback_minutes = models.PositiveSmallIntegerField(
        _("minutes between the attempts"), default=10, db_default=10, validators=[MaxValueValidator(1440)]
    )
    music_class = models.CharField(_("music on hold"), max_length=40, default="default")
    prompt_seconds = models.PositiveSmallIntegerField(
        _("time between prompts in s"),
        default=45,
        db_default=45,
        validators=[MaxValueValidator(3600)],
        help_text=_("Place and estimated wait are said so often while the caller waits; 0: only at the beginning."),
    )
    prompt_language = models.CharField(
        _("language"),
        max_length=2,
        blank=True,
        default="",
        db_default="",
        validators=[LANGUAGE],
        help_text=_("Of callers in whose language there is no prompt, two letters such as pl."),
    )
    has_voicemail = models.BooleanField(
        _("voicemail"),
        default=False,
        db_default=False,
        help_text=_(
            "Callers may leave a message who would be disconnected: the queue is closed or full, or they have waited "
            "too long."
        ),
    )
    voicemail_seconds = models.PositiveSmallIntegerField(
        _("longest message in s"),
        default=120,
        db_default=120,
        validators=[MinValueValidator(5), MaxValueValidator(600)],
    )
    # A ticket queue; telephony knows its id only (telephony.voicemail_tickets).
    voicemail_ticket_queue_id = models.BigIntegerField(_("tickets of messages in"), null=True, blank=True)
    agents = models.ManyToManyField(Agent, through="QueueMember", related_name="queues", verbose_name=_("agents"))

    objects = QueueQuerySet.as_manager()

    class Meta:
        verbose_name = _("queue")
        verbose_name_plural = _("queues")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["number"],
                name="queue_number_is_unique",
                condition=~Q(number=""),
                violation_error_message=_("Another queue has this number."),
            ),
            models.CheckConstraint(
                name="queue_overflows_to_one_place",
                condition=Q(overflow_queue__isnull=True) | Q(overflow_number=""),
                violation_error_message=_("A queue overflows to a queue or to a number, not to both."),
            ),
            models.CheckConstraint(
                name="queue_overflows_elsewhere",
                condition=~Q(overflow_queue=F("id")),
                violation_error_message=_("A queue does not overflow to itself."),
            ),
        ]

    def is_open(self, at: datetime) -> bool:
        """Return whether the queue takes calls: it is active and within its opening hours, if it has any."""
        if not self.is_active:
            return False
        hours = list(self.opening_hours.all())
        local = timezone.localtime(at)
        return not hours or any(span.holds(local) for span in hours)


@audited(part_of="queue")
class QueueMember(models.Model):
    """An agent of a queue. Of those with the required skills, the lowest priority number is rung first."""

    scope_lookups: ClassVar[Lookups] = {"scope_agent_groups": "agent__group_id"}

    queue = models.ForeignKey(Queue, models.CASCADE, related_name="members", verbose_name=_("queue"), db_index=False)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="memberships", verbose_name=_("agent"))
    priority = models.PositiveSmallIntegerField(_("priority"), default=50)

    class Meta:
        verbose_name = _("agent of a queue")
        verbose_name_plural = _("agents of a queue")
        ordering = ["priority", "id"]
        constraints = [models.UniqueConstraint(fields=["queue", "agent"], name="queuemember_is_unique")]

    def __str__(self) -> str:
        return f"{self.agent} → {self.queue}"


@audited(part_of="queue")
class OpeningHours(WeeklyHours):
    """Opening hours of a queue. A queue without any is always open."""

    queue = models.ForeignKey(Queue, models.CASCADE, related_name="opening_hours", verbose_name=_("queue"))

    def holds(self, local: datetime) -> bool:
        """Return whether this local time lies in the hours; the end does not."""
        if local.isoweekday() != self.weekday:
            return False
        return self.opens_at <= local.time() and (local.time() < self.closes_at or self.closes_at == time())
