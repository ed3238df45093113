from datetime import time
from typing import Any

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import IntegerRangeField, RangeOperators
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Deferrable, F, Func, Q
from django.forms import BaseInlineFormSet
from django.utils.translation import gettext_lazy as _

from callcentre.core.integers import integer_of

# A page has fewer rows of hours.
MOST_ROWS = 100


class _Seconds(Func):
    """The range of seconds of the day. An end of 00:00 is the end of the day."""

    template = (
        "int4range(EXTRACT(epoch FROM opens_at)::int,"
        " CASE WHEN closes_at = '00:00' THEN 86400 ELSE EXTRACT(epoch FROM closes_at)::int END)"
    )
    output_field = IntegerRangeField()


class HoursApart(ExclusionConstraint):
    """The rule that hours of one queue and day do not overlap, checked at commit so that two rows can be exchanged.

    Forms compare all hours of a queue with each other instead (HoursFormSet), because the stored rows may be old.
    """

    def validate(self, *args: Any, **kwargs: Any) -> None:
        """Skip: the form set and the database check this."""


def hours_constraints(owner: str) -> list[models.BaseConstraint]:
    """Return the rules of hours whose owner is this foreign key."""
    return [
        models.CheckConstraint(
            name="%(class)s_open_before_they_close",
            condition=Q(opens_at__lt=F("closes_at")) | Q(closes_at="00:00"),
            violation_error_message=_("It opens before it closes."),
        ),
        HoursApart(
            name="%(class)s_do_not_overlap",
            expressions=[
                (owner, RangeOperators.EQUAL),
                ("weekday", RangeOperators.EQUAL),
                (_Seconds(), RangeOperators.OVERLAPS),
            ],
            deferrable=Deferrable.DEFERRED,
        ),
    ]


class WeeklyHours(models.Model):
    """A span of opening hours on a day of the week, in local time."""

    class Weekday(models.IntegerChoices):
        """The days of the week, numbered as in ISO 8601."""

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
        constraints = hours_constraints("queue")

    def __str__(self) -> str:
        return f"{self.get_weekday_display()} {self.opens_at:%H:%M}–{self.closes_at:%H:%M}"

    def overlaps(self, other: "WeeklyHours") -> bool:
        """Return whether both are open at one time."""
        if self.weekday != other.weekday:
            return False
        first, second = sorted((self, other), key=lambda hours: hours.opens_at)
        return _end(first.closes_at) > _seconds(second.opens_at)


def _seconds(clock: time) -> int:
    return clock.hour * 3600 + clock.minute * 60 + clock.second


def _end(closes_at: time) -> int:
    """Return the second of the day of the end; 00:00 is the end of the day."""
    return _seconds(closes_at) or 86_400


# Several days in the place of one, in a form of hours -> their label.
SEVERAL_DAYS = {"1-5": _("Monday to Friday"), "1-7": _("Monday to Sunday")}


class WeekdaysFormSet(BaseInlineFormSet):  # type: ignore[type-arg]
    """Rows of days of the week. A row for several days is read as one row for each of them."""

    def __init__(self, data: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(data and _with_a_row_for_each_day(data, kwargs["prefix"]), *args, **kwargs)


def _with_a_row_for_each_day(data: Any, prefix: str) -> Any:
    """Return the input of a form set with a row for each of several days. Rows to delete are left as they are."""
    data, total = data.copy(), f"{prefix}-TOTAL_FORMS"
    rows = integer_of(data.get(total)) or 0
    for row in range(min(rows, MOST_ROWS)):
        if (days := data.get(f"{prefix}-{row}-weekday")) not in SEVERAL_DAYS or data.get(f"{prefix}-{row}-DELETE"):
            continue
        first, last = map(int, days.split("-"))
        data[f"{prefix}-{row}-weekday"] = str(first)
        start = f"{prefix}-{row}-"
        copied = {name.removeprefix(start): data[name] for name in data if name.startswith(start)}
        for day in range(first + 1, last + 1):
            for name, value in {**copied, "id": "", "weekday": str(day)}.items():
                data[f"{prefix}-{rows}-{name}"] = value
            rows += 1
    data[total] = str(rows)
    return data


class HoursFormSet(WeekdaysFormSet):
    """The opening hours of a queue in the admin. Overlapping hours are refused, with the error at the later one."""

    def clean(self) -> None:
        super().clean()
        kept = [form for form in self.forms if form.is_valid() and form.has_changed() | bool(form.instance.pk)]
        kept = [form for form in kept if form not in self.deleted_forms]
        for position, form in enumerate(kept):
            if any(form.instance.overlaps(earlier.instance) for earlier in kept[:position]):
                form.add_error("opens_at", ValidationError(_("These hours overlap with others of this day.")))
