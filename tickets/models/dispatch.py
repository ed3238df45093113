from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.actor import Actor
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode, Invalid
from callcentre.models import actor_columns, still_there
from tickets.addresses import check_addresses
from tickets.models.message import Message
from tickets.models.ticket import Source, TicketChange


class DispatchQuerySet(models.QuerySet["Dispatch"]):
    def due(self, now: datetime) -> "DispatchQuerySet":
        """Those that a worker may claim."""
        return self.filter(state=Dispatch.State.QUEUED, begun_at=None, next_attempt_at__lte=now)

    def abandoned(self, now: datetime) -> "DispatchQuerySet":
        """Those whose worker died while the server was receiving the message."""
        return self.filter(state=Dispatch.State.QUEUED, begun_at__isnull=False, next_attempt_at__lte=now)


class Dispatch(models.Model):
    """A message on its way out: by mail, or to the endpoint of a marketplace. One row per message.

    QUEUED rows are due at `next_attempt_at`; a worker claims one by pushing that past a lease. Once the server has
    begun to receive the message (`begun_at`) and the worker dies, nobody knows whether it arrived: FAILED with
    `is_unknown`, and only a person sends it again. WRITTEN is what a service without a mail server makes of a mail: a
    file, which nobody was sent.

    Of several recipients a server may take some and refuse others. An attempt goes to the `addressees`, of whom nobody
    has it: QUEUED with `accepted` waits for another attempt for the rest.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        SENT = "sent", _("sent")
        WRITTEN = "written", _("written to a file, not sent")
        FAILED = "failed", _("failed")

    message = models.OneToOneField(
        Message, models.CASCADE, related_name="dispatch", verbose_name=pgettext_lazy("of a ticket", "message")
    )
    # By which way it goes, also when its ticket is merged into one of another source.
    source = models.CharField(_("source"), max_length=20, choices=Source, default=Source.EMAIL)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.QUEUED)
    recipients = ArrayField(models.CharField(max_length=320), default=list, blank=True, verbose_name=_("to"))
    copies = ArrayField(models.CharField(max_length=320), default=list, blank=True, verbose_name=_("Cc"))
    # The Message-ID header, without its brackets; "" for a marketplace.
    header_id = models.CharField(max_length=255, blank=True)
    queued_at = models.DateTimeField(_("queued"), default=timezone.now)
    attempt_count = models.PositiveSmallIntegerField(_("attempts"), default=0)
    next_attempt_at = models.DateTimeField(_("next attempt"), null=True)
    begun_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(_("sent"), null=True)
    is_unknown = models.BooleanField(_("outcome unknown"), default=False)
    # Of recipients and copies: for whom it was taken; and who was refused for good -> why.
    accepted = ArrayField(models.CharField(max_length=320), default=list, blank=True, editable=False)
    refused = models.JSONField(default=dict, blank=True, editable=False)
    # Why it failed or waits; of one that was sent, which recipients were refused.
    error = models.CharField(_("error"), max_length=500, blank=True)
    bounced_at = models.DateTimeField(_("bounced"), null=True)

    objects = DispatchQuerySet.as_manager()

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
        ]

    def __str__(self) -> str:
        whom = self.recipients[0] if self.recipients else self.get_source_display()
        more = f" + {len(self.recipients) - 1}" if len(self.recipients) > 1 else ""
        return f"{whom}{more}, {timezone.localtime(self.queued_at):%Y-%m-%d %H:%M}"

    @property
    def is_mail(self) -> bool:
        return self.source == Source.EMAIL

    @property
    def addressees(self) -> list[str]:
        """Whom the next attempt goes to: each once, without those who have it and those who were refused for good."""
        over = {each.lower() for each in (*self.accepted, *self.refused)}
        named: dict[str, str] = {}
        for each in (*self.recipients, *self.copies):
            named.setdefault(each.lower(), each)
        return [each for key, each in named.items() if key not in over]

    @property
    def condition(self) -> str:
        """What people are to know of it, in a few words."""
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
        """What was taken, or may be under way, is not sent again; what bounced is, and for whom it was refused."""
        if self.state == self.State.QUEUED:
            return self.begun_at is None
        return self.state == self.State.FAILED or self.bounced_at is not None or bool(self.refused)

    def resend(self, actor: Actor, recipients: Sequence[str] = ()) -> None:
        """A person has it sent again, now: a failed or bounced one anew, a waiting one without its pause; only to those
        whom it was not taken for. `recipients` take the place of those of them it was addressed to.

        Raises Conflict where it was sent to all, or may just be being sent.
        """
        if faults := check_addresses(recipients, "recipients"):
            raise Invalid(faults)
        with transaction.atomic():
            locked = still_there(Dispatch.objects.select_for_update(no_key=True, of=("self",)).filter(pk=self.pk))
            before, now = locked.condition, timezone.now()
            may_be_resent = locked.may_be_resent
            locked.refused = {}
            if recipients:
                locked.recipients = [each for each in locked.recipients if each in locked.accepted] + list(recipients)
            if not may_be_resent or (locked.is_mail and not locked.addressees):
                raise Conflict(ErrorCode.NOT_RESENT)
            locked._set(
                state=self.State.QUEUED,
                recipients=locked.recipients,
                refused={},
                queued_at=now,
                attempt_count=0,
                next_attempt_at=now,
                begun_at=None,
                sent_at=locked.sent_at if locked.accepted else None,
                is_unknown=False,
                error="",
                bounced_at=None,
            )
            locked._log(actor, "resend", {"state": [before, locked.condition]})
            enqueue("tickets.dispatch", self.pk)
        self.refresh_from_db()

    def bounce(self, actor: Actor, reason: str = "", addresses: Iterable[str] = ()) -> None:
        """A mail server has told us that it could not deliver it, to `addresses` where it says so. Told twice, it is
        once.
        """
        with transaction.atomic():
            locked = still_there(Dispatch.objects.select_for_update(no_key=True, of=("self",)).filter(pk=self.pk))
            named = {each.lower() for each in addresses}
            whom = [each for each in dict.fromkeys([*locked.recipients, *locked.copies]) if each.lower() in named]
            if locked.bounced_at is None or not locked.refused.keys() >= set(whom):
                before = locked.condition
                locked._set(**locked._after_bounce(whom, reason[:500]))
                locked._log(actor, "bounce", {"state": [before, locked.condition]})
        self.refresh_from_db()

    def _after_bounce(self, whom: Sequence[str], reason: str) -> dict[str, Any]:
        now = timezone.now()
        waits = self.state == self.State.QUEUED and bool(self.accepted)
        # The others were taken together with these. It may be any of them where the report names nobody.
        taken = self.accepted if waits else [*self.accepted, *self.addressees]
        refused = {**self.refused, **dict.fromkeys(whom, reason)}
        is_one = len(self.recipients) + len(self.copies) == 1
        values: dict[str, Any] = {
            "accepted": [each for each in taken if each not in whom] if whom else [],
            "refused": refused,
            "bounced_at": now,
            "error": reason if is_one or not whom else in_words(refused),
        }
        if not waits:
            # It was taken, whatever we knew of that.
            over = {"state": self.State.SENT, "next_attempt_at": None, "is_unknown": False}
            values |= {"sent_at": self.sent_at or now, **over}
        return values

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=list(values))

    def _log(self, actor: Actor, action: str, changes: dict[str, Any]) -> None:
        TicketChange.objects.create(
            ticket_id=self.message.ticket_id,
            action=action,
            changes={"message": [None, self.message_id], **changes},
            **actor_columns(actor),
        )


def in_words(refused: Mapping[str, str]) -> str:
    """Who was refused, and why."""
    return "; ".join(f"{who}: {why}" for who, why in refused.items())[:500]
