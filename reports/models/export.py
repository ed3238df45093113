from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, validate_email
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.changes import Change, NamedModel
from callcentre.core.due_work import DueQuerySet, Retries
from callcentre.core.errors import ErrorCode, Fault, check_lines
from callcentre.core.exporting.jobs import FileJob, Written
from callcentre.core.mail_outbox import QueuedMail
from callcentre.core.scope import ALL, OWN_COLUMNS, Lookups, Scope
from callcentre.core.times import zone
from callcentre.models import ScopeColumns, User
from reports.periods import MOST_PERIODS, Aggregation, instant_of

# The longest time within which an answered offer may count as in time, in seconds.
MOST_SECONDS = 3600

AGGREGATIONS = {
    Aggregation.HOUR_OF_DAY: _("hour of the day"),
    Aggregation.MINUTE: _("minute"),
    Aggregation.HOUR: _("hour"),
    Aggregation.DAY: _("day"),
    Aggregation.WEEK: _("week"),
    Aggregation.MONTH: _("month"),
    Aggregation.YEAR: _("year"),
}


class ReportKind(models.TextChoices):
    """The reports, each of which can be exported and scheduled."""

    AGENTS = "agents", _("Agents work report")
    QUEUES = "queues", _("Queues report")
    OUTBOUNDS = "outbounds", _("Campaigns report")
    TICKETS = "tickets", _("Tickets report")


class Asked(Written):
    """The question and the columns of a table of a report, without its span."""

    report = models.CharField(
        _("report"), max_length=10, choices=ReportKind, default=ReportKind.AGENTS, db_default=ReportKind.AGENTS
    )
    # Both empty: all agents. Ids, so that an agent with another login, or a group with another name, stays meant.
    agent_ids = ArrayField(models.BigIntegerField(), default=list, blank=True, verbose_name=_("agents"))
    agent_group_ids = ArrayField(models.BigIntegerField(), default=list, blank=True, verbose_name=_("agent groups"))
    aggregation = models.CharField(_("period of a row"), max_length=12, choices=list(AGGREGATIONS.items()))
    threshold = models.PositiveIntegerField(_("threshold of outbound calls in s"), default=0)
    answered_within = models.PositiveIntegerField(
        _("answered in time within s"), default=20, validators=[MaxValueValidator(MOST_SECONDS)]
    )
    # Empty: everything.
    queue_ids = ArrayField(models.BigIntegerField(), default=list, blank=True, verbose_name=_("queues"))
    campaign_ids = ArrayField(
        models.BigIntegerField(), default=list, db_default=[], blank=True, verbose_name=_("campaigns")
    )
    # Names of the measures of the report.
    columns = ArrayField(models.CharField(max_length=60), default=list, verbose_name=_("columns"))

    class Meta:
        abstract = True

    @property
    def terms(self) -> dict[str, Any]:
        """The fields of the question, by name."""
        return {field.name: getattr(self, field.name) for field in Asked._meta.get_fields()}


class Export(ScopeColumns, Asked, FileJob):
    """A table of the report as a file: queued, running, finished or failed.

    A worker builds one at a time, from one snapshot (`read_at`). The row names the file only when the file is whole.
    The file is kept for 30 days, the row for ever. An export of a schedule has its `schedule`, and when it was due. It
    has the rows within the scope that the person who asked had then.
    """

    task = "reports.build_exports"

    begins_at = models.DateTimeField(_("from"))
    # Not included.
    ends_at = models.DateTimeField(_("to"))

    schedule = models.ForeignKey(
        "Schedule", models.SET_NULL, null=True, related_name="exports", verbose_name=_("scheduled report")
    )
    due_at = models.DateTimeField(_("due"), null=True, editable=False)

    class Meta:
        verbose_name = _("export of the report")
        verbose_name_plural = _("exports of the report")
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["schedule", "due_at"], name="export_once_a_turn")]
        indexes = [
            models.Index(fields=["id"], condition=Q(state__in=["queued", "running"]), name="export_waiting"),
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="export_scheduled"),
            models.Index(fields=["actor_id", "-id"], condition=Q(actor_kind="user"), name="export_of_user"),
        ]

    @property
    def file_name(self) -> str:
        first, last = timezone.localtime(self.begins_at), timezone.localtime(self.last_second)
        return f"{self.report}-{first:%Y-%m-%d}-{last:%Y-%m-%d}-by-{self.aggregation}.{self.format}"

    @property
    def last_second(self) -> datetime:
        return self.ends_at - timedelta(seconds=1)


class ExportMail(QueuedMail):
    """A scheduled export for one of its recipients."""

    delays = Retries.REPORT
    task = "reports.mail_export"

    export = models.ForeignKey(Export, models.CASCADE, related_name="mails", verbose_name=_("export of the report"))

    objects = DueQuerySet.as_manager()

    class Meta:
        verbose_name = _("mail of an export")
        verbose_name_plural = _("mails of exports")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["export", "recipient"], name="exportmail_is_unique")]
        indexes = [models.Index(fields=["next_attempt_at"], condition=Q(state="queued"), name="exportmail_due")]

    @property
    def condition(self) -> str:
        if self.state == self.State.QUEUED and self.error:
            return str(_("waits for another attempt"))
        return str(self.get_state_display())


MOST_RECIPIENTS = 50
_DAY = timedelta(days=1)


class ScheduleQuerySet(models.QuerySet["Schedule"]):
    def due(self, now: datetime) -> "ScheduleQuerySet":
        return self.filter(is_active=True, next_due_at__lte=now)


class Schedule(Asked, NamedModel):
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
