import re
from collections.abc import Iterable
from datetime import date
from typing import Any, ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel, TimestampedModel
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.holiday_calendars import has_calendar
from callcentre.core.phone import PhoneError, normalise
from callcentre.core.scope import Lookups
from telephony.models import Agent

CODE = re.compile(r"[0-9A-Za-z]{5}\Z")
PARAMETERS = ("caller_id", "preview_timeout", "predictive_max_calls", "predictive_min_calls")
# Fields that one rule compares with each other.
_DATES = frozenset(("start_date", "end_date"))
_RATIOS = frozenset(("parameters.predictive_max_calls", "parameters.predictive_min_calls"))


def faults_of_caller_id(caller_id: str | None) -> list[Fault]:
    """Return the fault of a number to present that is no phone number."""
    try:
        normalise(caller_id or "0")
    except PhoneError as error:
        return [error.fault("parameters.caller_id")]
    return []


@audited()
class CampaignGroup(NamedModel):
    """A group of campaigns. Groups may share a name, because programs create them without a look-up."""

    name = models.CharField(_("name"), max_length=100)

    class Meta:
        verbose_name = _("campaign group")
        verbose_name_plural = _("campaign groups")
        ordering = ["name", "id"]


class CampaignQuerySet(models.QuerySet["Campaign"]):
    def diallable_on(self, day: date) -> "CampaignQuerySet":
        """Return the active campaigns whose dates include the day; no other campaign is dialled."""
        return self.filter(Q(end_date=None) | Q(end_date__gte=day), is_active=True, start_date__lte=day)


