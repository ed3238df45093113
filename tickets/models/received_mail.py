from collections.abc import Sequence
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop, pgettext_lazy

from callcentre.core.actor import Actor
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid
from callcentre.models import still_there
from tickets.models.message import Message
from tickets.models.ticket_queue import TicketQueue
from tickets.reasons import translated


class ReceivedMailQuerySet(models.QuerySet["ReceivedMail"]):
    def quarantined(self) -> "ReceivedMailQuerySet":
        return self.filter(outcome=ReceivedMail.Outcome.QUARANTINED)


class ReceivedMail(models.Model):
    """A mail as it came, whole, and what became of it. The same mail twice is one row.

    In quarantine is what could not become a message: with the reason, until a person has it tried again or discards
    it. A row without a path stands for a mail that is in its mailbox only: the server did not give it out, or it is
    larger than may be.
    """

    class Outcome(models.TextChoices):
        RECEIVED = "received", _("received")
        STORED = "stored", _("became a message")
        IGNORED = "ignored", _("needs no message")
        QUARANTINED = "quarantined", _("in quarantine")
        DELETED = "deleted", _("deleted")

    # Of the raw mail, together with the queue: how a mail that comes twice is known. `uid:<validity>:<uid>` of one that
    # is in its mailbox only.
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
    subject = models.CharField(pgettext_lazy("of a mail", "subject"), max_length=500, blank=True)
    # Lower-cased addresses of To and Cc: whom a reply to all goes to.
    recipients = ArrayField(models.CharField(max_length=320), default=list, blank=True)
    # Of all that it says and has in it: the same in whatever way it came; "" where it was not read.
    content_sha256 = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    # Of the raw mail in the storage, and its size in bytes.
    path = models.CharField(max_length=200, blank=True)
    size = models.BigIntegerField(_("size in bytes"))
    # Where in the mailbox of the queue it was; NULL for one that was handed in.
    imap_validity = models.BigIntegerField(null=True, editable=False)
    imap_uid = models.BigIntegerField(null=True, editable=False)
    outcome = models.CharField(_("outcome"), max_length=12, choices=Outcome, default=Outcome.RECEIVED)
    # In English: `why` translates it.
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    # How often somebody began to make a message of it, where the first time was not the last.
    attempt_count = models.PositiveSmallIntegerField(_("attempts"), default=0)
    # Who decided by hand what becomes of it.
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
            models.Index(fields=["sender", "received_at"], name="receivedmail_sender"),
            models.Index(fields=["-id"], condition=Q(outcome="ignored"), name="receivedmail_ignored"),
            models.Index(fields=["queue", "-id"], name="receivedmail_of_queue"),
        ]

    def __str__(self) -> str:
        return self.subject or f"{self.sender}, {timezone.localtime(self.received_at):%Y-%m-%d %H:%M}".removeprefix(
            ", "
        )

    @property
    def why(self) -> str:
        """The reason in the reader's language."""
        return translated(self.reason)

    def open_raw(self) -> "File[bytes]":
        """The mail as it came. There is none where it has no path."""
        return default_storage.open(self.path)

    def retry(self, actor: Actor) -> None:
        """A person has it tried again: at once; or with the next poll, where it is in its mailbox only."""
        with transaction.atomic():
            locked = self._lock()
            outcome, reason = self.Outcome.RECEIVED, ""
            if not locked.path:
                locked._ask_for_again()
                outcome, reason = self.Outcome.IGNORED, gettext_noop("it is fetched again")
            locked._decide(actor, outcome=outcome, reason=reason, attempt_count=0)
            if locked.path:
                enqueue("tickets.process_mail", self.pk)
        self.refresh_from_db()

    def discard(self, actor: Actor, reason: str, faults: Sequence[Fault] = ()) -> None:
        """A person says that it needs no message, and why. It is kept."""
        faults = list(faults)
        if not reason.strip():
            faults.append(Fault(ErrorCode.EMPTY, "reason"))
        if faults:
            raise Invalid(faults)
        with transaction.atomic():
            self._lock()._decide(actor, outcome=self.Outcome.IGNORED, reason=reason.strip()[:500])
        self.refresh_from_db()

    def _lock(self) -> "ReceivedMail":
        """Ours until the transaction ends. Raises Conflict where it is not in quarantine any more."""
        locked = still_there(ReceivedMail.objects.select_for_update(no_key=True, of=("self",)).filter(pk=self.pk))
        if locked.outcome != self.Outcome.QUARANTINED:
            raise Conflict(ErrorCode.MAIL_NOT_QUARANTINED)
        return locked

    def _ask_for_again(self) -> None:
        queue = TicketQueue.objects.select_for_update(no_key=True, of=("self",)).get(received_mails=self)
        if queue.imap_validity != self.imap_validity or self.imap_uid is None:
            raise Conflict(ErrorCode.MAIL_OUT_OF_REACH)
        queue.imap_pending = sorted({*queue.imap_pending, self.imap_uid})
        queue.save(update_fields=["imap_pending"])

    def _decide(self, actor: Actor, **values: Any) -> None:
        values["decided_by"] = actor.name[:150]
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=list(values))
