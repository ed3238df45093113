"""The ledger of agents' time: sessions and states, as intervals. Two of one agent never overlap."""

from typing import ClassVar

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeBoundary, RangeOperators
from django.db import models
from django.db.models import F, Func, Q
from django.utils import timezone
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import NamedModel
from callcentre.core.scope import Lookups
from telephony.models.agent import Agent


class PauseQuerySet(models.QuerySet["Pause"]):
    def active(self) -> "PauseQuerySet":
        return self.filter(is_active=True)

    def automatic(self) -> "Pause":
        """Return the pause that only the service begins. It is made, or taken over from a pause of its name, once."""
        found = self.filter(is_automatic=True).first()
        values = {"is_automatic": True, "is_active": False}
        return found or self.update_or_create(name=_now("No contact"), defaults=values)[0]


@audited()
class Pause(NamedModel):
    """A reason for which an agent takes no calls. An unused one is made inactive, because the ledger names it.

    The automatic one is that of agents whose desk is silent. It is always inactive, so that no person can choose it.
    """

    name = models.CharField(_("name"), max_length=100, unique=True)
    is_active = models.BooleanField(pgettext_lazy("of a pause", "active"), default=True)
    order = models.PositiveIntegerField(_("order"), default=50)
    is_automatic = models.BooleanField(default=False, db_default=False, editable=False)

    objects = PauseQuerySet.as_manager()

    class Meta:
        verbose_name = _("pause")
        verbose_name_plural = _("pauses")
        ordering = ["order", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["is_automatic"], condition=models.Q(is_automatic=True), name="pause_one_automatic"
            )
        ]


REASON_LENGTH = 200


class StateKind(models.TextChoices):
    FREE = "free", pgettext_lazy("agent", "ready")
    # The agent looks at a record that a campaign has offered.
    PREVIEW = "preview", pgettext_lazy("agent", "preview")
    RINGING = "ringing", _("ringing")
    TALKING = "talking", _("talking")
    WRAP_UP = "wrap_up", _("wrap-up")
    PAUSED = "paused", pgettext_lazy("agent", "paused")


class _Span(Func):
    """The span from started_at to ended_at, without the end. It is unbounded without an end, empty at length 0."""

    function = "TSTZRANGE"
    output_field = DateTimeRangeField()


def _no_overlap(name: str) -> ExclusionConstraint:
    return ExclusionConstraint(
        name=name,
        expressions=[
            ("agent", RangeOperators.EQUAL),
            (_Span("started_at", "ended_at", RangeBoundary()), RangeOperators.OVERLAPS),
        ],
    )


class AgentSession(models.Model):
    """An agent's time from login to logout, in whole seconds. Without an end the agent is logged in."""

    scope_lookups: ClassVar[Lookups] = {"scope_agent_groups": "agent__group_id"}

    class EndedBy(models.TextChoices):
        LOGOUT = "logout", _("logged out")
        LIMIT = "limit", _("closed by the limit")
        SILENT = "silent", _("closed without heartbeats")

    agent = models.ForeignKey(Agent, models.PROTECT, related_name="sessions", db_index=False, verbose_name=_("agent"))
    started_at = models.DateTimeField(_("logged in"))
    ended_at = models.DateTimeField(_("logged out"), null=True)
    ended_by = models.CharField(_("ended by"), max_length=10, choices=EndedBy, blank=True)
    # The last heartbeat of the agent's desk or program; NULL: none has begun.
    heard_at = models.DateTimeField(null=True, editable=False)
    # Why another person, or the service, has logged the agent out.
    reason = models.CharField(_("reason"), max_length=REASON_LENGTH, blank=True, default="", db_default="")

    class Meta:
        verbose_name = _("session of an agent")
        verbose_name_plural = _("sessions of agents")
        ordering = ["-started_at", "-id"]
        constraints = [
            _no_overlap("agentsession_no_two_at_once"),
            models.CheckConstraint(
                name="agentsession_ends_after_it_starts",
                condition=Q(ended_at__isnull=True) | Q(ended_at__gte=F("started_at")),
            ),
        ]
        indexes = [
            models.Index(fields=["agent", "started_at"], name="agentsession_of_agent"),
            models.Index(fields=["-started_at", "-id"], name="agentsession_newest"),
            models.Index(fields=["agent"], condition=Q(ended_at__isnull=True), name="agentsession_open"),
        ]

    def __str__(self) -> str:
        return f"{self.agent}, {timezone.localtime(self.started_at):%Y-%m-%d %H:%M}"


