"""Commands to open calls, and transfers."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.changes import Change
from telephony import causes
from telephony.models.agent import Agent
from telephony.models.connection import Connection
from telephony.models.queue import Queue


class Transfer(Change):
    """A transfer of a call to a queue or a number, with its actor and time.

    `from_queue` is the queue of the call until then. These and the connection's present queue are all its queues.
    `note` of a return by the system names the target that was not reached, and why: `number: reason`.
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


class CallCommand(models.Model):
    """A command to an open call: hang up, hold, resume or transfer. The listener carries it out."""

    class Kind(models.TextChoices):
        HANG_UP = "hang_up", _("hang up")
        HOLD = "hold", _("hold")
        RESUME = "resume", _("resume")
        TRANSFER = "transfer", _("transfer")

    connection = models.ForeignKey(Connection, models.CASCADE, related_name="commands", verbose_name=_("call"))
    kind = models.CharField(_("command"), max_length=10, choices=Kind)
    # For a transfer: {"queue_id": …} or {"number": …}. To hang up only what rings: {"unless_answered": true}.
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
