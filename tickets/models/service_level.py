"""Service levels: the times within which tickets are answered and closed, and the calendars by which they count."""

from datetime import date, timedelta
from functools import partial
from typing import Any, ClassVar
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel
from callcentre.core.errors import ErrorCode, Fault
from callcentre.core.holiday_calendars import has_calendar, is_holiday_in
from callcentre.core.opening_hours import WeeklyHours, hours_constraints
from callcentre.core.scope import WITHOUT_SCOPE_ONLY, Lookups
from tickets.models.automation import AutomationState, Conditional, Kept, check_minutes
from tickets.models.ticket import Ticket
from tickets.models.vocabulary import Check, all_hold, checks_of, facts
from tickets.models.working_time import Hours, WorkingTime

# A ticket is due soon within this time.
SOON = timedelta(hours=1)


@audited()
class BusinessCalendar(NamedModel):
    """The opening hours of a week in a zone, without holidays. Without hours all time is working time."""

    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY

    name = models.CharField(_("name"), max_length=100, unique=True)
    time_zone = models.CharField(
        _("time zone"), max_length=50, blank=True, help_text=_("As Europe/Warsaw. Empty: that of the service.")
    )
    country = models.CharField(
        _("holidays of"),
        max_length=10,
        blank=True,
        help_text=_("A country, as PL, or a part of one, as US-CA. Empty: only the days below."),
    )

    class Meta:
        verbose_name = _("business calendar")
        verbose_name_plural = _("business calendars")
        ordering = ["name", "id"]

    def clean(self) -> None:
        if self.country and not has_calendar(self.country):
            wrong = Fault(ErrorCode.HOLIDAYS_UNKNOWN, params={"country": self.country})
            raise ValidationError({"country": wrong.in_words({})})
        if self.time_zone and self.time_zone not in available_timezones():
            wrong = Fault(ErrorCode.ZONE_UNKNOWN, params={"name": self.time_zone})
            raise ValidationError({"time_zone": wrong.in_words({})})

    @property
    def working_time(self) -> WorkingTime:
        """The working time of the calendar. Read `hours` and `closed_days` of several calendars ahead."""
        hours: list[Hours] = [(each.weekday, each.opens_at, each.closes_at) for each in self.hours.all()]
        closed = frozenset(each.day for each in self.closed_days.all())
        return WorkingTime(tuple(hours), self.time_zone, partial(_is_closed, closed, self.country))


def _is_closed(days: frozenset[date], country: str, day: date) -> bool:
    return day in days or bool(country and is_holiday_in(country, day))


@audited(part_of="calendar")
class CalendarHours(WeeklyHours):
    """Opening hours of a business calendar."""

    calendar = models.ForeignKey(
        BusinessCalendar, models.CASCADE, related_name="hours", verbose_name=_("business calendar")
    )

    class Meta(WeeklyHours.Meta):
        abstract = False
        constraints = hours_constraints("calendar")


@audited(part_of="calendar")
class ClosedDay(models.Model):
    """A day without working time, beside the holidays of the country."""

    calendar = models.ForeignKey(
        BusinessCalendar, models.CASCADE, related_name="closed_days", verbose_name=_("business calendar")
    )
    day = models.DateField(_("day"))
    name = models.CharField(_("name"), max_length=100, blank=True)

    class Meta:
        verbose_name = _("closed day")
        verbose_name_plural = _("closed days")
        ordering = ["calendar", "day", "id"]
        constraints = [models.UniqueConstraint(fields=["calendar", "day"], name="closedday_is_unique")]

    def __str__(self) -> str:
        return f"{self.day:%Y-%m-%d} {self.name}".strip()


@audited()
class ServiceLevel(Conditional):
    """The targets of tickets: minutes of working time; NULL is no target. The first one that matches a ticket holds."""

    calendar = models.ForeignKey(
        BusinessCalendar,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="service_levels",
        verbose_name=_("business calendar"),
        help_text=_("Empty: all time is working time."),
    )
    first_response_minutes = models.PositiveIntegerField(_("first response within min"), null=True, blank=True)
    next_response_minutes = models.PositiveIntegerField(
        _("next response within min"),
        null=True,
        blank=True,
        help_text=_("To each later message that no agent has answered."),
    )
    resolution_minutes = models.PositiveIntegerField(_("resolution within min"), null=True, blank=True)

    def clean(self) -> None:
        check_minutes(self, "first_response_minutes", "next_response_minutes", "resolution_minutes")

    class Meta(Conditional.Meta):
        verbose_name = _("service level")
        verbose_name_plural = _("service levels")


class ReadyLevel:
    """A service level with what its times depend on, read once."""

    def __init__(self, level: ServiceLevel, checks: tuple[Check, ...] | None) -> None:
        self.pk, self.is_active, self.checks = level.pk, level.is_active, checks
        self.first_response, self.next_response = level.first_response_minutes, level.next_response_minutes
        self.resolution = level.resolution_minutes
        self.has_calendar = level.calendar is not None
        self.working_time = level.calendar.working_time if level.calendar else WorkingTime()

    def matches(self, ticket: Ticket) -> bool:
        return self.is_active and self.checks is not None and all_hold(self.checks, ticket)


def _ready_levels() -> tuple[ReadyLevel, ...]:
    """Return all levels in their order. One that asks for something that is gone matches nothing."""
    rows = ServiceLevel.objects.select_related("calendar")
    levels = list(rows.prefetch_related("calendar__hours", "calendar__closed_days"))
    known = facts() if levels else {}
    found = ((level, checks_of(level.conditions, known)) for level in levels)
    return tuple(ReadyLevel(level, checks) for level, checks in found)


LEVELS: Kept[tuple[ReadyLevel, ...]] = Kept("levels_token", _ready_levels, ())


class DeadlineNotice(models.Model):
    """A due time of a ticket of which receivers were told: that it comes soon, or that it was missed."""

    ticket = models.ForeignKey(Ticket, models.CASCADE, related_name="deadline_notices")
    # The column of the due time.
    deadline = models.CharField(max_length=20)
    is_missed = models.BooleanField()
    due_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["ticket", "deadline", "is_missed"], name="deadlinenotice_one_of_each")
        ]

    def __str__(self) -> str:
        return f"#{self.ticket_id} {self.deadline}"


@receiver((post_save, post_delete), sender=ServiceLevel)
@receiver((post_save, post_delete), sender=BusinessCalendar)
@receiver((post_save, post_delete), sender=CalendarHours)
@receiver((post_save, post_delete), sender=ClosedDay)
def replace_levels_token(**kwargs: Any) -> None:
    AutomationState.replace("levels_token")
