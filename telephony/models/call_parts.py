"""Parts of a call: offers to agents, talks, transfers, consultations, commands, and the parts of supervisors."""

from typing import ClassVar, cast

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import Actor, ActorKind
from callcentre.core.changes import Change
from callcentre.core.scope import Kept, Lookups
from telephony import causes
from telephony.models.agent import Agent
from telephony.models.connection import SCOPE_OF_PART, Connection, is_long
from telephony.models.queue import Queue

# Of an agent for the next one, at a transfer or consultation.
LONGEST_NOTE = 300


class Offer(models.Model):
    """One offer of an inbound call to an agent, whose phone rings.

    The caller waits for the agent from `offered_at` to `answered_at` or `ended_at`. The agent talks from `answered_at`
    to `ended_at`. `transferred_at` is set if the agent transferred the call.
    """

    scope_lookups: ClassVar[Lookups] = {
        "scope_call_queues": "queue_id",
        "scope_outbounds": Kept("connection__campaign_id", "campaign_code"),
        "scope_agent_groups": "agent__group_id",
    }

    class Outcome(models.TextChoices):
        RINGING = "ringing", _("ringing")
        ANSWERED = "answered", _("answered")
        NOT_ANSWERED = "not_answered", _("not answered")
        REFUSED = "refused", _("refused")
        ABANDONED = "abandoned", _("the caller gave up")
        FAILED = "failed", _("the phone could not be reached")

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="offers", verbose_name=_("call"))
    queue = models.ForeignKey(
        Queue, models.PROTECT, null=True, related_name="offers", db_index=False, verbose_name=_("queue")
    )
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="offers", db_index=False, verbose_name=_("agent"))
    offered_at = models.DateTimeField(_("offered"))
    answered_at = models.DateTimeField(_("answered"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)
    transferred_at = models.DateTimeField(_("transferred"), null=True)
    outcome = models.CharField(_("outcome"), max_length=12, choices=Outcome, default=Outcome.RINGING)

    class Meta:
        verbose_name = _("offer")
        verbose_name_plural = _("offers")
        ordering = ["id"]
        constraints = [
            # A call has one open offer at a time, and so has an agent.
            models.UniqueConstraint(
                fields=["connection"], condition=Q(ended_at__isnull=True), name="offer_one_open_of_connection"
            ),
            models.UniqueConstraint(
                fields=["agent"], condition=Q(ended_at__isnull=True), name="offer_one_open_of_agent"
            ),
        ]
        indexes = [
            models.Index(fields=["agent", "offered_at"], name="offer_of_agent"),
            models.Index(fields=["agent"], condition=is_long("offered_at"), name="offer_long"),
        ]

    def __str__(self) -> str:
        return f"{self.connection_id} → {self.agent}"


class Talk(models.Model):
    """The time for which one agent talked in an outbound call that was transferred.

    The first talk of a call is stored when its agent transfers the call; each further one begins when the next agent
    picks up. A talk ends once, by a transfer or with the call. An outbound call that was never transferred has no row
    here: the row of the call is its only talk. Inbound calls have offers instead.
    """

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="talks", verbose_name=_("call"))
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="+", db_index=False, verbose_name=_("agent"))
    # The queue of the call during this talk, if any.
    queue = models.ForeignKey(
        Queue, models.PROTECT, null=True, related_name="+", db_index=False, verbose_name=_("queue")
    )
    # The report counts the call for the agent at this instant: for the agent who placed it the start of the call, for
    # each further agent the start of the talk.
    counted_at = models.DateTimeField()
    started_at = models.DateTimeField(_("start"))
    ended_at = models.DateTimeField(_("end"), null=True)

    class Meta:
        verbose_name = _("talk")
        verbose_name_plural = _("talks")
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["connection"], condition=Q(ended_at__isnull=True), name="talk_one_open_of_connection"
            )
        ]
        indexes = [
            models.Index(fields=["agent", "counted_at"], name="talk_of_agent"),
            models.Index(fields=["agent"], condition=is_long("counted_at"), name="talk_long"),
        ]

    def __str__(self) -> str:
        return f"{self.connection_id}: {self.agent}"


