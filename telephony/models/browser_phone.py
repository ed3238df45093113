import uuid
from datetime import datetime, timedelta

from django.db import models
from django.utils.translation import gettext_lazy as _

from callcentre.core.encryption import EncryptedTextField
from telephony.models.agent import Agent

# What a window reports that has no microphone: there is none, the browser refuses it, the page has no HTTPS.
NO_MICROPHONE = ("microphone", "denied", "insecure")
# A window reports every five seconds; it is away after this time.
AWAY_AFTER = timedelta(seconds=15)


class BrowserPhoneQuerySet(models.QuerySet["BrowserPhone"]):
    def ready(self) -> "BrowserPhoneQuerySet":
        """Phones that the switch reaches, and that have a microphone."""
        return self.filter(registered_at__isnull=False).exclude(trouble__in=NO_MICROPHONE)


class BrowserPhone(models.Model):
    """The phone in an agent's browser, from the opening of its window until it is closed or the agent logs out.

    The password is made for one window: the next window that opens gets another one, and its `token`. `registered_at`
    is set while the switch reaches the window; without it the agent gets no calls. `closed_at` is set while there is no
    such phone. `trouble` is what the window lacks, for example a microphone; `seen_at` is when it last reported.
    """

    class State(models.TextChoices):
        READY = "ready", _("phone: ready")
        UNREGISTERED = "unregistered", _("phone: not registered")
        MICROPHONE = "microphone", _("phone: no microphone")
        DENIED = "denied", _("phone: the browser refuses the microphone")
        INSECURE = "insecure", _("phone: no microphone without HTTPS")
        AWAY = "away", _("phone: away")
        CLOSED = "closed", _("phone: not open")

    agent = models.OneToOneField(Agent, models.PROTECT, primary_key=True, related_name="browser_phone")
    token = models.UUIDField(default=uuid.uuid4)
    password = EncryptedTextField()
    opened_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    registered_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    trouble = models.CharField(max_length=20, blank=True, default="", db_default="")

    objects = BrowserPhoneQuerySet.as_manager()

    class Meta:
        ordering = ["agent"]
        default_permissions = ()
        indexes = [models.Index(fields=["agent"], condition=models.Q(closed_at=None), name="browserphone_open")]

    def __str__(self) -> str:
        return str(self.agent_id)

    def state_at(self, now: datetime) -> str:
        """Return the state that supervisors see."""
        is_away = self.seen_at < now - AWAY_AFTER
        if self.trouble in NO_MICROPHONE and not is_away:
            return self.trouble
        if self.closed_at:
            return self.State.CLOSED
        if self.registered_at:
            return self.State.READY
        return self.State.AWAY if is_away else self.State.UNREGISTERED


# Whether an agent `a` may be rung: the phone in the browser is registered and has a microphone, or it is another phone.
PHONE_IS_READY = f"""(NOT a.uses_browser_phone OR EXISTS (
  SELECT FROM telephony_browserphone p
  WHERE p.agent_id = a.id AND p.registered_at IS NOT NULL AND p.trouble NOT IN {NO_MICROPHONE}))"""
