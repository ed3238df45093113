import uuid

from django.db import models

from callcentre.core.encryption import EncryptedTextField
from telephony.models.agent import Agent


class BrowserPhone(models.Model):
    """The phone in an agent's browser, from the opening of its window until it is closed or the agent logs out.

    The password is made for one window: the next window that opens gets another one, and its `token`. `registered_at`
    is set while the switch reaches the window; without it the agent gets no calls. `closed_at` is set while there is no
    such phone. `trouble` is what the window lacks, for example a microphone.
    """

    agent = models.OneToOneField(Agent, models.PROTECT, primary_key=True, related_name="browser_phone")
    token = models.UUIDField(default=uuid.uuid4)
    password = EncryptedTextField()
    opened_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    registered_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    trouble = models.CharField(max_length=20, blank=True, default="", db_default="")

    class Meta:
        ordering = ["agent"]
        default_permissions = ()
        indexes = [models.Index(fields=["agent"], condition=models.Q(closed_at=None), name="browserphone_open")]

    def __str__(self) -> str:
        return str(self.agent_id)


# Whether an agent `a` may be rung: the phone in the browser is registered, or it is another phone.
PHONE_IS_READY = """(NOT a.uses_browser_phone OR EXISTS (
  SELECT FROM telephony_browserphone p WHERE p.agent_id = a.id AND p.registered_at IS NOT NULL))"""