@audited(ignored=("is_dialling",))  # DiallingSwitch tells it
class Campaign(TimestampedModel):
    """An outbound campaign: records to call, agents who call, a dialler and its parameters.

    The wire calls it an outbound and names it by `code`: five letters or digits that never change. A CRM campaign
    gets its records from customers and has no fields; the records of a CSV campaign have values in its fields.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_outbounds": "id"}

    class Dialer(models.TextChoices):
        PREDICTIVE = "predictive", _("predictive")
        PROGRESSIVE = "progressive", _("progressive")
        PREVIEW = "preview", _("preview")

    class NumberTurn(models.TextChoices):
        BY_ATTEMPT = "attempt", _("each attempt calls the next number")
        BY_OUTCOME = "outcome", _("the next number after no answer, a machine or a failure")

    class PreviewEnd(models.TextChoices):
        RETURN = "return", _("return the record")
        DIAL = "dial", _("call the record")

    code = models.CharField(
        _("id"),
        max_length=5,
        unique=True,
        blank=True,
        help_text=_("5 letters or digits; the lowest free number if left empty."),
        error_messages={"unique": ErrorCode.CAMPAIGN_ID_TAKEN.text},
    )
    name = models.CharField(_("name"), max_length=200)
    dialer = models.CharField(_("dialler"), max_length=20, choices=Dialer)
    is_crm = models.BooleanField(
        _("CRM"), default=False, help_text=_("Fed with customers (CRM) instead of files (CSV).")
    )
    is_active = models.BooleanField(pgettext_lazy("campaign", "active"), default=True)
    start_date = models.DateField(_("first day"), default=timezone.localdate)
    end_date = models.DateField(_("last day"), null=True, blank=True)
    order = models.PositiveIntegerField(
        _("order"),
        default=50,
        validators=[MinValueValidator(1), MaxValueValidator(99_999)],
        help_text=_("1 to 99999. The campaign with the lowest number is dialled first."),
    )
    parity = models.PositiveIntegerField(
        _("parity"),
        default=50,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_("1 to 100. The share of the dialling among campaigns of the same order."),
    )
    group = models.ForeignKey(
        CampaignGroup,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="campaigns",
        verbose_name=_("group"),
    )
    agents = models.ManyToManyField(Agent, related_name="campaigns", blank=True, verbose_name=_("agents"))

    # Parameters. NULL or "": the dialler decides.
    caller_id = models.CharField(
        _("caller id"), max_length=40, blank=True, help_text=_("Number presented by the campaign.")
    )
    preview_timeout = models.PositiveIntegerField(
        _("preview time-out"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(3600)],
        help_text=_("Seconds an agent has to look at a record."),
    )
    predictive_max_calls = models.FloatField(
        _("highest over-dialling ratio"),
        null=True,
        blank=True,
        validators=[MinValueValidator(0), MaxValueValidator(100)],
    )
    predictive_min_calls = models.FloatField(
        _("lowest over-dialling ratio"),
        null=True,
        blank=True,
        validators=[MinValueValidator(0), MaxValueValidator(100)],
    )

    script = models.TextField(
        _("script"),
        blank=True,
        default="",
        db_default="",
        help_text=_("Agents see it with each record. {city} stands for the value of the field city."),
    )

    # Dialling. A campaign is dialled while this is true, beside the other conditions.
    is_dialling = models.BooleanField(_("dialling"), default=False, db_default=False, editable=False)
    wrap_up_seconds = models.PositiveSmallIntegerField(
        _("wrap-up in s"),
        default=30,
        db_default=30,
        validators=[MaxValueValidator(3600)],
        help_text=_("Time after a call in which the agent gives its result."),
    )
    number_turn = models.CharField(
        _("numbers of a record"),
        max_length=10,
        choices=NumberTurn,
        default=NumberTurn.BY_ATTEMPT,
        db_default=NumberTurn.BY_ATTEMPT,
    )
    preview_end = models.CharField(
        _("after the preview time-out"),
        max_length=10,
        choices=PreviewEnd,
        default=PreviewEnd.RETURN,
        db_default=PreviewEnd.RETURN,
    )
    zone_field = models.ForeignKey(
        "campaigns.CampaignField",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("field with the time zone"),
        help_text=_("A field with an IANA name, such as Europe/Warsaw. Otherwise the customer or the number decides."),
    )
    holiday_country = models.CharField(
        _("holidays of"),
        max_length=10,
        blank=True,
        default="",
        db_default="",
        help_text=_("A country, as PL, or a part of one, as US-CA: no calls on its holidays. Empty: no holidays."),
    )
    ignores_hours = models.BooleanField(
        _("ignores hours"),
        default=False,
        db_default=False,
        help_text=_("For trials. On the simulated switch only."),
    )
    detects_machines = models.BooleanField(_("detects answering machines"), default=False, db_default=False)
    drop_message = models.FileField(
        _("message of dropped calls"), upload_to="drop_messages/", blank=True, default="", db_default=""
    )

    objects = CampaignQuerySet.as_manager()

    class Meta:
        verbose_name = _("campaign")
        verbose_name_plural = _("campaigns")
        ordering = ["order", "code"]
        constraints = [
            models.CheckConstraint(
                name="campaign_code_is_well_formed",
                condition=Q(code__regex=r"^[0-9A-Za-z]{5}$"),
                violation_error_message=ErrorCode.CAMPAIGN_ID_MALFORMED.text,
            ),
            models.CheckConstraint(
                name="campaign_ends_after_start",
                condition=Q(end_date=None) | Q(end_date__gte=F("start_date")),
                violation_error_message=ErrorCode.END_BEFORE_START.text,
            ),
            models.CheckConstraint(name="campaign_order_in_range", condition=Q(order__gte=1, order__lte=99_999)),
            models.CheckConstraint(name="campaign_parity_in_range", condition=Q(parity__gte=1, parity__lte=100)),
            models.CheckConstraint(
                name="campaign_preview_timeout_in_range",
                condition=Q(preview_timeout=None) | Q(preview_timeout__gte=1, preview_timeout__lte=3600),
            ),
            models.CheckConstraint(
                name="campaign_ratios_in_order",
                condition=Q(predictive_min_calls=None)
                | Q(predictive_max_calls=None)
                | Q(predictive_min_calls__lte=F("predictive_max_calls")),
                violation_error_message=ErrorCode.RATIOS_CROSSED.text,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.name}"

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are set, by their names on the wire."""
        values = {name: getattr(self, name) for name in PARAMETERS}
        return {name: value for name, value in values.items() if value not in (None, "")}

    def faults(self, unread: Iterable[Fault] = ()) -> list[Fault]:
        """Return the faults of rules about several fields. Fields in `unread` have no value and break no rule."""
        faults, wrong = [], {fault.field for fault in unread}
        if self.code and not CODE.match(self.code):
            faults.append(Fault(ErrorCode.CAMPAIGN_ID_MALFORMED, "code"))
        if self.end_date and self.start_date and self.end_date < self.start_date and not wrong & _DATES:
            faults.append(Fault(ErrorCode.END_BEFORE_START, "end_date"))
        low, high = self.predictive_min_calls, self.predictive_max_calls
        if low is not None and high is not None and low > high and not wrong & _RATIOS:
            faults.append(Fault(ErrorCode.RATIOS_CROSSED, "parameters.predictive_min_calls"))
        if self.holiday_country and not has_calendar(self.holiday_country):
            faults.append(Fault(ErrorCode.HOLIDAYS_UNKNOWN, "holiday_country", {"country": self.holiday_country}))
        if self.zone_field and self.zone_field.campaign_id != self.pk:
            faults.append(Fault(ErrorCode.ZONE_FIELD_OF_OTHER, "zone_field"))
        if self.group_id is not None and not CampaignGroup.objects.filter(pk=self.group_id).exists():
            faults.append(Fault(ErrorCode.GROUP_NOT_FOUND, "group_id"))
        return faults


audited(part_of="campaign")(Campaign.agents.through)


@audited(part_of="campaign")
class CampaignField(models.Model):
    """A field of a CSV campaign. Records store their values under its primary key, so a rename changes no record."""

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="fields", verbose_name=_("campaign"))
    name = models.CharField(_("name"), max_length=100)
    order = models.PositiveIntegerField(_("order"), default=50)

    class Meta:
        verbose_name = _("campaign field")
        verbose_name_plural = _("campaign fields")
        ordering = ["order", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "name"],
                name="campaignfield_name_is_unique",
                violation_error_message=_("The campaign already has a field of this name."),
            )
        ]

    def __str__(self) -> str:
        return self.name


class FormerCode(models.Model):
    """The code of a deleted campaign. No new campaign is given it unless a client chooses it."""

    code = models.CharField(max_length=5, primary_key=True)

    class Meta:
        verbose_name = _("id of a deleted campaign")
        verbose_name_plural = _("ids of deleted campaigns")
        ordering = ["code"]

    def __str__(self) -> str:
        return self.code
