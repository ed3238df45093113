"""Talks of transferred outbound calls: how long each agent talked with the customer."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from telephony.models.agent import Agent
from telephony.models.connection import Connection, is_long
from telephony.models.queue import Queue


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
            ),
        ]
        indexes = [
            models.Index(fields=["agent", "counted_at"], name="talk_of_agent"),
            models.Index(fields=["agent"], condition=is_long("counted_at"), name="talk_long"),
        ]

    def __str__(self) -> str:
        return f"{self.connection_id}: {self.agent}"
