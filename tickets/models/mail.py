"""Mail and messages that leave, and mail that came."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.crypto import EncryptedTextField
from callcentre.models import TimestampedModel
from tickets.models.message import Message
from tickets.models.ticket import Source
from tickets.models.ticket_queue import TicketQueue


class Dispatch(models.Model):
    """A message on its way out: by mail, or to the endpoint of a marketplace. One row per message.

    QUEUED rows are due at `next_attempt_at`; a worker claims one by pushing that past a lease. Once the server has
    begun to receive the message (`begun_at`) and the worker dies, nobody knows whether it arrived: FAILED with
    `is_unknown`, and only a person sends it again.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        SENT = "sent", _("sent")
        FAILED = "failed", _("failed")

    message = models.OneToOneField(Message, models.CASCADE, related_name="dispatch", verbose_name=_("message"))
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.QUEUED)
    recipients = ArrayField(models.CharField(max_length=320), default=list, blank=True, verbose_name=_("to"))
    copies = ArrayField(models.CharField(max_length=320), default=list, blank=True, verbose_name=_("copy"))
    # The Message-ID header, without its brackets; "" for a marketplace.
    header_id = models.CharField(max_length=255, blank=True)
    attempt_count = models.PositiveSmallIntegerField(_("attempts"), default=0)
    next_attempt_at = models.DateTimeField(_("next attempt"), null=True)
    begun_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(_("sent"), null=True)
    is_unknown = models.BooleanField(_("outcome unknown"), default=False)
    error = models.CharField(_("error"), max_length=500, blank=True)
    bounced_at = models.DateTimeField(_("bounced"), null=True)

    class Meta:
        verbose_name = _("dispatch")
        verbose_name_plural = _("dispatches")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["header_id"], condition=~Q(header_id=""), name="dispatch_header_id_is_unique"
            ),
            models.CheckConstraint(
                name="dispatch_queued_is_due", condition=~Q(state="queued") | Q(next_attempt_at__isnull=False)
            ),
        ]
        indexes = [
            models.Index(fields=["next_attempt_at"], condition=Q(state="queued"), name="dispatch_due"),
            models.Index(fields=["-id"], condition=Q(state="failed"), name="dispatch_failed"),
        ]

    def __str__(self) -> str:
        return self.header_id or f"→ {self.pk}"


class ReceivedMail(models.Model):
    """A mail as it came, whole, and what became of it. The same mail twice is one row.

    In quarantine is what could not become a message: with the reason, and to be tried again by a person.
    """

    class Outcome(models.TextChoices):
        RECEIVED = "received", _("received")
        STORED = "stored", _("became a message")
        IGNORED = "ignored", _("needs no message")
        QUARANTINED = "quarantined", _("in quarantine")

    # Of the raw mail, together with the queue: how a mail that comes twice is known.
    sha256 = models.CharField(max_length=64)
    queue = models.ForeignKey(
        TicketQueue,
        models.PROTECT,
        null=True,
        related_name="received_mails",
        db_index=False,
        verbose_name=_("ticket queue"),
    )
    # Headers, as far as they could be read.
    header_id = models.CharField(max_length=255, blank=True)
    sender = models.CharField(_("from"), max_length=320, blank=True)
    subject = models.CharField(_("subject"), max_length=500, blank=True)
    # Of the raw mail in the storage, and its size in bytes.
    path = models.CharField(max_length=200)
    size = models.BigIntegerField(_("size in bytes"))
    outcome = models.CharField(_("outcome"), max_length=12, choices=Outcome, default=Outcome.RECEIVED)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    message = models.ForeignKey(
        Message, models.SET_NULL, null=True, related_name="received_mails", verbose_name=_("message")
    )
    received_at = models.DateTimeField(_("received"), default=timezone.now)

    class Meta:
        verbose_name = _("received mail")
        verbose_name_plural = _("received mails")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["sha256", "queue"], nulls_distinct=False, name="receivedmail_is_unique")
        ]
        indexes = [
            models.Index(fields=["header_id"], condition=~Q(header_id=""), name="receivedmail_header_id"),
            models.Index(
                fields=["-id"], condition=Q(outcome__in=["received", "quarantined"]), name="receivedmail_open"
            ),
        ]

    def __str__(self) -> str:
        return self.subject or self.header_id


class CannedReply(TimestampedModel):
    """A text that agents put into their replies."""

    name = models.CharField(_("name"), max_length=100, unique=True)
    # NULL: for tickets of any queue.
    queue = models.ForeignKey(
        TicketQueue,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="canned_replies",
        verbose_name=_("ticket queue"),
    )
    body = models.TextField(_("text"), help_text=_("HTML."))

    class Meta:
        verbose_name = _("canned reply")
        verbose_name_plural = _("canned replies")
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name


class Marketplace(TimestampedModel):
    """Where replies to tickets of a marketplace go: an HTTP endpoint that takes them as JSON."""

    source = models.CharField(_("source"), max_length=20, choices=Source, unique=True)
    url = models.URLField(_("address"))
    http_auth_user = models.CharField(_("user"), max_length=200, blank=True)
    http_auth_password = EncryptedTextField(_("password"), blank=True)
    is_active = models.BooleanField(_("active"), default=True)

    class Meta:
        verbose_name = _("marketplace")
        verbose_name_plural = _("marketplaces")
        ordering = ["source"]
        constraints = [
            models.CheckConstraint(
                name="marketplace_source_is_one",
                condition=Q(source__in=[Source.MARKETPLACE_MESSAGE, Source.MARKETPLACE_DISPUTE]),
            )
        ]

    def __str__(self) -> str:
        return self.get_source_display()


class Rating(models.Model):
    """What a customer thought of a reply, 1 to 5: given through a signed link in the mail, once per reply."""

    message = models.OneToOneField(Message, models.CASCADE, related_name="rating", verbose_name=_("message"))
    value = models.PositiveSmallIntegerField(_("rating"))
    given_at = models.DateTimeField(_("given"), default=timezone.now)

    class Meta:
        verbose_name = _("rating")
        verbose_name_plural = _("ratings")
        ordering = ["-id"]
        constraints = [models.CheckConstraint(name="rating_is_1_to_5", condition=Q(value__range=(1, 5)))]

    def __str__(self) -> str:
        return str(self.value)
