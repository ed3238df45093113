from datetime import timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.scope import Kept, Lookups
from campaigns.models.campaign import Campaign
from telephony.models import Agent

# A result may be changed for this long after the end of the call.
RESULT_OPEN = timedelta(minutes=5)


class Attempt(models.Model):
    """One call of the dialler to a number of a record. It outlives its record and its campaign.

    Instants have milliseconds. The attempt is open until the call has ended, and due until its result is settled.
    """

    scope_lookups: ClassVar[Lookups] = {
        "scope_outbounds": Kept("campaign_id", "campaign_code"),
        "scope_agent_groups": "agent__group_id",
    }

    class Outcome(models.TextChoices):
        ANSWERED = "answered", _("answered")
        BUSY = "busy", _("busy")
        NO_ANSWER = "no_answer", _("no answer")
        FAILED = "failed", _("failed")
        DROPPED = "dropped", _("dropped")
        MACHINE = "machine", _("answering machine")
        # The agent's phone was not picked up, or the trunk failed: no attempt.
        NOT_DIALLED = "not_dialled", _("not dialled")
        # Our side hung up after the number was called: a stop, or the agent's phone was lost. It counts as no attempt.
        CANCELLED = "cancelled", _("ended by our side")

    class Mode(models.TextChoices):
        ONE_TO_ONE = "one_to_one", _("one to one")
        PREDICTIVE = "predictive", _("predictive")
        PREVIEW = "preview", _("preview")

    campaign = models.ForeignKey(
        Campaign, models.SET_NULL, null=True, db_index=False, related_name="attempts", verbose_name=_("campaign")
    )
    campaign_code = models.CharField(_("campaign"), max_length=5)
    # The record may be gone.
    record_id = models.BigIntegerField(_("record"))
    phone_number = models.CharField(_("phone number"), max_length=100)
    number = models.CharField(max_length=64, editable=False)
    mode = models.CharField(_("mode"), max_length=10, choices=Mode)
    # The agent who was guaranteed, or who talked; NULL for none.
    agent = models.ForeignKey(
        Agent, models.PROTECT, null=True, related_name="+", db_index=False, verbose_name=_("agent")
    )
    connection_id = models.BigIntegerField(unique=True)
    connection_uid = models.CharField(_("call"), max_length=32)
    dialled_at = models.DateTimeField(_("dialled"))
    answered_at = models.DateTimeField(_("answered"), null=True)
    joined_at = models.DateTimeField(_("joined"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)
    outcome = models.CharField(_("outcome"), max_length=12, choices=Outcome, blank=True)
    # The zone and the rule that allowed the call, and the figures of the model.
    zone = models.CharField(_("time zone"), max_length=1000, blank=True)
    rule = models.CharField(_("rule of hours"), max_length=200, blank=True)
    figures = models.JSONField(default=dict, blank=True)
    # The status, agent and next call of the record before the call.
    before = models.JSONField(default=dict)
    # The result that the agent gave; written to the record when the call ends.
    result = models.JSONField(null=True)
    # The end of the wrap-up: then a call without a result is settled.
    settle_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        ordering = ["-dialled_at", "-id"]
        indexes = [
            models.Index(fields=["record_id", "-dialled_at"], name="attempt_of_record"),
            models.Index(fields=["number", "-dialled_at"], name="attempt_of_number"),
            models.Index(fields=["campaign", "-dialled_at", "-id"], name="attempt_of_campaign"),
            models.Index(fields=["-dialled_at", "-id"], name="attempt_newest"),
            models.Index(fields=["campaign"], condition=Q(ended_at=None), name="attempt_open"),
            models.Index(fields=["settle_at"], condition=Q(settled_at=None), name="attempt_unsettled"),
        ]

    def __str__(self) -> str:
        return f"{self.campaign_code} {self.phone_number}"


class DiallingDay(models.Model):
    """The counts of a campaign's day, in TIME_ZONE. The transaction that decides about a call changes them.

    A live answer is an answer by a person. It is a drop if no agent was joined in time.
    """

    campaign = models.ForeignKey(Campaign, models.CASCADE, db_index=False, related_name="dialling_days")
    day = models.DateField(_("day"))
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    live_answers = models.PositiveIntegerField(_("live answers"), default=0)
    drops = models.PositiveIntegerField(_("drops"), default=0)
    machines = models.PositiveIntegerField(_("answering machines"), default=0)

    class Meta:
        verbose_name = _("day of dialling")
        verbose_name_plural = _("days of dialling")
        ordering = ["-day", "-id"]
        constraints = [models.UniqueConstraint(fields=["campaign", "day"], name="diallingday_is_unique")]

    def __str__(self) -> str:
        return f"{self.campaign} {self.day}"
