"""Callers who are called back, and callers whom no agent has answered."""

from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.scope import Lookups
from telephony.models.agent import Agent
from telephony.models.connection import Connection
from telephony.models.queue import Queue

# A later call is no answer any more.
ANSWERED_WITHIN = timedelta(days=7)
# SQL: the call-back `b` of the queue `q` may be made at %(now)s, when %(open_queues)s are open. A person who still
# hears the prompt of the queue is on the line.
CALLBACK_IS_DUE = """(
  b.state = 'waiting' AND b.next_attempt_at <= %(now)s AND q.id = ANY(%(open_queues)s) AND NOT EXISTS (
    SELECT FROM telephony_connection k WHERE k.state = 'playing' AND k.queue_id = q.id AND k.src_number = b.number
  )
)"""


def moment(now: datetime) -> dict[str, Any]:
    """Return the parameters of CALLBACK_IS_DUE."""
    asked = Queue.objects.filter(callbacks__state="waiting").distinct().prefetch_related("opening_hours")
    return {"now": now, "open_queues": [queue.pk for queue in asked if queue.is_open(now)]}


class CallBack(models.Model):
    """A person who waits for an agent without a line: in the turn of a queue an agent is rung, then the person.

    The place in the queue is that of `waiting_since`, of a caller the start of the wait on the line, and of the steps
    of the number (CallerPriority). An attempt is an
    outbound call of the queue, `connection`, while the state is CALLING. A number that does not answer is called again,
    from `next_attempt_at` on, as often as the queue says. A call-back ends once; its result is then final.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "queue_id"}

    class State(models.TextChoices):
        WAITING = "waiting", _("waits for its turn")
        CALLING = "calling", _("is called")
        ENDED = "ended", _("ended")

    class Origin(models.TextChoices):
        KEY = "key", _("the caller's key")
        WAIT = "wait", _("a long wait")
        API = "api", _("a client of the API")
        PERSON = "person", _("the list of missed callers")

    class Disposition(models.TextChoices):
        ANSWERED = "ANSWERED", _("answered")
        BUSY = "BUSY", _("busy")
        NO_ANSWER = "NO ANSWER", _("no answer")
        FAILED = "FAILED", _("failed")
        CANCELLED = "CANCELLED", _("cancelled")

    queue = models.ForeignKey(Queue, models.PROTECT, related_name="callbacks", db_index=False, verbose_name=_("queue"))
    # In the normal form.
    number = models.CharField(_("number"), max_length=64)
    # A customer of the tickets app; see telephony.customers.
    customer_id = models.BigIntegerField(_("customer"), null=True)
    caller = models.ForeignKey(
        Connection, models.SET_NULL, null=True, related_name="+", verbose_name=_("call of the caller")
    )
    origin = models.CharField(_("asked for by"), max_length=10, choices=Origin)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.WAITING)
    disposition = models.CharField(_("result"), max_length=10, choices=Disposition, blank=True)
    waiting_since = models.DateTimeField(_("place in the queue"))
    # As those of a caller.
    priority_steps = models.SmallIntegerField(default=0, db_default=0, editable=False)
    created_at = models.DateTimeField(_("asked for at"))
    # The calls of the number so far; not those whose agent did not pick up.
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    next_attempt_at = models.DateTimeField(_("not before"))
    connection = models.ForeignKey(
        Connection, models.SET_NULL, null=True, related_name="+", verbose_name=_("last call")
    )
    agent = models.ForeignKey(
        Agent, models.PROTECT, null=True, related_name="+", db_index=False, verbose_name=_("agent")
    )
    ended_at = models.DateTimeField(_("end"), null=True)
    # From `waiting_since` until the person talked with an agent, or until the end.
    wait_seconds = models.PositiveIntegerField(_("waiting in s"), default=0)

    class Meta:
        verbose_name = _("call-back")
        verbose_name_plural = _("call-backs")
        default_permissions = ("add", "change", "view")
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="callback_ended_is_final",
                condition=Q(state="ended", ended_at__isnull=False) & ~Q(disposition="")
                | ~Q(state="ended") & Q(ended_at__isnull=True, disposition=""),
            ),
            models.UniqueConstraint(
                fields=["queue", "number"], condition=~Q(state="ended"), name="callback_one_open_of_number"
            ),
        ]
        indexes = [
            models.Index(fields=["queue", "waiting_since"], condition=Q(state="waiting"), name="callback_waiting"),
            models.Index(fields=["number", "-id"], name="callback_of_number"),
            models.Index(fields=["queue", "-created_at"], name="callback_of_queue"),
            models.Index(fields=["customer_id"], condition=Q(customer_id__isnull=False), name="callback_of_customer"),
        ]

    def __str__(self) -> str:
        return f"{self.number} ({self.pk})"


class MissedCaller(models.Model):
    """An inbound call that ended without an agent, and why. A call-back that waits or was answered makes none.

    The first later call, in or out, in which an agent talked with the same number answers it, within ANSWERED_WITHIN.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_call_queues": "queue_id"}

    class Reason(models.TextChoices):
        CLOSED = "closed", _("the queue was closed")
        FULL = "full", _("the queue was full")
        NO_AGENT = "no_agent", _("no agent was logged in")
        GAVE_UP = "gave_up", _("gave up")
        OVERFLOWED = "overflowed", _("waited too long")
        HUNG_UP = "hung_up", _("hung up by a command")
        NO_QUEUE = "no_queue", _("no queue has the number")
        NO_CONNECTION = "no_connection", _("no connection to the PBX")
        NOT_REACHED = "not_reached", _("called back in vain")

    connection = models.OneToOneField(Connection, models.CASCADE, related_name="missed", verbose_name=_("call"))
    # The last queue of the call.
    queue = models.ForeignKey(
        Queue, models.PROTECT, null=True, related_name="+", db_index=False, verbose_name=_("queue")
    )
    reason = models.CharField(_("reason"), max_length=15, choices=Reason)
    missed_at = models.DateTimeField(_("missed at"))
    answered_by = models.ForeignKey(
        Connection, models.SET_NULL, null=True, related_name="answered_callers", verbose_name=_("answered by the call")
    )

    class Meta:
        verbose_name = _("missed caller")
        verbose_name_plural = _("missed callers")
        default_permissions = ("view",)
        ordering = ["-missed_at", "-id"]
        indexes = [
            # The list shows these first.
            models.Index(fields=["-missed_at", "-id"], condition=Q(answered_by=None), name="missedcaller_unanswered"),
            models.Index(fields=["-missed_at", "-id"], name="missedcaller_newest"),
            models.Index(fields=["queue", "-missed_at", "-id"], name="missedcaller_of_queue"),
            models.Index(fields=["reason", "-missed_at", "-id"], name="missedcaller_of_reason"),
        ]

    def __str__(self) -> str:
        return str(self.connection)