class CallQuality(models.Model):
    """How a call sounded at the phone in an agent's browser, which reports every few seconds while both talk.

    Loss is the percentage of packets that did not arrive, in the worse direction; jitter and the round trip between
    browser and switch are milliseconds. The means are those of all reports. The round trip is NULL until it is known,
    some seconds after the start.
    """

    connection = models.ForeignKey(
        Connection, models.CASCADE, related_name="qualities", db_index=False, verbose_name=_("call")
    )
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="+", db_index=False, verbose_name=_("agent"))
    reports = models.PositiveIntegerField()
    loss = models.FloatField()
    loss_worst = models.FloatField()
    jitter = models.FloatField()
    jitter_worst = models.FloatField()
    round_trip = models.FloatField(null=True)
    round_trip_worst = models.FloatField(null=True)

    class Meta:
        verbose_name_plural = _("quality at the phone in the browser")
        ordering = ["id"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["connection", "agent"], name="callquality_of_agent")]

    def __str__(self) -> str:
        return f"{self.connection_id}: {self.agent}"


class Transfer(Change):
    """A transfer of a call to a queue or a number, with its actor and time.

    `from_queue` is the queue of the call until then. These and the connection's present queue are all its queues.
    `note` is that of the agent for the next one. For a return by the system it names the target that was not reached,
    and why: `number: reason`.
    """

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="transfers", verbose_name=_("call"))
    from_agent = models.ForeignKey(Agent, models.PROTECT, null=True, related_name="+", verbose_name=_("from agent"))
    from_queue = models.ForeignKey(
        Queue, models.PROTECT, null=True, related_name="+", db_index=False, verbose_name=_("from queue")
    )
    queue = models.ForeignKey(Queue, models.PROTECT, null=True, related_name="+", verbose_name=_("to queue"))
    number = models.CharField(_("to number"), max_length=100, blank=True)
    note = models.CharField(_("note"), max_length=100 + causes.LONGEST + 2, blank=True, default="", db_default="")

    class Meta:
        verbose_name = _("transfer")
        verbose_name_plural = _("transfers")
        ordering = ["id"]
        indexes = [models.Index(fields=["-at"], name="transfer_at")]


class Consultation(models.Model):
    """A phone that an agent has called during a talk with a customer: that of `agent`, or one outside.

    The customer hears music from `asked_at` on; from `up_at` on both talk; from `joined_at` on they talk with the
    customer. It ends when one of both leaves. Each agent of a queue who is rung in turn has a row. `cause_text` is the
    reason why the phone was not picked up.
    """

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="consultations", verbose_name=_("call"))
    from_agent = models.ForeignKey(
        Agent, models.PROTECT, related_name="+", db_index=False, verbose_name=_("from agent")
    )
    agent = models.ForeignKey(
        Agent, models.PROTECT, null=True, related_name="+", db_index=False, verbose_name=_("agent")
    )
    queue = models.ForeignKey(
        Queue, models.PROTECT, null=True, related_name="+", db_index=False, verbose_name=_("queue")
    )
    number = models.CharField(_("number"), max_length=100)
    note = models.CharField(_("note"), max_length=LONGEST_NOTE, blank=True)
    asked_at = models.DateTimeField(_("asked"))
    up_at = models.DateTimeField(_("picked up"), null=True)
    joined_at = models.DateTimeField(_("with the customer from"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)
    cause_text = models.CharField(_("reason"), max_length=causes.LONGEST, blank=True)

    class Meta:
        verbose_name = _("consultation")
        verbose_name_plural = _("consultations")
        ordering = ["id"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["connection"], condition=Q(ended_at=None), name="consultation_one_open")
        ]
        indexes = [models.Index(fields=["agent", "asked_at"], name="consultation_of_agent")]

    def __str__(self) -> str:
        return f"{self.connection_id} → {self.number}"

    @property
    def who(self) -> str:
        """The agent who was called, or the number outside."""
        return self.agent.full_name or self.agent.login if self.agent else self.number

    @property
    def asker(self) -> str:
        return self.from_agent.full_name or self.from_agent.login


