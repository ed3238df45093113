from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _


class WeeklyHours(models.Model):
    """From when until when something is open on a day of the week, by the service's clock."""

    class Weekday(models.IntegerChoices):
        """As ISO 8601 counts them."""

        MONDAY = 1, _("Monday")
        TUESDAY = 2, _("Tuesday")
        WEDNESDAY = 3, _("Wednesday")
        THURSDAY = 4, _("Thursday")
        FRIDAY = 5, _("Friday")
        SATURDAY = 6, _("Saturday")
        SUNDAY = 7, _("Sunday")

    weekday = models.PositiveSmallIntegerField(_("day"), choices=Weekday)
    opens_at = models.TimeField(_("opens"))
    # 00:00 is the end of the day.
    closes_at = models.TimeField(_("closes"))

    class Meta:
        abstract = True
        verbose_name = _("opening hours")
        verbose_name_plural = _("opening hours")
        ordering = ["weekday", "opens_at", "id"]
        constraints = [
            models.CheckConstraint(
                name="%(class)s_open_before_they_close",
                condition=Q(opens_at__lt=F("closes_at")) | Q(closes_at="00:00"),
                violation_error_message=_("It opens before it closes."),
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_weekday_display()} {self.opens_at:%H:%M}–{self.closes_at:%H:%M}"
