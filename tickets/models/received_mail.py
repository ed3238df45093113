from datetime import timedelta
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.scope import Lookups
from tickets.models.message import Message
from tickets.models.ticket_queue import TicketQueue
from tickets.reasons import translated

# How long spam is kept apart before it is deleted.
SPAM_KEPT = timedelta(days=30)


class ReceivedMailQuerySet(models.QuerySet["ReceivedMail"]):
    def quarantined(self) -> "ReceivedMailQuerySet":
        return self.filter(outcome=ReceivedMail.Outcome.QUARANTINED)

    def expired_spam(self) -> "ReceivedMailQuerySet":
        return self.filter(outcome=ReceivedMail.Outcome.SPAM, received_at__lt=timezone.now() - SPAM_KEPT)


class ReceivedMail(models.Model):
    """A mail as it arrived, and its outcome. A mail that arrives twice is one row.

    A mail that could not become a message is in quarantine, with the reason, until a person retries or discards it.
    Spam is kept apart for SPAM_KEPT, in which a person may restore it. A
    row without a path stands for a mail that is only in its mailbox, because fetching it failed or it is too large.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_ticket_queues": "queue_id"}

    class Outcome(models.TextChoices):
        RECEIVED = "received", _("received")
        STORED = "stored", _("became a message")
        IGNORED = "ignored", _("needs no message")
        QUARANTINED = "quarantined", _("in quarantine")
        SPAM = "spam", _("kept apart as spam")
        DELETED = "deleted", _("deleted")

    # The checksum of the raw mail; with the queue it identifies a mail that arrives twice. `uid:<validity>:<uid>` for a
    # mail that is only in its mailbox.
    sha256 = models.CharField(max_length=64)
    queue = models.ForeignKey(
        TicketQueue,
        models.PROTECT,
        null=True,
        related_name="received_mails",
        db_index=False,
        verbose_name=_("ticket queue"),
    )
    # Headers; empty if they could not be read.
    header_id = models.CharField(max_length=255, blank=True)
    sender = models.CharField(_("from"), max_length=320, blank=True)
    subject = models.CharField(pgettext_lazy("of a mail", "subject"), max_length=500, blank=True)
    # Lower-cased addresses of To and Cc, for a reply to all.
    recipients = ArrayField(models.CharField(max_length=320), default=list, blank=True)
    # The checksum of headers, texts and attachments, equal on each way of the mail; "" if it was not read.
    content_sha256 = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    # The raw mail in the storage.
    path = models.CharField(max_length=200, blank=True)
    size = models.BigIntegerField(_("size in bytes"))
    # The place in the mailbox of the queue; NULL for a mail that was handed in.
    imap_validity = models.BigIntegerField(null=True, editable=False)
    imap_uid = models.BigIntegerField(null=True, editable=False)
    outcome = models.CharField(_("outcome"), max_length=12, choices=Outcome, default=Outcome.RECEIVED)
    # In English: `why` translates it.
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    # How often a worker has begun to process it, if the first attempt was not the last.
    attempt_count = models.PositiveSmallIntegerField(_("attempts"), default=0)
    # The person who retried or discarded it.
    decided_by = models.CharField(_("decided by"), max_length=150, blank=True)
    message = models.ForeignKey(
        Message,
        models.SET_NULL,
        null=True,
        related_name="received_mails",
        verbose_name=pgettext_lazy("of a ticket", "message"),
    )
    received_at = models.DateTimeField(_("received"), default=timezone.now)

    objects = ReceivedMailQuerySet.as_manager()

    class Meta:
        verbose_name = _("received mail")
        verbose_name_plural = _("received mail")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["sha256", "queue"], nulls_distinct=False, name="receivedmail_is_unique")
        ]
        indexes = [
            models.Index(fields=["header_id"], condition=~Q(header_id=""), name="receivedmail_header_id"),
            models.Index(
                fields=["-id"], condition=Q(outcome__in=["received", "quarantined"]), name="receivedmail_open"
            ),
            models.Index(
                fields=["sender", "received_at"],
                opclasses=["varchar_pattern_ops", "timestamptz_ops"],
                name="receivedmail_address",
            ),
            models.Index(fields=["-id"], condition=Q(outcome="ignored"), name="receivedmail_ignored"),
            models.Index(fields=["-id"], condition=Q(outcome="spam"), name="receivedmail_spam"),
            models.Index(fields=["queue", "-id"], name="receivedmail_of_queue"),
            models.Index(fields=["-received_at", "-id"], name="receivedmail_newest"),
        ]

    def __str__(self) -> str:
        return self.subject or f"{self.sender}, {timezone.localtime(self.received_at):%Y-%m-%d %H:%M}".removeprefix(
            ", "
        )

    @property
    def why(self) -> str:
        """The reason, in the language of the reader."""
        return translated(self.reason)

    def open_raw(self) -> "File[bytes]":
        """Open the raw mail. A row without a path has none."""
        return default_storage.open(self.path)