class CallCommand(models.Model):
    """A command to an open call: hang up, hold, resume, transfer, consult; or a supervisor's. The listener does it."""

    class Kind(models.TextChoices):
        HANG_UP = "hang_up", _("hang up")
        HOLD = "hold", _("hold")
        RESUME = "resume", _("resume")
        TRANSFER = "transfer", _("transfer")
        CONSULT = "consult", _("consult")
        JOIN = "join", _("join all three")
        HAND_OVER = "hand_over", _("hand over to the consulted")
        RETURN = "return", _("end the consultation")
        MONITOR = "monitor", _("listen, whisper or barge")
        UNMONITOR = "unmonitor", _("listen no more")
        TAKE_OVER = "take_over", _("take over")

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="commands", verbose_name=_("call"))
    kind = models.CharField(_("command"), max_length=10, choices=Kind)
    # To transfer or consult: {"queue_id": …} or {"number": …}, and {"note": …} until it is done. To hang up only what
    # rings: {"unless_answered": true}; for a reason: {"reason": …}. Of a supervisor: {"agent_id": …}, to listen also
    # {"mode": …}.
    arguments = models.JSONField(default=dict)
    actor_kind = models.CharField(max_length=10)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(_("actor"), max_length=150)
    created_at = models.DateTimeField(_("asked"))
    done_at = models.DateTimeField(_("done"), null=True)
    error = models.CharField(_("error"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("command")
        verbose_name_plural = _("commands")
        ordering = ["id"]
        indexes = [models.Index(fields=["id"], condition=Q(done_at__isnull=True), name="callcommand_open")]

    def __str__(self) -> str:
        return f"{self.kind} {self.connection_id}"

    @property
    def actor(self) -> Actor:
        return Actor(cast("ActorKind", self.actor_kind), self.actor_id, self.actor_name)


class Supervision(models.Model):
    """A supervisor in the call of another agent, from the request until the supervisor's phone leaves the call.

    The row is committed before the phone of `agent`, the supervisor's, is called. `up_at` is set once it is picked up.
    `modes` has each mode with its start, in order: [["listen", "2026-11-28T08:30:00+00:00"], …]. With TAKE_OVER, the
    last one, the phone goes on as a leg of the call. The actor is who asked.
    """

    scope_lookups: ClassVar[Lookups] = SCOPE_OF_PART

    class Mode(models.TextChoices):
        LISTEN = "listen", _("listens")
        WHISPER = "whisper", _("whispers to the agent")
        BARGE = "barge", _("talks with both")
        TAKE_OVER = "take_over", _("has taken the call over")

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="supervisions", verbose_name=_("call"))
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="+", db_index=False, verbose_name=_("supervisor"))
    channel_id = models.CharField(_("channel"), max_length=80, unique=True)
    mode = models.CharField(_("mode"), max_length=10, choices=Mode)
    modes = models.JSONField(default=list)
    actor_kind = models.CharField(max_length=10)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(_("actor"), max_length=150)
    asked_at = models.DateTimeField(_("asked for"))
    up_at = models.DateTimeField(_("from"), null=True)
    ended_at = models.DateTimeField(_("to"), null=True)
    cause_text = models.CharField(_("reason"), max_length=causes.LONGEST, blank=True, default="", db_default="")

    class Meta:
        verbose_name = _("supervision")
        verbose_name_plural = _("supervision")
        ordering = ["id"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["agent"], condition=Q(ended_at=None), name="supervision_one_open_of_agent")
        ]

    def __str__(self) -> str:
        return self.channel_id

    @property
    def actor(self) -> Actor:
        return Actor(cast("ActorKind", self.actor_kind), self.actor_id, self.actor_name)


class AgentMessage(models.Model):
    """A message of a supervisor to one agent, which the agent's bar shows until the agent closes it.

    A message to several agents is a row for each of them. Who they are is decided when it is sent.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_agent_groups": "agent__group_id"}

    LONGEST = 500

    agent = models.ForeignKey(Agent, models.PROTECT, related_name="messages", db_index=False, verbose_name=_("agent"))
    text = models.CharField(_("message"), max_length=LONGEST)
    actor_kind = models.CharField(max_length=10)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(_("sender"), max_length=150)
    sent_at = models.DateTimeField(_("sent"))
    closed_at = models.DateTimeField(_("closed"), null=True)

    class Meta:
        verbose_name = _("message to an agent")
        verbose_name_plural = _("messages to agents")
        ordering = ["-id"]
        default_permissions = ("add", "view")
        indexes = [models.Index(fields=["agent"], condition=Q(closed_at=None), name="agentmessage_open")]

    def __str__(self) -> str:
        return self.text
