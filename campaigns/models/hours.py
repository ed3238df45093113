from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.holiday_calendars import has_calendar
from callcentre.core.opening_hours import WeeklyHours
from campaigns.models.campaign import Campaign


@audited(part_of="campaign")
class CampaignHours(models.Model):
    """A span of a weekday in which the campaign calls, in the callee's zone. Without spans only legal rules bind."""

    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="hours", verbose_name=_("campaign"))
    weekday = models.PositiveSmallIntegerField(_("weekday"), choices=WeeklyHours.Weekday)
    begins_at = models.TimeField(_("from"))
    ends_at = models.TimeField(_("to"), help_text=_("23:59 means midnight."))

    class Meta:
        verbose_name = _("calling hours")
        verbose_name_plural = _("calling hours")
        ordering = ["campaign", "weekday", "begins_at", "id"]
        constraints = [
            models.CheckConstraint(
                name="campaignhours_end_after_start",
                condition=Q(ends_at__gt=F("begins_at")),
                violation_error_message=_("The end must be after the beginning."),
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_weekday_display()} {self.begins_at:%H:%M}–{self.ends_at:%H:%M}"


@audited()
class LegalHours(models.Model):
    """A row of a rule of law: numbers with this prefix are called only within these hours of the callee's zone.

    Rows of one prefix and one name are one rule, which allows the calls that any of its rows allows. All rules that
    hold on a day bind together. `weekdays` has the numbers of ISO 8601, as "12345".
    """

    name = models.CharField(
        _("name"),
        max_length=100,
        help_text=_("Rows of one prefix and one name are one rule: any of them allows a call."),
    )
    prefix = models.CharField(
        _("country prefix"),
        max_length=10,
        validators=[RegexValidator(r"\A[0-9]+\Z", _("Digits only, without a plus."))],
    )
    weekdays = models.CharField(
        _("weekdays"),
        max_length=7,
        default="1234567",
        validators=[RegexValidator(r"\A[1-7]+\Z", _("Digits from 1, Monday, to 7, Sunday."))],
    )
    begins_at = models.TimeField(_("from"))
    ends_at = models.TimeField(_("to"), help_text=_("23:59 means midnight."))
    allows_holidays = models.BooleanField(_("on holidays too"), default=True)
    # ISO 3166 code of the country whose holidays the rule means.
    holiday_country = models.CharField(_("holidays of"), max_length=10, blank=True)
    valid_from = models.DateField(_("valid from"), null=True, blank=True)
    valid_until = models.DateField(_("valid until"), null=True, blank=True)
    source = models.CharField(_("source"), max_length=200)

    class Meta:
        verbose_name = _("legal calling hours")
        verbose_name_plural = _("legal calling hours")
        ordering = ["prefix", "name", "id"]
        constraints = [
            models.CheckConstraint(name="legalhours_end_after_start", condition=Q(ends_at__gt=F("begins_at"))),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if not self.allows_holidays and not self.holiday_country:
            raise ValidationError({"holiday_country": _("Name the country whose holidays are meant.")})
        if self.holiday_country and not has_calendar(self.holiday_country):
            fault = Fault(ErrorCode.HOLIDAYS_UNKNOWN, "", {"country": self.holiday_country})
            raise ValidationError({"holiday_country": fault.message})
