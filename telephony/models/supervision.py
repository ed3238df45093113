"""Supervisors in the calls of others, and the messages that they send to agents."""

from typing import ClassVar, cast

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import Actor, ActorKind
from callcentre.core.scope import Kept, Lookups
from telephony import causes
from telephony.models.agent import Agent
from telephony.models.connection import Connection


class Supervision(models.Model):
    """A supervisor in the call of another agent, from the request until the supervisor's phone leaves the call.

    The row is committed before the phone of `agent`, the supervisor's, is called. `up_at` is set once it is picked up.
    `modes` has each mode with its start, in order: [["listen", "2026-11-28T08:30:00+00:00"], …]. With TAKE_OVER, the
    last one, the phone goes on as a leg of the call. The actor is who asked.
    """

    scope_lookups: ClassVar[Lookups] = {
        "scope_call_queues": "connection__queue_id",
        "scope_outbounds": Kept("connection__campaign_id", "campaign_code"),
        "scope_agent_groups": "connection__agent__group_id",
    }

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
