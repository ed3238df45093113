"""Calls: the connection and its legs at the switch."""

import re
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import ClassVar

from django.contrib.postgres.indexes import OpClass
from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Reverse
from django.db.models.lookups import GreaterThan
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from callcentre.core.scope import Kept, Lookups
from callcentre.core.statements import Statement, rows_of
from telephony import causes
from telephony.channels import bridge_id
from telephony.models.agent import Agent
from telephony.models.browser_phone import AgentLine
from telephony.models.queue import Queue

# Calls are found by their start. The few that last longer than this have an index of their own. So a call that was open
# at some time began within this span before it, or is in that index.
LONG = timedelta(hours=6)


def is_long(start: str) -> Q:
    """Build the condition of an index that holds only rows which last longer than LONG."""
    return Q(GreaterThan(F("ended_at") - F(start), Value(LONG)))


# The id of a connection: the second of its creation and the key of its row.
UID = re.compile(r"(?P<epoch>[1-9][0-9]{0,10})\.(?P<id>[1-9][0-9]{0,17})")
# The normal form of the number of the customer.
CUSTOMER_NUMBER = Case(When(direction="INBOUND", then=F("src_number")), default=F("dst_number"))


# The scope of rows that belong to a call by `connection`.
SCOPE_OF_PART: Lookups = {
    "scope_call_queues": "connection__queue_id",
    "scope_outbounds": Kept("connection__campaign_id", "campaign_code"),
    "scope_agent_groups": "connection__agent__group_id",
}


class ConnectionQuerySet(models.QuerySet["Connection"]):
    def open(self) -> "ConnectionQuerySet":
        return self.exclude(state=Connection.State.ENDED)

    def with_uid(self, uid: str) -> "ConnectionQuerySet":
        """The connection with this id, or none; a text that is no id finds none."""
        if (found := UID.fullmatch(uid)) is None:
            return self.none()
        return self.filter(pk=int(found["id"]), created_at=datetime.fromtimestamp(int(found["epoch"]), UTC))