class AgentState(models.Model):
    """A state of an agent, in whole seconds. The one without an end is the current state.

    In a call the states are ringing, talking and wrap-up; `resumes_as` is the state after the call, and `ends_at` the
    due end of the wrap-up. The agent may choose another state after the call, as long as the call or its wrap-up lasts.
    Pauses and calls may be outside a session; ready time is inside one.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_agent_groups": "agent__group_id"}

    Kind = StateKind

    agent = models.ForeignKey(Agent, models.PROTECT, related_name="states", db_index=False, verbose_name=_("agent"))
    kind = models.CharField(_("state"), max_length=10, choices=Kind)
    pause = models.ForeignKey(Pause, models.PROTECT, null=True, related_name="+", verbose_name=_("pause"))
    connection = models.ForeignKey(
        "telephony.Connection",
        models.DO_NOTHING,
        null=True,
        related_name="agent_states",
        db_constraint=False,
        db_index=False,
        verbose_name=_("call"),
    )
    started_at = models.DateTimeField(_("from"))
    ended_at = models.DateTimeField(_("to"), null=True)
    # The due end of a wrap-up.
    ends_at = models.DateTimeField(null=True)
    # The state after the call: free, paused or "", none.
    resumes_as = models.CharField(max_length=10, blank=True)
    resumes_pause = models.ForeignKey(Pause, models.PROTECT, null=True, related_name="+")
    # A talk: the agent is at the desk, so that the wrap-up waits for the topic. A wrap-up: it waits for the topic.
    awaits_topic = models.BooleanField(default=False, db_default=False)
    # Why another person, or the service, has begun the pause, or made the agent ready.
    reason = models.CharField(_("reason"), max_length=REASON_LENGTH, blank=True, default="", db_default="")
    # The agent has made the wrap-up longer, which is possible once.
    is_extended = models.BooleanField(default=False, db_default=False)

    class Meta:
        verbose_name = _("state of an agent")
        verbose_name_plural = _("states of agents")
        ordering = ["-started_at", "-id"]
        constraints = [
            _no_overlap("agentstate_no_two_at_once"),
            models.CheckConstraint(
                name="agentstate_ends_after_it_starts",
                condition=Q(ended_at__isnull=True) | Q(ended_at__gte=F("started_at")),
            ),
            models.CheckConstraint(
                name="agentstate_pause_has_its_reason",
                condition=Q(kind="paused", pause__isnull=False) | (~Q(kind="paused") & Q(pause__isnull=True)),
            ),
        ]
        indexes = [
            models.Index(fields=["agent", "started_at"], name="agentstate_of_agent"),
            models.Index(fields=["-started_at", "-id"], name="agentstate_newest"),
            models.Index(fields=["kind", "started_at"], condition=Q(ended_at__isnull=True), name="agentstate_current"),
            # The report by queue adds up the wrap-ups of its calls.
            models.Index(fields=["connection"], condition=Q(kind="wrap_up"), name="agentstate_wrap_up_of_call"),
        ]

    def __str__(self) -> str:
        return f"{self.agent}, {self.get_kind_display()}, {timezone.localtime(self.started_at):%Y-%m-%d %H:%M}"


class LedgerChange(models.Model):
    """A span of an agent's time, with both ends, in which the ledgers have changed.

    Triggers write it in the transaction of the change (reports/migrations/0015), however the rows were written. The
    reports delete it in the transaction that updates their rollups. It never changes.
    """

    agent = models.ForeignKey(
        Agent, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False, verbose_name=_("agent")
    )
    since = models.DateTimeField(_("from"))
    until = models.DateTimeField(_("to"))

    class Meta:
        verbose_name = _("change of the ledgers")
        verbose_name_plural = _("changes of the ledgers")
        ordering = ["id"]
        indexes = [models.Index(fields=["agent"], name="ledgerchange_of_agent")]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.since:%Y-%m-%d %H:%M:%S}"
