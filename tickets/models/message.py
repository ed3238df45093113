from datetime import timedelta
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.scope import Lookups
from callcentre.core.search import Words
from telephony.models import Agent
from tickets.models.ticket import Ticket


class Message(models.Model):
    """A message in a ticket: from the customer, to the customer, or a comment among agents. Written once.

    `body` is sanitised HTML or plain text (`body_type`). `comment` is the text of a COMMENT. `system_comment` says what
    the service did, such as a change of status. The sending of a reply is in its Dispatch.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_ticket_queues": "ticket__queue_id"}

    class Type(models.TextChoices):
        MAIL = "MAIL", _("from the customer")
        REPLY = "REPLY", _("to the customer")
        COMMENT = "COMMENT", _("comment")

    class BodyType(models.TextChoices):
        HTML = "HTML", "HTML"
        PLAIN = "PLAIN", _("plain text")

    ticket = models.ForeignKey(
        Ticket, models.CASCADE, related_name="messages", db_index=False, verbose_name=_("ticket")
    )
    type = models.CharField(_("type"), max_length=10, choices=Type)
    # The author; NULL for the customer and for the service.
    agent = models.ForeignKey(
        Agent, models.PROTECT, null=True, related_name="ticket_messages", db_index=False, verbose_name=_("agent")
    )
    author_name = models.CharField(_("author"), max_length=200, blank=True)
    author_address = models.CharField(_("author's address"), max_length=320, blank=True)
    # Reply-To of a mail, if it differs from the author's address.
    reply_to = models.CharField(_("answers to"), max_length=320, blank=True, default="", db_default="")
    # What our receiving server found out about the sender, as "spf=pass dkim=pass dmarc=pass" (RFC 8601).
    verdicts = models.CharField(max_length=60, blank=True, default="", db_default="")
    body = models.TextField(_("text"), blank=True)
    # The quotation of earlier messages. Pages show it folded.
    quoted = models.TextField(_("quoted text"), blank=True)
    body_type = models.CharField(max_length=5, choices=BodyType, default=BodyType.HTML)
    comment = models.TextField(_("comment"), blank=True)
    system_comment = models.TextField(_("note of the service"), blank=True)
    # Written by an answering machine or a mail server. It does not reopen the ticket and is not acknowledged.
    is_automatic = models.BooleanField(_("automatic"), default=False)
    # Copies of the tokens of its files and of its ratings, so that a list of tickets reads one row for each message.
    attachments = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    # A comment about an answer that the customer got another way. It ends the response target.
    is_answer = models.BooleanField(_("answer"), default=False, db_default=False)
    ratings = ArrayField(
        models.SmallIntegerField(validators=[MinValueValidator(1), MaxValueValidator(5)]), default=list, blank=True
    )
    created_at = models.DateTimeField(_("time"), default=timezone.now)

    class Meta:
        verbose_name = pgettext_lazy("of a ticket", "message")
        verbose_name_plural = _("messages")
        ordering = ["created_at", "id"]
        indexes = [
            models.Index(fields=["ticket", "created_at", "id"], name="message_of_ticket"),
            models.Index(
                fields=["agent", "created_at"], condition=Q(type="REPLY", agent__isnull=False), name="message_replies"
            ),
            # A search reads the entries that wait to be sorted in one by one, so they are few.
            GinIndex(Words("body", "comment"), name="message_words", gin_pending_list_limit=512),
            # The few with a rating.
            models.Index(fields=["ticket"], condition=~Q(ratings=[]), name="message_rated"),
        ]

    def __str__(self) -> str:
        return f"{self.get_type_display()}, {timezone.localtime(self.created_at):%Y-%m-%d %H:%M}"


# A reply may be rated for so long, and a rating may be changed for so long.
OPEN_FOR = timedelta(days=60)
CHANGEABLE_FOR = timedelta(days=7)
VALUES = range(1, 6)


class Rating(models.Model):
    """A customer's rating of one reply, 1 to 5, given through a signed link in the mail.

    The customer may change it for a week (`CHANGEABLE_FOR`).
    """

    scope_lookups: ClassVar[Lookups] = {"scope_ticket_queues": "message__ticket__queue_id"}

    message = models.OneToOneField(
        Message, models.CASCADE, related_name="rating", verbose_name=pgettext_lazy("of a ticket", "message")
    )
    value = models.PositiveSmallIntegerField(_("rating"))
    given_at = models.DateTimeField(_("given"), default=timezone.now)
    # NULL: the rating has not been changed.
    changed_at = models.DateTimeField(_("changed"), null=True)

    class Meta:
        verbose_name = _("rating")
        verbose_name_plural = _("ratings")
        ordering = ["-id"]
        constraints = [models.CheckConstraint(name="rating_is_1_to_5", condition=Q(value__range=(1, 5)))]
        indexes = [
            models.Index(fields=["value", "-id"], name="rating_of_value"),
            models.Index(fields=["-given_at", "-id"], name="rating_newest"),
        ]

    def __str__(self) -> str:
        return stars(self.value)


def stars(value: int) -> str:
    return f"{'★' * value}{'☆' * (5 - value)}"


def may_be_rated(message: Message, rating: Rating | None) -> bool:
    now = timezone.now()
    if rating is not None:
        return now - rating.given_at <= CHANGEABLE_FOR
    return message.type == Message.Type.REPLY and now - message.created_at <= OPEN_FOR
