"""Notices to agents of what happens in tickets, and the agents who follow a ticket."""

from datetime import timedelta
from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from callcentre.core.due_work import DueQuerySet, Retries
from callcentre.core.mail_outbox import DueMail
from telephony.models import Agent
from tickets.models.agent_preferences import NoticeKind
from tickets.models.ticket import Ticket

# Notices are kept for so long.
KEPT = timedelta(days=30)
# The kinds, the most specific first: if one thing concerns an agent for several reasons, the notice has the first.
RANKED = sorted(NoticeKind.values, key=lambda kind: kind != NoticeKind.MENTIONED)
# The kinds that concern the assignee alone.
OF_ASSIGNEE = (NoticeKind.ASSIGNED, NoticeKind.DEADLINE, NoticeKind.WOKEN)
# Of a kind, or of a word that keys begin with.
_HEADINGS = {
    NoticeKind.MENTIONED: _("You are mentioned: %(ticket)s"),
    NoticeKind.ASSIGNED: _("Assigned to you: %(ticket)s"),
    NoticeKind.ANSWERED: _("The customer writes: %(ticket)s"),
    NoticeKind.WOKEN: _("Back again: %(ticket)s"),
    "soon": _("Due within the hour: %(ticket)s"),
    "missed": _("Overdue: %(ticket)s"),
    "reply": _("Reply to the customer: %(ticket)s"),
    "comment": _("New comment: %(ticket)s"),
    "change": _("Changed: %(ticket)s"),
}


def heading_of(kind: str, key: str, ticket: str) -> str:
    """Return what a notice says of a ticket, which is named as the place wants it."""
    found = _HEADINGS.get(kind) or _HEADINGS.get(key.partition("-")[0], _HEADINGS["change"])
    return str(found) % {"ticket": ticket}


class TicketFollower(models.Model):
    """An agent who gets notices of a ticket without being its assignee."""

    ticket = models.ForeignKey(Ticket, models.CASCADE, related_name="followers", db_index=False)
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="+", db_index=False)

    class Meta:
        ordering = ["id"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["ticket", "agent"], name="ticketfollower_once")]

    def __str__(self) -> str:
        return str(self.agent)


class Notice(DueMail):
    """A notice to one agent of one thing that happened in a ticket. A thing makes at most one notice for an agent.

    It is on the agent's bar until `closed_at`, which is set at once if the agent wants such notices by mail only. A
    worker sends the mail at `next_attempt_at`; NULL: there is none, or no attempt follows.
    """

    waits = Q()
    delays = Retries.MESSAGE
    task = "tickets.mail_notice"

    agent = models.ForeignKey(Agent, models.PROTECT, related_name="notices", db_index=False)
    ticket = models.ForeignKey(Ticket, models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=20, choices=NoticeKind)
    # A word for the thing that happened, a hyphen and its id: "comment-71".
    key = models.CharField(max_length=80)
    # The agent, user, program or rule that did it; "" for a customer and for the service.
    actor_name = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    closed_at = models.DateTimeField(null=True)

    objects = DueQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["agent", "key"], name="notice_once")]
        indexes = [
            models.Index(fields=["agent", "-id"], condition=Q(closed_at=None), name="notice_open"),
            models.Index(fields=["next_attempt_at"], condition=Q(next_attempt_at__isnull=False), name="notice_due"),
        ]

    def __str__(self) -> str:
        return heading_of(self.kind, self.key, f"#{self.ticket_id}")

    def given_up(self, error: str) -> dict[str, Any]:
        """Put a notice whose mail is given up on the bar."""
        return {"closed_at": None}