class Connection(models.Model):
    """One call, in or out. Its id is `epoch.number`: the second of its creation and the key of its row.

    An outbound call is requested for an agent: first the agent's phone rings (ORIGINATING), then the customer's
    (DIALLING), then both talk in one bridge (TALKING). An inbound call waits in a queue until an agent talks, and may
    return to a queue. A dialler calls numbers before it knows the agent: an answered call waits for one (WAITING,
    without `waiting_since`), or hears a message (PLAYING). A call ends once; its result is then final. Instants are
    whole seconds.
    """

    scope_lookups: ClassVar[Lookups] = {
        "scope_call_queues": "queue_id",
        "scope_outbounds": Kept("campaign_id", "campaign_code"),
        "scope_agent_groups": "agent__group_id",
    }

    class Direction(models.TextChoices):
        INBOUND = "INBOUND", _("inbound")
        OUTBOUND = "OUTBOUND", _("outbound")

    class State(models.TextChoices):
        QUEUED = "queued", _("to be placed")
        ORIGINATING = "originating", _("ringing the agent")
        DIALLING = "dialling", _("ringing the customer")
        WAITING = "waiting", _("waiting in a queue")
        TALKING = "talking", _("talking")
        DETECTING = "detecting", _("detecting an answering machine")
        PLAYING = "playing", _("hearing a message")
        ENDED = "ended", _("ended")

    class Disposition(models.TextChoices):
        ANSWERED = "ANSWERED", _("answered")
        BUSY = "BUSY", _("busy")
        NO_ANSWER = "NO ANSWER", _("no answer")
        FAILED = "FAILED", _("failed")

    class Party(models.TextChoices):
        AGENT = "agent", _("agent")
        CUSTOMER = "customer", _("customer")
        TARGET = "target", _("target of a transfer")
        SYSTEM = "system", _("system")

    direction = models.CharField(_("direction"), max_length=8, choices=Direction)
    state = models.CharField(_("state"), max_length=12, choices=State)
    # The numbers as the client or the switch sent them, and their normal forms, by which calls are found.
    src = models.CharField(_("from"), max_length=100)
    dst = models.CharField(_("to"), max_length=100)
    src_number = models.CharField(max_length=64, editable=False)
    dst_number = models.CharField(max_length=64, editable=False)
    # The queue of the caller; for an outbound call the queue it was placed for, if any.
    queue = models.ForeignKey(
        Queue, models.PROTECT, null=True, related_name="connections", db_index=False, verbose_name=_("queue")
    )
    # The agent who requested the call, or who answered it last.
    agent = models.ForeignKey(
        Agent, models.PROTECT, null=True, related_name="connections", db_index=False, verbose_name=_("agent")
    )
    # A customer of the tickets app; see telephony.customers.
    customer_id = models.BigIntegerField(_("customer"), null=True)
    caller_id = models.CharField(_("number presented"), max_length=100, blank=True)
    created_at = models.DateTimeField(_("start"))
    # When the call entered its present queue; a transfer sets it again.
    waiting_since = models.DateTimeField(null=True)
    # The steps of the caller (CallerPriority).
    priority_steps = models.SmallIntegerField(default=0, db_default=0, editable=False)
    # When the other side first answered: the customer of an outbound call, an agent for an inbound one.
    answered_at = models.DateTimeField(_("answered"), null=True)
    ended_at = models.DateTimeField(_("end"), null=True)
    # When a presumed end was noticed, until the recording corrects the end.
    end_found_at = models.DateTimeField(null=True, editable=False)
    disposition = models.CharField(_("result"), max_length=10, choices=Disposition, blank=True)
    # The ITU-T Q.850 cause of the leg that decided the result.
    cause = models.PositiveSmallIntegerField(_("cause (Q.850)"), null=True)
    # The name of the cause, the switch's reason for a refusal, or a reason of ours: see telephony.causes.
    cause_text = models.CharField(_("reason"), max_length=causes.LONGEST, blank=True, default="", db_default="")
    hung_up_by = models.CharField(_("hung up by"), max_length=10, choices=Party, blank=True)
    # How long the customer's phone rang; how long an inbound caller waited in all queues together.
    ring_seconds = models.PositiveIntegerField(_("ringing in s"), default=0)
    wait_seconds = models.PositiveIntegerField(_("waiting in s"), default=0)
    is_on_hold = models.BooleanField(_("on hold"), default=False)
    # The agent's phone in the browser was lost in this talk: the customer hears music while it may come back.
    agent_lost_at = models.DateTimeField(null=True, editable=False)
    # How often legs were joined. Each time has a recording of its own.
    join_count = models.PositiveSmallIntegerField(default=0, editable=False)
    # An agent has transferred this outbound call, so that its talks are rows of Talk. Always false for inbound calls.
    has_talks = models.BooleanField(default=False, db_default=False, editable=False)
    uses_line = models.BooleanField(default=False, db_default=False, editable=False)
    is_supervised = models.BooleanField(default=False, db_default=False, editable=False)
    # The latest instant for placing a QUEUED call.
    place_until = models.DateTimeField(null=True)
    request_id = models.CharField(max_length=64, blank=True)
    # A call that the dialler placed: its campaign, record and wrap-up. Telephony knows no campaigns. The id refers to
    # the campaign; the code, which may be given again after a deletion, is shown.
    campaign_id = models.BigIntegerField(null=True, editable=False)
    campaign_code = models.CharField(_("campaign"), max_length=5, blank=True, default="", db_default="")
    record_id = models.BigIntegerField(null=True, editable=False)
    campaign_wrap_up_seconds = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)

    objects = ConnectionQuerySet.as_manager()

    class Meta:
        verbose_name = _("call")
        verbose_name_plural = _("calls")
        ordering = ["-created_at", "-id"]
        permissions = [("monitor_connection", gettext_noop("Can listen to calls, take part in them and end them"))]
        constraints = [
            models.CheckConstraint(
                name="connection_ended_is_final",
                condition=Q(state="ended", ended_at__isnull=False) & ~Q(disposition="")
                | ~Q(state="ended") & Q(ended_at__isnull=True),
            )
        ]
        indexes = [
            models.Index(fields=["-created_at", "-id"], name="connection_newest"),
            # In the order of lists. The columns after the id are compared in the index alone, so that rare results of
            # an agent or a queue are found fast.
            models.Index(
                fields=["agent", "-created_at", "-id", "direction", "disposition", "queue"], name="connection_of_agent"
            ),
            models.Index(
                fields=["queue", "-created_at", "-id", "direction", "disposition"], name="connection_of_queue"
            ),
            models.Index(fields=["src_number", "-created_at", "-id"], name="connection_src"),
            models.Index(fields=["dst_number", "-created_at", "-id"], name="connection_dst"),
            models.Index(fields=["direction", "disposition", "-created_at", "-id"], name="connection_of_result"),
            models.Index(
                fields=["customer_id", "-created_at"],
                condition=Q(customer_id__isnull=False),
                name="connection_of_customer",
            ),
            # The few open calls among millions that are over.
            models.Index(
                fields=["state", "queue", "waiting_since"], condition=~Q(state="ended"), name="connection_open"
            ),
            models.Index(fields=["agent"], condition=is_long("created_at"), name="connection_long"),
            # For a search by the last digits of the customer's number. Open calls are few, and change often.
            models.Index(
                OpClass(Reverse(CUSTOMER_NUMBER), name="text_pattern_ops"),
                condition=Q(state="ended"),
                name="connection_ending",
            ),
        ]

    def __str__(self) -> str:
        return self.uid

    @staticmethod
    def next_id() -> int:
        return int(rows_of("SELECT nextval(pg_get_serial_sequence('telephony_connection', 'id'))")[0][0])

    @property
    def uid(self) -> str:
        return f"{int(self.created_at.timestamp())}.{self.pk}"

    @cached_property
    def all_legs(self) -> list["Leg"]:
        """The legs, read once, while the connection is locked. Code that adds a leg adds it here too.

        The standing line that is in this call has its place here as a leg that is in no table.
        """
        return [*self.legs.select_related("agent"), *self.line_legs()]

    def line_legs(self) -> list["Leg"]:
        if not self.uses_line:
            return []
        lines = AgentLine.objects.select_related("agent").filter(connection_id=self.pk, ended_at=None)
        return [Leg.of_line(line, self) for line in lines]

    @property
    def open_legs(self) -> list["Leg"]:
        return [leg for leg in self.all_legs if leg.ended_at is None]

    def leg_of(self, role: str) -> "Leg | None":
        """Return the last open leg of this role that we have not asked to hang up."""
        return next((leg for leg in reversed(self.open_legs) if leg.role == role and not leg.hangup_asked_at), None)

    @property
    def customer_leg(self) -> "Leg | None":
        """The leg of the customer, also after its end; None if the customer was not called."""
        return next((leg for leg in self.all_legs if leg.role == Leg.Role.CUSTOMER), None)

    @property
    def customer_number(self) -> str:
        return self.src if self.direction == self.Direction.INBOUND else self.dst

    @property
    def music_class(self) -> str:
        """The class of the music for a customer who waits or is on hold."""
        return self.queue.music_class if self.queue else "default"

    @property
    def is_answered(self) -> bool:
        """Whether the other side has picked up. During the detection of a machine `answered_at` is not set yet."""
        return self.answered_at is not None or self.state == self.State.DETECTING

    @property
    def wrap_up_seconds(self) -> int:
        """The seconds of wrap-up for the agent of an answered call."""
        if not self.answered_at:
            return 0
        return self.queue.wrap_up_seconds if self.queue else self.campaign_wrap_up_seconds

    @property
    def bridge_id(self) -> str:
        return bridge_id(self.pk)

    @property
    def recording_name(self) -> str:
        return self.uid if self.join_count < 2 else f"{self.uid}-{self.join_count}"

    @property
    def duration(self) -> int:
        """The whole seconds from start to end; 0 for an open call."""
        return max(int((self.ended_at - self.created_at).total_seconds()), 0) if self.ended_at else 0

    @property
    def billsec(self) -> int:
        """The whole seconds of talk; 0 for an open or unanswered call."""
        if self.ended_at is None or self.answered_at is None:
            return 0
        return max(int((self.ended_at - self.answered_at).total_seconds()), 0)


