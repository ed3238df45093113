from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, validate_email
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.changes import Change, TimestampedModel
from callcentre.core.errors import ErrorCode, Fault, check_lines
from callcentre.core.scope import ALL, OWN_COLUMNS, Lookups, Scope
from callcentre.core.times import zone
from callcentre.models import User
from reports.models.export import Asked
from reports.periods import MOST_PERIODS, Aggregation, instant_of

MOST_RECIPIENTS = 50
_DAY = timedelta(days=1)


class ScheduleQuerySet(models.QuerySet["Schedule"]):
    def due(self, now: datetime) -> "ScheduleQuerySet":
        return self.filter(is_active=True, next_due_at__lte=now)


class Schedule(Asked, TimestampedModel):
    """A table of the report that comes by mail: every day, every Monday or on the first of a month, at an hour.

    The next export is asked for at `next_due_at`. Of turns that were missed only the last is made up for. It has the
    rows within the present scope of the person who saved the schedule last.
    """

    scope_lookups: ClassVar[Lookups] = {column: f"user__{column}" for column in OWN_COLUMNS}

    class Repeats(models.TextChoices):
        DAILY = "daily", _("every day")
        WEEKLY = "weekly", _("every Monday")
        MONTHLY = "monthly", _("on the first of every month")

    class Span(models.TextChoices):
        YESTERDAY = "yesterday", _("yesterday")
        LAST_WEEK = "last_week", _("last week")
        LAST_MONTH = "last_month", _("last month")

    name = models.CharField(_("name"), max_length=100, unique=True)
    is_active = models.BooleanField(_("active"), default=True)
    repeats = models.CharField(_("how often"), max_length=10, choices=Repeats, default=Repeats.DAILY)
    hour = models.PositiveSmallIntegerField(
        _("hour"), default=6, validators=[MaxValueValidator(23)], help_text=_("0 to 23, by the clock of the service.")
    )
    span = models.CharField(_("span"), max_length=10, choices=Span, default=Span.YESTERDAY)
    recipients = ArrayField(models.CharField(max_length=320), verbose_name=_("recipients"))
    next_due_at = models.DateTimeField(_("next time"), editable=False)
    # The person who saved it last; NULL: the service, before scopes were introduced.
    user = models.ForeignKey(User, models.PROTECT, null=True, editable=False, related_name="+", db_index=False)

    objects = ScheduleQuerySet.as_manager()

    class Meta:
        verbose_name = _("scheduled report")
        verbose_name_plural = _("scheduled reports")
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(name="schedule_hour_is_of_a_day", condition=models.Q(hour__lte=23)),
        ]
        indexes = [models.Index(fields=["next_due_at"], condition=models.Q(is_active=True), name="schedule_due")]

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> Scope:
        return self.user.scope if self.user else ALL

    def due_before(self, now: datetime) -> datetime:
        """Return the last turn until now."""
        day = self._turn(timezone.localdate(now, zone()))
        while (due_at := self._at(day)) > now:
            day = self._turn(day - _DAY)
        return due_at

    def due_after(self, now: datetime) -> datetime:
        day = timezone.localdate(now, zone())
        while self._turn(day) != day or self._at(day) <= now:
            day += _DAY
        return self._at(day)

    def _turn(self, day: date) -> date:
        """Return the last day until this one on which there is a turn."""
        match self.repeats:
            case self.Repeats.WEEKLY:
                return day - timedelta(days=day.weekday())
            case self.Repeats.MONTHLY:
                return day.replace(day=1)
        return day

    def _at(self, day: date) -> datetime:
        """Return the instant of the hour: the hour after a skipped one, the first of one that comes twice."""
        return _instant(day, self.hour)

    def span_of(self, due_at: datetime) -> tuple[datetime, datetime]:
        """Return the span of the export of this turn, by the calendar of the service."""
        day = timezone.localdate(due_at, zone())
        match self.span:
            case self.Span.LAST_WEEK:
                end = day - timedelta(days=day.weekday())
                begin = end - 7 * _DAY
            case self.Span.LAST_MONTH:
                end = day.replace(day=1)
                begin = (end - _DAY).replace(day=1)
            case _:
                begin, end = day - _DAY, day
        return _instant(begin), _instant(end)

    @classmethod
    def faults_of(cls, values: Mapping[str, Any]) -> Iterator[Fault]:
        """Yield the faults of these values; fields without a value are not checked."""
        if "name" in values:
            yield from check_lines(name=values["name"])
        if "recipients" in values:
            yield from _faults_of(values["recipients"])
        if "span" in values and "aggregation" in values:
            begin, end = cls(span=values["span"]).span_of(timezone.now())
            if Aggregation(values["aggregation"]).periods_in(begin, end) > MOST_PERIODS:
                yield Fault(ErrorCode.TOO_MANY_PERIODS, "aggregation", {"limit": MOST_PERIODS})


def _instant(day: date, hour: int = 0) -> datetime:
    return instant_of(datetime.combine(day, time(hour)))


def _faults_of(recipients: Sequence[str]) -> list[Fault]:
    if not recipients:
        return [Fault(ErrorCode.EMPTY, "recipients")]
    if len(recipients) > MOST_RECIPIENTS:
        return [Fault(ErrorCode.TOO_MANY, "recipients", {"limit": MOST_RECIPIENTS})]
    faults = []
    for recipient in recipients:
        try:
            validate_email(recipient)
        except ValidationError:
            faults.append(Fault(ErrorCode.RECIPIENT_MALFORMED, "recipients", {"address": recipient}))
    return faults


class ScheduleChange(Change):
    """A change of a scheduled report, in its history."""

    schedule = models.ForeignKey(
        Schedule, models.DO_NOTHING, db_constraint=False, related_name="changes", verbose_name=_("scheduled report")
    )

    class Meta:
        verbose_name = _("change of a scheduled report")
        verbose_name_plural = _("changes of scheduled reports")
        ordering = ["-id"]
