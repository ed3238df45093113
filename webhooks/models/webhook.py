from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.changes import Change, TimestampedModel
from callcentre.core.encryption import EncryptedTextField
from callcentre.core.scope import WITHOUT_SCOPE_ONLY, Lookups
from webhooks.event_types import event_choices
from webhooks.signing import new_secret


def default_format() -> str:
    return str(settings.WEBHOOK_DEFAULT_FORMAT)


class WebhookQuerySet(models.QuerySet["Webhook"]):
    def active(self) -> "WebhookQuerySet":
        return self.registered().filter(is_active=True)

    def registered(self) -> "WebhookQuerySet":
        return self.filter(deleted_at=None)

    def unpaused(self) -> "WebhookQuerySet":
        return self.filter(Q(open_until=None) | Q(open_until__lte=Now()))

    def troubled(self) -> "WebhookQuerySet":
        """Return the webhooks whose receivers get no events, or fail."""
        return self.registered().filter(Q(is_active=False) | Q(failing_since__isnull=False))

    def purgeable(self) -> "WebhookQuerySet":
        return self.exclude(deleted_at=None)


class Webhook(TimestampedModel):
    """The registration of a receiver: `subscription_url` gets each event with an action in `actions`.

    Deliveries are signed with `secret`; after a rotation the previous secret signs too for a while. An inactive webhook
    gets no new deliveries. The answer 410, or five days of failures only, make it inactive (`disabled_because`).
    """

    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY

    class Format(models.TextChoices):
        JSON = "json", _("JSON")
        FORM = "form", _("form")

    class Reason(models.TextChoices):
        PERSON = "person", _("a person or program disabled it")
        GONE = "gone", _("the receiver answered 410: it wants no more")
        FAILING = "failing", _("nothing but failures for five days")

    actions = ArrayField(models.CharField(max_length=50, choices=event_choices), verbose_name=_("actions"))
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
    # The time to tell supervisors that the service disabled it. NULL: they know, or a person disabled it.
    notice_due_at = models.DateTimeField(null=True, editable=False)
    # Set on removal. A task then deletes deliveries and attempts, and at last this row.
    deleted_at = models.DateTimeField(null=True, editable=False)
    # Health. `failing_since` is the first failure after the last success; NULL for a healthy receiver.
    failing_since = models.DateTimeField(_("failing since"), null=True, editable=False)
    last_success_at = models.DateTimeField(_("last success"), null=True, editable=False)
    # Circuit breaker: nothing is sent until then. After it, one delivery is tried.
    open_until = models.DateTimeField(_("paused until"), null=True, editable=False)
    failures_in_a_row = models.PositiveIntegerField(_("failures in a row"), default=0, editable=False)

    objects = WebhookQuerySet.as_manager()

    class Meta:
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.pk} {self.subscription_url}"

    @property
    def is_paused(self) -> bool:
        return self.open_until is not None and self.open_until > timezone.now()

    @property
    def is_suspect(self) -> bool:
        """Whether the last answer was a failure of the receiver, so that it may hang now."""
        return self.failures_in_a_row > 0

    @property
    def signing_secrets(self) -> list[str]:
        until = self.previous_secret_expires_at
        overlapping = [self.previous_secret] if self.previous_secret and until and timezone.now() < until else []
        return [self.secret, *overlapping]


class WebhookChange(Change):
    """One row of a webhook's history: created, edited, disabled and why, enabled, secret shown or rotated, removed."""

    scope_lookups: ClassVar[Lookups] = WITHOUT_SCOPE_ONLY

    webhook = models.ForeignKey(
        Webhook, models.DO_NOTHING, db_constraint=False, related_name="history", verbose_name=_("webhook")
    )

    class Meta:
        verbose_name = _("change of a webhook")
        verbose_name_plural = _("changes of webhooks")
        ordering = ["-id"]
        indexes = [models.Index(fields=["-at"], name="webhookchange_at")]