# SQL: a leg occupies its agent's phone while it rings or is up. A leg that we have asked to hang up no longer counts.
LEG_OCCUPIES_PHONE = "ended_at IS NULL AND hangup_asked_at IS NULL"
# SQL: a person has answered the `call` of a dialler, and no agent has it yet. Callers of queues have `waiting_since`.
IS_ANSWERED_WITHOUT_AGENT = "call.state = 'waiting' AND call.waiting_since IS NULL"
# SQL: a standing line occupies its agent's phone while it rings, and in a call. Between calls it does not.
LINE_OCCUPIES_PHONE = "ended_at IS NULL AND (connection_id IS NOT NULL OR state <> 'up')"
# SQL: a standing line can take a call.
LINE_IS_READY = "ended_at IS NULL AND state = 'up' AND connection_id IS NULL AND hangup_asked_at IS NULL"


def phone_is_occupied(agent: str) -> str:
    """Return SQL: a call occupies the phone of the agent with this id, or the agent listens to the call of another.

    The id is a column of the statement.
    """
    return Statement("""(
  EXISTS (SELECT FROM telephony_leg WHERE agent_id = {agent} AND {leg_occupies_phone})
  OR EXISTS (SELECT FROM telephony_agentline WHERE agent_id = {agent} AND {line_occupies_phone})
  OR EXISTS (SELECT FROM telephony_supervision WHERE agent_id = {agent} AND ended_at IS NULL)
)""").of(agent=agent, leg_occupies_phone=LEG_OCCUPIES_PHONE, line_occupies_phone=LINE_OCCUPIES_PHONE)


