from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import Actor
from callcentre.core.encryption import EncryptedTextField
from callcentre.core.enqueue import enqueue
from callcentre.core.errors import Conflict, ErrorCode, Fault, Invalid, Outdated
from callcentre.models import Change, TimestampedModel, actor_columns, differences
from webhooks.event_types import TEST_ACTION, EventType
from webhooks.models.event import Event
from webhooks.signing import new_secret

FAILING_FOR = timedelta(days=5)
# What a receiver is that nothing bad is known of.
UNTRIED = {"failing_since": None, "open_until": None, "failures_in_a_row": 0}
# The history says that they changed, never what they are.
SECRETS = ("http_auth_user", "http_auth_password")
MASK = "***"


def default_format() -> str:
    return str(settings.WEBHOOK_DEFAULT_FORMAT)


class WebhookQuerySet(models.QuerySet["Webhook"]):
    def active(self) -> "WebhookQuerySet":
        return self.registered().filter(is_active=True)

    def registered(self) -> "WebhookQuerySet":
        return self.filter(deleted_at=None)

    def purgeable(self) -> "WebhookQuerySet":
        return self.exclude(deleted_at=None)


class Webhook(TimestampedModel):
    """A registration: whoever sits at `subscription_url` is told of each event whose action is in `actions`.

    Deliveries are signed with `secret`; a rotated one signs along with its successor for a while. An inactive webhook
    gets no new deliveries; 410, or five days of nothing but failures, make it inactive (`disabled_because`).
    """

    class Format(models.TextChoices):
        JSON = "json", _("JSON")
        FORM = "form", _("form")

    class Reason(models.TextChoices):
        PERSON = "person", _("a person or program disabled it")
        GONE = "gone", _("the receiver answered 410: it wants no more")
        FAILING = "failing", _("nothing but failures for five days")

    actions = ArrayField(models.CharField(max_length=50, choices=EventType), verbose_name=_("actions"))
    subscription_url = models.CharField(_("address"), max_length=2000)
    format = models.CharField(_("format"), max_length=4, choices=Format, default=default_format)
    http_auth_user = EncryptedTextField(_("user"), blank=True)
    http_auth_password = EncryptedTextField(_("password"), blank=True)
    secret = EncryptedTextField(default=new_secret, editable=False)
    previous_secret = EncryptedTextField(blank=True, editable=False)
    previous_secret_expires_at = models.DateTimeField(_("old secret signs until"), null=True, editable=False)
    is_active = models.BooleanField(_("active"), default=True, editable=False)
    disabled_because = models.CharField(_("why disabled"), max_length=10, choices=Reason, blank=True, editable=False)
    disabled_at = models.DateTimeField(_("disabled"), null=True, editable=False)
    # Nobody chose to disable it, and supervisors are still to be told: when that is tried (again). NULL: they know.
    notice_due_at = models.DateTimeField(null=True, editable=False)
    # Removed: its deliveries and attempts are cleared away in the background, then this row.
    deleted_at = models.DateTimeField(null=True, editable=False)
    # Health. `failing_since` is the first failure after the last success; NULL for a healthy receiver.
    failing_since = models.DateTimeField(_("failing since"), null=True, editable=False)
    last_success_at = models.DateTimeField(_("last success"), null=True, editable=False)
    # Circuit breaker: until then nothing is sent; then one delivery tries.
    open_until = models.DateTimeField(_("paused until"), null=True, editable=False)
    failures_in_a_row = models.PositiveIntegerField(_("failures in a row"), default=0, editable=False)

    objects = WebhookQuerySet.as_manager()

    class Meta:
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.pk} {self.subscription_url}"

    @classmethod
    def create(cls, actor: Actor, faults: Sequence[Fault] = (), **values: Any) -> "Webhook":
        if faults:
            raise Invalid(faults)
        with transaction.atomic():
            webhook = cls.objects.create(**values)
            webhook._log(actor, "create")
        return webhook

    def edit(self, actor: Actor, faults: Sequence[Fault] = (), **values: Any) -> None:
        """Change what the receiver is told, and where. Health is of an address: a new one starts untried.

        A stored password goes to the address that it was entered for: a new address needs it again.
        """
        if faults:
            raise Invalid(faults)
        with transaction.atomic():
            locked = self._hold()
            changes = differences(locked, values)
            if "subscription_url" in changes and locked.http_auth_password and "http_auth_password" not in values:
                raise Invalid([Fault(ErrorCode.PASSWORD_AGAIN, "http_auth_password")])
            if not changes:
                return
            self._set(**values, **(UNTRIED if "subscription_url" in changes else {}))
            for name in changes.keys() & set(SECRETS):
                changes[name] = [value and MASK for value in changes[name]]
            self._log(actor, "edit", changes)
            enqueue("webhooks.deliver", self.pk)

    def remove(self, actor: Actor) -> None:
        """Forget the registration: nothing more is sent, and what was is cleared away by and by. Again: nothing."""
        with transaction.atomic():
            if self._held() is None:
                return
            self._set(
                is_active=False,
                deleted_at=timezone.now(),
                notice_due_at=None,
                http_auth_user="",
                http_auth_password="",
                previous_secret="",
            )
            self._log(actor, "remove")
            enqueue("webhooks.purge", self.pk)

    def enable(self, actor: Actor) -> None:
        """Send to it again, what is due first."""
        with transaction.atomic():
            self._hold()
            self._set(is_active=True, disabled_because="", disabled_at=None, notice_due_at=None, **UNTRIED)
            self._log(actor, "enable")
            enqueue("webhooks.deliver", self.pk)

    def disable(self, actor: Actor, reason: str = Reason.PERSON) -> None:
        """Send nothing to it until it is enabled; what is due waits. One that was removed is sent nothing already."""
        with transaction.atomic():
            if self._held() is None:
                return
            now = timezone.now()
            is_notice_due = reason != self.Reason.PERSON
            self._set(
                is_active=False,
                disabled_because=reason,
                disabled_at=now,
                notice_due_at=now if is_notice_due else None,
            )
            self._log(actor, f"disable: {reason}")
            if is_notice_due:
                enqueue("webhooks.notify_disabled", self.pk)

    def rotate_secret(self, actor: Actor, overlap: timedelta = timedelta(hours=24), version: str = "") -> str:
        """Return a new secret; the old one signs as well until the overlap is over.

        Raises Outdated where the webhook is not at this version any more: two rotations at once would leave one of the
        two new secrets dead. Raises Conflict where it was removed.
        """
        with transaction.atomic():
            locked = self._hold()
            if version and version != locked.version:
                raise Outdated
            self._set(
                previous_secret=locked.secret,
                previous_secret_expires_at=timezone.now() + overlap,
                secret=new_secret(),
            )
            self._log(actor, "rotate_secret")
        return str(self.secret)

    def show_secret(self, actor: Actor) -> str:
        """To be put into the receiver. Who has seen it is kept: once an hour, for a program may ask all the time."""
        an_hour_ago = timezone.now() - timedelta(hours=1)
        seen = self.history.filter(action="show_secret", at__gt=an_hour_ago, **actor_columns(actor))
        if not seen.exists():
            self._log(actor, "show_secret")
        return str(self.secret)

    def send_test(self, actor: Actor) -> None:
        """Tell this webhook alone that somebody tries it; a receiver that is left alone for a while is tried now."""
        with transaction.atomic():
            self._hold()
            event = Event.objects.create(
                event_id=uuid4(),
                action=TEST_ACTION,
                subject=f"webhook:{self.pk}",
                payload={"webhook_id": self.pk, "requested_by": actor.name},
            )
            self.deliveries.create(event=event, next_attempt_at=Now())
            self.try_now()

    def try_now(self) -> None:
        """Send what is due without waiting for the end of a pause."""
        with transaction.atomic():
            Webhook.objects.filter(pk=self.pk, open_until__gt=Now()).update(open_until=Now())
            enqueue("webhooks.deliver", self.pk)

    @property
    def is_paused(self) -> bool:
        return self.open_until is not None and self.open_until > timezone.now()

    @property
    def is_suspect(self) -> bool:
        """Whether the last answer was a failure of the receiver, so that it may hang now."""
        return self.failures_in_a_row > 0

    def give_up_if(self, actor: Actor, *, is_gone: bool) -> None:
        """Disable a receiver that wants no more, or has failed for five days; supervisors are told."""
        now = Webhook.objects.active().filter(pk=self.pk).first()
        has_failed_long = now and now.failing_since and timezone.now() - now.failing_since > FAILING_FOR
        if now and (is_gone or has_failed_long):
            self.disable(actor, self.Reason.GONE if is_gone else self.Reason.FAILING)

    @property
    def signing_secrets(self) -> list[str]:
        until = self.previous_secret_expires_at
        overlapping = [self.previous_secret] if self.previous_secret and until and timezone.now() < until else []
        return [self.secret, *overlapping]

    def _hold(self) -> "Webhook":
        """The row as it is now, ours until the transaction ends. Raises Conflict where it was removed meanwhile."""
        if (locked := self._held()) is None:
            raise Conflict(ErrorCode.CONFLICT)
        return locked

    def _held(self) -> "Webhook | None":
        """Likewise; None where it was removed."""
        return Webhook.objects.registered().select_for_update(no_key=True).filter(pk=self.pk).first()

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        self.save(update_fields=[*values, "updated_at"])

    def _log(self, actor: Actor, action: str, changes: dict[str, Any] | None = None) -> None:
        self.history.create(action=action, changes=changes or {}, **actor_columns(actor))


class WebhookChange(Change):
    """What happened to a webhook: created, edited, disabled and why, enabled, secret shown or rotated; who did it."""

    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="history", verbose_name=_("webhook"))

    class Meta:
        verbose_name = _("change of a webhook")
        verbose_name_plural = _("changes of webhooks")
        ordering = ["-id"]
