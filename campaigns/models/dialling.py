"""The rows that steer dialling: the switch for all campaigns, the diallers' states, rules of retries."""

from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from callcentre.core.changes import Change
from callcentre.core.scope import Lookups
from campaigns.models.attempt import Attempt
from campaigns.models.campaign import Campaign
from campaigns.models.status import RecordStatus
from telephony.models import Agent

DAY_SECONDS = 86_400
# SQL: whether all dialling runs.
ALL_DIALLING_RUNS = """COALESCE((
  SELECT is_running FROM campaigns_diallingswitch WHERE campaign_id IS NULL ORDER BY id DESC LIMIT 1
), true)"""


class DiallingSwitchQuerySet(models.QuerySet["DiallingSwitch"]):
    def of_all(self) -> "DiallingSwitchQuerySet":
        """Return the switches of all dialling, the newest first."""
        return self.filter(campaign=None).order_by("-id")


class DiallingSwitch(Change):
    """A switch of all dialling, or of one campaign's. It says who switched, when and why.

    All dialling runs unless the newest row without a campaign stops it. `Campaign.is_dialling` is a campaign's own.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_outbounds": "campaign_id"}

    campaign = models.ForeignKey(
        Campaign,
        models.DO_NOTHING,
        null=True,
        db_index=False,
        db_constraint=False,
        related_name="dialling_switches",
        verbose_name=_("campaign"),
    )
    is_running = models.BooleanField(_("running"))
    reason = models.CharField(_("reason"), max_length=300, blank=True)

    objects = DiallingSwitchQuerySet.as_manager()

    class Meta:
        verbose_name = _("switch of dialling")
        verbose_name_plural = _("switches of dialling")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["-id"], condition=Q(campaign=None), name="diallingswitch_of_all"),
            models.Index(fields=["campaign", "-id"], name="diallingswitch_of_campaign"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.campaign_id or ''}".strip()


class DiallerState(models.Model):
    """The present dialling of a campaign, as its dialler process wrote it last."""

    campaign = models.OneToOneField(Campaign, models.CASCADE, primary_key=True, related_name="dialler_state")
    at = models.DateTimeField(db_default=Now())
    # Name of the process.
    owner = models.CharField(max_length=100, blank=True)
    state = models.CharField(max_length=10)
    code = models.CharField(max_length=30, blank=True)
    # Figures of the pacer, and its explanation.
    pace = models.JSONField(default=dict)
    # The place among campaigns that share agents: the lowest turn is next (campaigns/dialling/sharing.py).
    turn = models.FloatField(default=0, db_default=0)
    # Whether it has records to call now, while another campaign has the same agents.
    wants_agents = models.BooleanField(default=False, db_default=False)

    class Meta:
        verbose_name = _("state of a dialler")
        verbose_name_plural = _("states of diallers")
        ordering = ["campaign"]

    def __str__(self) -> str:
        return f"{self.campaign} {self.state}"


class TrunkFailure(models.Model):
    """A time in which no call of any campaign got through the trunk (campaigns/dialling/trunk.py).

    The open one makes all campaigns rest. One call tries the trunk at `try_at`, and claims that by moving it on.
    """

    trunk = models.CharField(max_length=100)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    # How many calls have tried the trunk in vain.
    trials = models.PositiveIntegerField(default=0, db_default=0)
    try_at = models.DateTimeField()

    class Meta:
        verbose_name = _("failure of the trunk")
        verbose_name_plural = _("failures of the trunk")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["trunk"], condition=Q(ended_at=None), name="trunkfailure_one_open")
        ]

    def __str__(self) -> str:
        return f"{self.trunk} {self.began_at:%Y-%m-%d %H:%M}"


@audited(part_of="campaign")
class RetryRule(models.Model):
    """The delay and the number of further calls after an outcome, or after a result's status.

    The delay is fixed, or multiplied by the number of attempts so far. `most_attempts` are all attempts of the record.
    """

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="retry_rules", verbose_name=_("campaign"))
    outcome = models.CharField(_("outcome"), max_length=12, choices=Attempt.Outcome, blank=True)
    status = models.ForeignKey(
        RecordStatus, models.CASCADE, null=True, blank=True, related_name="+", verbose_name=_("status")
    )
    delay_seconds = models.PositiveIntegerField(_("delay in s"), validators=[MaxValueValidator(90 * DAY_SECONDS)])
    is_multiplied = models.BooleanField(_("times the number of attempts"), default=False)
    most_attempts = models.PositiveSmallIntegerField(
        _("attempts at most"), default=6, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )

    class Meta:
        verbose_name = _("retry rule")
        verbose_name_plural = _("retry rules")
        ordering = ["campaign", "id"]
        constraints = [
            models.CheckConstraint(
                name="retryrule_is_for_outcome_or_status",
                condition=Q(outcome="", status__isnull=False) | ~Q(outcome="") & Q(status=None),
                violation_error_message=_("Choose an outcome or a status."),
            ),
            models.UniqueConstraint(
                fields=["campaign", "outcome", "status"],
                nulls_distinct=False,
                name="retryrule_is_unique",
                violation_error_message=_("The campaign already has a rule for this."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_outcome_display() or self.status}: {self.delay_seconds} s"


class RecordOffer(models.Model):
    """One offer of a record to an agent, before the call (preview)."""

    scope_lookups: ClassVar[Lookups] = {"scope_outbounds": "campaign_id", "scope_agent_groups": "agent__group_id"}

    class End(models.TextChoices):
        ACCEPTED = "accepted", _("accepted")
        SKIPPED = "skipped", _("skipped")
        EXPIRED = "expired", _("expired")
        WITHDRAWN = "withdrawn", _("withdrawn")

    campaign = models.ForeignKey(
        Campaign, models.CASCADE, db_index=False, related_name="record_offers", verbose_name=_("campaign")
    )
    # The record may be deleted while an old offer remains.
    record_id = models.BigIntegerField(_("record"))
    agent = models.ForeignKey(
        Agent, models.PROTECT, db_index=False, related_name="record_offers", verbose_name=_("agent")
    )
    offered_at = models.DateTimeField(_("offered"))
    expires_at = models.DateTimeField(_("expires"))
    ended_at = models.DateTimeField(_("ended"), null=True)
    end = models.CharField(_("end"), max_length=10, choices=End, blank=True)
    reason = models.CharField(_("reason"), max_length=300, blank=True)

    class Meta:
        verbose_name = _("offered record")
        verbose_name_plural = _("offered records")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["agent"], condition=Q(ended_at=None), name="recordoffer_one_open_of_agent"),
            models.UniqueConstraint(
                fields=["record_id"], condition=Q(ended_at=None), name="recordoffer_one_open_of_record"
            ),
        ]
        indexes = [
            models.Index(fields=["agent", "-ended_at"], name="recordoffer_of_agent"),
            models.Index(fields=["record_id", "-id"], name="recordoffer_of_record"),
            models.Index(fields=["expires_at"], condition=Q(ended_at=None), name="recordoffer_open"),
        ]

    def __str__(self) -> str:
        return f"{self.agent} {self.offered_at:%Y-%m-%d %H:%M}"