# SQL: the phone of the call's agent is in a call, or was lost in one that waits for it.
PHONE_IS_IN_CALL = Statement("""({phone_is_occupied} OR EXISTS (
  SELECT FROM telephony_connection lost WHERE lost.agent_id = telephony_connection.agent_id
  AND lost.state = 'talking' AND lost.agent_lost_at IS NOT NULL
))""").of(phone_is_occupied=phone_is_occupied("telephony_connection.agent_id"))


class Leg(models.Model):
    """One channel at the switch: the phone of an agent, the customer, the target of a transfer, or one consulted.

    We choose the channel's id, so that the channel can be found. Only a caller's id is the switch's.

    The row is committed before the request to the switch (ASKED). An asked leg that the switch does not know was lost
    and is never requested again. A leg that the switch refuses is REFUSED, with the cause, until the listener ends it.
    `hangup_asked_at` is when we decided to hang up, whether or not the switch has the request yet.
    """

    class Role(models.TextChoices):
        AGENT = "agent", _("agent")
        CUSTOMER = "customer", _("customer")
        TARGET = "target", _("target of a transfer")
        CONSULTED = "consulted", _("consulted")

    State = AgentLine.State

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="legs", verbose_name=_("call"))
    role = models.CharField(_("role"), max_length=10, choices=Role)
    agent = models.ForeignKey(Agent, models.PROTECT, null=True, related_name="+", db_index=False)
    number = models.CharField(_("number"), max_length=100)
    channel_id = models.CharField(_("channel"), max_length=80, unique=True)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.ASKED)
    asked_at = models.DateTimeField(_("asked for"))
    # NULL if the switch reported neither ringing nor early media.
    ringing_at = models.DateTimeField(_("ringing since"), null=True)
    up_at = models.DateTimeField(_("up"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)
    hangup_asked_at = models.DateTimeField(null=True)
    cause = models.PositiveSmallIntegerField(_("cause (Q.850)"), null=True)
    cause_text = models.CharField(_("reason"), max_length=causes.LONGEST, blank=True, default="", db_default="")
    tech_cause = models.CharField(_("SIP"), max_length=10, blank=True)

    # The standing line for which this leg stands in `Connection.all_legs`; such a leg is never stored.
    line: AgentLine | None = None
    was_refused = False  # by the switch; known in the transaction that ends the leg

    class Meta:
        verbose_name = _("leg")
        verbose_name_plural = _("legs")
        ordering = ["id"]
        indexes = [models.Index(fields=["asked_at"], condition=Q(ended_at__isnull=True), name="leg_open")]

    def __str__(self) -> str:
        return self.channel_id

    @classmethod
    def of_line(cls, line: AgentLine, connection: Connection) -> "Leg":
        is_up = line.joined_at is not None
        leg = cls(
            connection=connection,
            role=line.role,
            agent=line.agent,
            number=line.agent.number,
            channel_id=line.channel_id,
            state=cls.State.UP if is_up else cls.State.RINGING,
            asked_at=line.called_at or line.asked_at,
            ringing_at=line.called_at,
            up_at=line.joined_at,
        )
        leg.line = line
        return leg
