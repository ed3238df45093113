from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from telephony.models import Agent
from tickets.models.ticket import Ticket


class Message(models.Model):
    """A part of a ticket's conversation: a customer's mail, a reply to him, or a comment among agents.

    Written once. `body` is sanitised HTML or plain text (`body_type`), `comment` what a COMMENT says, `system_comment`
    what the service did with it, such as a change of status. How a reply's delivery goes is in its Delivery row.
    """

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
    # Who wrote it; NULL for the customer and the service itself.
    agent = models.ForeignKey(
        Agent, models.PROTECT, null=True, related_name="ticket_messages", db_index=False, verbose_name=_("agent")
    )
    author_name = models.CharField(_("author"), max_length=200, blank=True)
    author_address = models.CharField(_("author's address"), max_length=320, blank=True)
    # Where its author wants answers, if that is another address: of a mail, Reply-To.
    reply_to = models.CharField(_("answers to"), max_length=320, blank=True, default="", db_default="")
    body = models.TextField(_("text"), blank=True)
    # What the author quoted of earlier messages: folded where the body is shown.
    quoted = models.TextField(_("quoted text"), blank=True)
    body_type = models.CharField(max_length=5, choices=BodyType, default=BodyType.HTML)
    comment = models.TextField(_("comment"), blank=True)
    system_comment = models.TextField(_("note of the service"), blank=True)
    # An answering machine's or a bounce: neither reopens the ticket nor is it answered.
    is_automatic = models.BooleanField(_("automatic"), default=False)
    # Tokens of its StoredFiles, and the ratings customers gave it: kept here as well, so that a list of tickets reads
    # one row a message.
    attachments = ArrayField(models.CharField(max_length=64), default=list, blank=True)
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
        ]

    def __str__(self) -> str:
        return f"{self.get_type_display()}, {timezone.localtime(self.created_at):%Y-%m-%d %H:%M}"
