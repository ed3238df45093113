from datetime import datetime
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import Case, F, Q, When
from django.db.models.functions import Coalesce, Least, Upper
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.changes import Change
from callcentre.core.scope import Lookups
from callcentre.core.search import Words
from telephony.models import Agent
from tickets.models.customer import Customer
from tickets.models.status import TicketCategory, TicketStatus, TicketSubstatus, TicketType, full_name
from tickets.models.team import Team
from tickets.models.ticket_queue import TicketQueue


class Source(models.TextChoices):
    """The way by which a ticket came. Replies go back the same way."""

    EMAIL = "email", _("e-mail")
    PHONE = "phone", _("phone")
    SMS = "sms", _("SMS")
    CHAT = "chat", _("chat")
    WWW = "www", _("web form")
    MARKETPLACE_MESSAGE = "marketplace_message", _("marketplace: message")
    MARKETPLACE_DISPUTE = "marketplace_dispute", _("marketplace: dispute")


class Priority(models.IntegerChoices):
    """How urgent a ticket is. Tickets of a higher number come first."""

    LOW = 1, pgettext_lazy("priority", "low")
    NORMAL = 2, pgettext_lazy("priority", "normal")
    HIGH = 3, pgettext_lazy("priority", "high")
    URGENT = 4, pgettext_lazy("priority", "urgent")


LONGEST_TAG = 100
# As programs name them.
PRIORITIES = {priority.name.lower(): priority for priority in Priority}

MARKETPLACES = (Source.MARKETPLACE_MESSAGE, Source.MARKETPLACE_DISPUTE)
# Sources of tickets to which an agent can reply.
REPLY_SOURCES = (Source.EMAIL, *MARKETPLACES)

# The customer waits for a response. Meant for tickets with `response_due_at`.
RESPONSE_IS_OWED = Q(awaiting_since__isnull=False)
# The earlier of the due times of an open ticket, as far as they are owed.
DUE_AT = Least(Case(When(RESPONSE_IS_OWED, then="response_due_at")), "resolution_due_at")


