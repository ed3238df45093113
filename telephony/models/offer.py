"""Offers of inbound calls to agents."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from callcentre.core.scope import Kept, Lookups
from telephony.models.agent import Agent
from telephony.models.connection import Connection, is_long
from telephony.models.queue import Queue


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
