from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.due_work import DueQuerySet, DueWork, Retries
from callcentre.core.mail_outbox import QueuedMail
from callcentre.core.scope import Lookups
from tickets.models.message import Message
from tickets.models.ticket import Source

UNKNOWN = "outcome unknown"


class Dispatch(DueWork):
    """The sending of one message, by mail or to the endpoint of a marketplace.

    If its worker dies after the server has begun to receive the message (`begun_at`), the outcome is unknown: the row
    is FAILED with `is_unknown`, and only a person may send it again. WRITTEN is a mail that a service without a mail
    server has written to a file.

    A server may accept some recipients and refuse others. Each attempt goes to the `addressees`: the recipients that
    the server has neither accepted nor refused yet. QUEUED with `accepted` waits for another attempt for them.
    """

    scope_lookups: ClassVar[Lookups] = {"scope_ticket_queues": "message__ticket__queue_id"}
    delays = Retries.MESSAGE
    task = "tickets.dispatch"

    State = QueuedMail.State

    message = models.OneToOneField(
        Message, models.CASCADE, related_name="dispatch", verbose_name=pgettext_lazy("of a ticket", "message")
    )
    # The source of the ticket when the message was written. It stays if the ticket is merged into another one.
    source = models.CharField(_("source"), max_length=20, choices=Source, default=Source.EMAIL)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.QUEUED)
    recipients = ArrayField(models.CharField(max_length=320), default=list, blank=True, verbose_name=_("to"))
    copies = ArrayField(models.CharField(max_length=320), default=list, blank=True, verbose_name=_("Cc"))
    # The Message-ID header, without its brackets; "" for a marketplace.
    header_id = models.CharField(max_length=255, blank=True)
    queued_at = models.DateTimeField(_("queued"), default=timezone.now)
    begun_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(_("sent"), null=True)
    is_unknown = models.BooleanField(_("outcome unknown"), default=False)
    # The recipients and copies that a server accepted, and those that it refused for good -> why.
    accepted = ArrayField(models.CharField(max_length=320), default=list, blank=True, editable=False)
    refused = models.JSONField(default=dict, blank=True, editable=False)
    # Why it failed or waits; if it was sent, which recipients were refused.
    error = models.CharField(_("error"), max_length=500, blank=True)
    bounced_at = models.DateTimeField(_("bounced"), null=True)

    objects = DueQuerySet.as_manager()

    class Meta:
        verbose_name = _("outgoing message")
        verbose_name_plural = _("outgoing messages")
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
            models.Index(fields=["-id"], condition=Q(state="written"), name="dispatch_written"),
            models.Index(fields=["-id"], condition=Q(bounced_at__isnull=False), name="dispatch_bounced"),
            models.Index(fields=["-id"], condition=~Q(refused={}), name="dispatch_refused"),
            models.Index(fields=["-queued_at", "-id"], name="dispatch_newest"),
        ]

    def __str__(self) -> str:
        whom = self.recipients[0] if self.recipients else self.get_source_display()
        more = f" + {len(self.recipients) - 1}" if len(self.recipients) > 1 else ""
        return f"{whom}{more}, {timezone.localtime(self.queued_at):%Y-%m-%d %H:%M}"

    def given_up(self, error: str) -> dict[str, Any]:
        if self.begun_at is not None and not error:
            # The worker died while the server received the message.
            return {"state": self.State.FAILED, "is_unknown": True, "error": UNKNOWN}
        return super().given_up(error)

    @property
    def is_mail(self) -> bool:
        return self.source == Source.EMAIL

    @property
    def addressees(self) -> list[str]:
        """The recipients of the next attempt: each address once, without accepted and refused ones."""
        over = {each.lower() for each in (*self.accepted, *self.refused)}
        named: dict[str, str] = {}
        for each in (*self.recipients, *self.copies):
            named.setdefault(each.lower(), each)
        return [each for key, each in named.items() if key not in over]

    @property
    def condition(self) -> str:
        """The state in words, for people."""
        if self.bounced_at is not None:
            return str(_("bounced"))
        if self.is_unknown:
            return str(_("failed: outcome unknown"))
        if self.state == self.State.QUEUED and self.accepted:
            return _now("sent, but not yet to %(who)s") % {"who": ", ".join(self.addressees)}
        if self.state == self.State.QUEUED and self.error:
            return str(_("waits for another attempt"))
        if self.state == self.State.SENT and self.refused:
            return _now("sent, but not to %(who)s") % {"who": ", ".join(self.refused)}
        return str(self.get_state_display())

    @property
    def may_be_resent(self) -> bool:
        """Whether it may be sent again: it waits, failed or bounced, or some recipients were refused."""
        if self.state == self.State.QUEUED:
            return self.begun_at is None
        return self.state == self.State.FAILED or self.bounced_at is not None or bool(self.refused)


def refusals_in_words(refused: Mapping[str, str]) -> str:
    """Return the refused recipients and the reasons as one line."""
    return "; ".join(f"{recipient}: {reason}" for recipient, reason in refused.items())[:500]