class Ticket(models.Model):
    """A matter of a customer, from the first message until it is closed. A reply of the customer opens it again.

    Only the verbs change a ticket. Each of them sets `updated_at`, writes history and records its event in one
    transaction; an answer outside the ticket changes nothing that is published. A ticket that was merged into another
    has no messages and leads to the other.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_ticket_queues": "queue_id"}

    subject = models.CharField(pgettext_lazy("of a mail", "subject"), max_length=500)
    source = models.CharField(_("source"), max_length=20, choices=Source)
    queue = models.ForeignKey(
        TicketQueue, models.PROTECT, related_name="tickets", db_index=False, verbose_name=_("ticket queue")
    )
    category = models.ForeignKey(
        TicketCategory,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="tickets",
        db_index=False,
        verbose_name=_("category"),
    )
    priority = models.SmallIntegerField(
        _("priority"), choices=Priority, default=Priority.NORMAL, db_default=Priority.NORMAL
    )
    type = models.ForeignKey(
        TicketType,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="tickets",
        db_index=False,
        verbose_name=pgettext_lazy("of a ticket", "type"),
    )
    status = models.ForeignKey(
        TicketStatus, models.PROTECT, related_name="tickets", db_index=False, verbose_name=_("status")
    )
    substatus = models.ForeignKey(
        TicketSubstatus,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="tickets",
        db_index=False,
        verbose_name=_("sub-status"),
    )
    # The assignee.
    agent = models.ForeignKey(
        Agent, models.PROTECT, null=True, blank=True, related_name="tickets", db_index=False, verbose_name=_("agent")
    )
    # The agents who are to work on it; NULL: all.
    team = models.ForeignKey(
        Team, models.PROTECT, null=True, blank=True, related_name="tickets", db_index=False, verbose_name=_("team")
    )
    customer = models.ForeignKey(
        Customer,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="tickets",
        db_index=False,
        verbose_name=_("customer"),
    )
    # The address or name of the sender of the first message.
    sender = models.CharField(_("from"), max_length=320, blank=True)
    sender_name = models.CharField(_("sender's name"), max_length=200, blank=True)
    tags = ArrayField(models.CharField(max_length=LONGEST_TAG), default=list, blank=True, verbose_name=_("tags"))
    # Id of the CustomField, as a string -> value. Fields without a value are absent.
    custom_fields = models.JSONField(_("custom fields"), default=dict, blank=True)
    # Ids of connected tickets, kept on both sides.
    connected_ids = ArrayField(models.BigIntegerField(), default=list, blank=True, editable=False)
    merged_into = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="merged", db_index=False, editable=False
    )

    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), default=timezone.now, editable=False)
    closed_at = models.DateTimeField(_("closed"), null=True, editable=False)
    # The assignee when it was closed.
    closed_by = models.ForeignKey(Agent, models.PROTECT, null=True, related_name="+", db_index=False, editable=False)
    first_agent_responded_at = models.DateTimeField(_("first response"), null=True, editable=False)
    # The time since which the customer waits for a response; NULL once the customer was answered.
    awaiting_since = models.DateTimeField(null=True, editable=False)
    # When the targets began: the last reopening; NULL means the creation.
    targets_began_at = models.DateTimeField(null=True, editable=False)
    # Instants since then, in turn: when the ticket began to wait for the customer, and when that ended.
    waits = ArrayField(models.DateTimeField(), default=list, db_default=[], blank=True, editable=False)
    # The service level that matched when it last changed.
    service_level = models.ForeignKey(
        "tickets.ServiceLevel",
        models.SET_NULL,
        null=True,
        related_name="tickets",
        db_index=False,
        editable=False,
        verbose_name=_("service level"),
    )
    # Whether the first response, and the end, came in time; NULL before, and without a target.
    first_response_met = models.BooleanField(null=True, editable=False)
    resolution_met = models.BooleanField(null=True, editable=False)
    # When the targets of the service level want a response and the end; NULL after a reply, and while the ticket waits
    # for the customer. Without a reply the report wants the first response also if the customer was answered otherwise.
    response_due_at = models.DateTimeField(_("response due"), null=True, editable=False)
    resolution_due_at = models.DateTimeField(_("resolution due"), null=True, editable=False)
    # When a postponed ticket comes back. It stays after that; the next change of the status clears it.
    postponed_until = models.DateTimeField(_("postponed until"), null=True, editable=False)

    class Meta:
        verbose_name = _("ticket")
        verbose_name_plural = _("tickets")
        ordering = ["-updated_at", "-id"]
        constraints = [
            models.CheckConstraint(name="ticket_source_is_known", condition=Q(source__in=Source.values)),
        ]
        # Each change of a ticket writes a new entry into all of them, as it sets `updated_at`: about 3 µs each. Lists
        # and counts use all of them.
        indexes = [
            models.Index(fields=["-updated_at", "-id"], name="ticket_updated"),
            models.Index(fields=["-created_at", "-id"], name="ticket_created"),
            models.Index(fields=["queue", "-updated_at", "-id"], name="ticket_of_queue"),
            models.Index(fields=["status", "-updated_at", "-id"], name="ticket_of_status"),
            models.Index(fields=["agent", "-updated_at", "-id"], name="ticket_of_agent"),
            # Open tickets, of an agent or unassigned, are few of many.
            models.Index(
                fields=["agent", "-updated_at", "-id"], condition=Q(closed_at=None), name="ticket_open_of_agent"
            ),
            # The tickets without an agent, of each team or of none, in the order in which agents take them.
            models.Index(
                Coalesce("team", 0),
                F("priority").desc(),
                DUE_AT,
                "created_at",
                "id",
                condition=Q(agent=None, closed_at=None),
                name="ticket_to_take",
            ),
            models.Index(fields=["customer", "-updated_at", "-id"], name="ticket_of_customer"),
            # In the order of the customer's timeline, where no ticket moves.
            models.Index(
                fields=["customer", "-created_at", "-id"],
                condition=Q(customer__isnull=False),
                name="ticket_in_timeline",
            ),
            models.Index(fields=["category", "-updated_at", "-id"], name="ticket_of_category"),
            models.Index(fields=["source", "-updated_at", "-id"], name="ticket_of_source"),
            models.Index(fields=["priority", "-updated_at", "-id"], name="ticket_of_priority"),
            models.Index(fields=["type", "-updated_at", "-id"], condition=Q(type__isnull=False), name="ticket_of_type"),
            models.Index(fields=["team", "-updated_at", "-id"], condition=Q(team__isnull=False), name="ticket_of_team"),
            models.Index(fields=["merged_into"], condition=Q(merged_into__isnull=False), name="ticket_merged_into"),
            models.Index(OpClass(Upper("sender"), "text_pattern_ops"), condition=~Q(sender=""), name="ticket_address"),
            models.Index(
                fields=["closed_by", "closed_at"], condition=Q(closed_by__isnull=False), name="ticket_closed_by"
            ),
            # The report of tickets counts closed ones, and those that were open at an instant.
            models.Index(
                fields=["queue", "closed_at", "created_at"],
                condition=Q(closed_at__isnull=False),
                name="ticket_closed_in_queue",
            ),
            models.Index(
                fields=["queue", "targets_began_at"],
                condition=Q(targets_began_at__isnull=False),
                name="ticket_reopened_in_queue",
            ),
            models.Index(
                fields=["response_due_at"],
                condition=(Q(first_agent_responded_at=None) | RESPONSE_IS_OWED)
                & Q(closed_at=None, response_due_at__isnull=False),
                name="ticket_response_owed",
            ),
            models.Index(
                fields=["resolution_due_at"],
                condition=Q(closed_at=None, resolution_due_at__isnull=False),
                name="ticket_resolution_due",
            ),
            models.Index(
                fields=["postponed_until"],
                condition=Q(postponed_until__isnull=False, closed_at=None),
                name="ticket_postponed",
            ),
            GinIndex(Words("subject"), name="ticket_words", gin_pending_list_limit=512),
            GinIndex(fields=["tags"], condition=~Q(tags=[]), name="ticket_tags"),
            GinIndex(fields=["custom_fields"], opclasses=["jsonb_path_ops"], name="ticket_custom_fields"),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.subject}"

    @property
    def agent_login(self) -> str:
        """The login of the assignee; "" if there is none."""
        return self.agent.login if self.agent else ""

    @property
    def full_status_name(self) -> str:
        return full_name(self.status, self.substatus)

    @property
    def rests_until(self) -> datetime | None:
        """When it comes back, if it is postponed now, without seconds."""
        is_postponed = self.status.kind == TicketStatus.Kind.POSTPONED
        until = self.postponed_until if is_postponed else None
        return until and until.replace(second=0, microsecond=0)

    @property
    def waiting_since(self) -> datetime | None:
        """The time since which the ticket waits for the customer; None if it does not."""
        return self.waits[-1] if len(self.waits) % 2 else None

    @property
    def owes_response(self) -> bool:
        """Whether the customer waits for a response that has a due time."""
        return self.closed_at is None and self.response_due_at is not None and self.awaiting_since is not None

    @property
    def next_due_at(self) -> datetime | None:
        """The earlier of the due times of the response and of the resolution, as far as they are owed."""
        response = self.response_due_at if self.owes_response else None
        resolution = self.resolution_due_at if self.closed_at is None else None
        return min((instant for instant in (response, resolution) if instant), default=None)


class TicketCount(models.Model):
    """A part of the number of tickets. The sum of all parts is exact in every transaction. A trigger keeps them.

    Each database session writes to one of the parts, so that concurrent sessions seldom wait for each other.
    """

    slot = models.PositiveSmallIntegerField(primary_key=True)
    count = models.BigIntegerField(default=0)

    class Meta:
        verbose_name = _("number of tickets")
        verbose_name_plural = _("numbers of tickets")
        ordering = ["slot"]

    def __str__(self) -> str:
        return f"{self.slot}: {self.count}"


class TicketChange(Change):
    """An entry in the history of a ticket."""

    ticket = models.ForeignKey(
        Ticket, models.CASCADE, related_name="history", db_constraint=False, db_index=False, verbose_name=_("ticket")
    )

    class Meta:
        verbose_name = _("change of a ticket")
        verbose_name_plural = _("changes of tickets")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["-at"], name="ticketchange_at"),
            models.Index(fields=["ticket", "id"], name="ticketchange_ticket"),
        ]
