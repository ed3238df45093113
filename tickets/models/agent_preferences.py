"""The preferences of an agent for the work with tickets, and the texts that are not sent yet."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.audit import audited
from callcentre.core.changes import TimestampedModel
from callcentre.core.html_field import CleanHtmlField
from callcentre.core.scope import Lookups
from callcentre.models import User
from telephony.models import Agent
from tickets.html import OWN_TEXT
from tickets.models.message import Message
from tickets.models.ticket import Ticket
from tickets.placeholders import check_placeholders


class NoticeKind(models.TextChoices):
    """The events of tickets of which an agent is told."""

    ASSIGNED = "assigned", _("a ticket is assigned to me")
    ANSWERED = "answered", _("the customer writes in a ticket of mine")
    MENTIONED = "mentioned", _("a comment mentions me")
    DEADLINE = "deadline", _("a ticket of mine is due soon, or overdue")
    WOKEN = "woken", _("a postponed ticket of mine is back")
    FOLLOWED = "followed", _("something happens in a ticket that I follow")


@audited()
class AgentPreferences(TimestampedModel):
    """The preferences of an agent for the work with tickets. An agent without a row has the defaults."""

    scope_lookups: ClassVar[Lookups] = {"scope_agent_groups": "agent__group_id"}

    agent = models.OneToOneField(
        Agent, models.PROTECT, primary_key=True, related_name="preferences", verbose_name=_("agent")
    )
    # Meanwhile the agent gets no tickets by a team.
    away_from = models.DateTimeField(_("out of office from"), null=True, blank=True)
    away_until = models.DateTimeField(_("out of office until"), null=True, blank=True)
    signature = CleanHtmlField(
        _("signature"),
        policy=OWN_TEXT,
        blank=True,
        default="",
        help_text=_("HTML that ends the replies of the agent, before the signature of the ticket queue."),
    )
    # Each kind of notice is on the bar unless it is here, and comes as a mail only if it is there.
    not_on_bar = ArrayField(
        models.CharField(max_length=20, choices=NoticeKind), default=list, blank=True, verbose_name=_("not on the bar")
    )
    by_mail = ArrayField(
        models.CharField(max_length=20, choices=NoticeKind), default=list, blank=True, verbose_name=_("by mail")
    )

    class Meta:
        verbose_name = _("preferences of an agent")
        verbose_name_plural = _("preferences of agents")
        ordering = ["agent"]
        constraints = [
            models.CheckConstraint(
                name="agentpreferences_away_in_order",
                condition=Q(away_from=None) | Q(away_until=None) | Q(away_from__lt=F("away_until")),
                violation_error_message=_("The end is before the beginning."),
            )
        ]

    def __str__(self) -> str:
        return str(self.agent)

    def clean(self) -> None:
        if self.away_until and not self.away_from:
            raise ValidationError({"away_from": _("Enter the beginning, too.")})
        check_placeholders(signature=(self.signature, ()))


class TicketDraft(models.Model):
    """The text that a person has begun to write in a ticket, and has not sent."""

    ticket = models.ForeignKey(Ticket, models.CASCADE, related_name="drafts")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    # reply, answer or comment, as in the composer.
    kind = models.CharField(max_length=10)
    text = models.TextField()
    body_type = models.CharField(max_length=10, choices=Message.BodyType)
    updated_at = models.DateTimeField(pgettext_lazy("of a text", "changed"), auto_now=True)

    class Meta:
        ordering = ["id"]
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["ticket", "user"], name="ticketdraft_one_of_person")]

    def __str__(self) -> str:
        return f"#{self.ticket_id}"
