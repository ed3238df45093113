from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from callcentre.core.encryption import EncryptedTextField
from tickets.models.ticket_queue import TicketQueue

# A token is renewed this long before it expires.
AHEAD = timedelta(minutes=10)


@audited(
    part_of="queue", ignored=("access_token", "refresh_token", "expires_at", "error", "state", "verifier", "begun_at")
)
class MailboxGrant(models.Model):
    """The access to a queue's mailbox that Google or Microsoft has granted, as tokens (RFC 6749).

    `refresh_token` is of a person's consent; applications and service accounts have none. While a person is at the
    provider, `state` (as a checksum) and `verifier` (PKCE, RFC 7636) wait for the return.
    """

    queue = models.OneToOneField(
        TicketQueue, models.CASCADE, primary_key=True, related_name="grant", verbose_name=_("ticket queue")
    )
    access_token = EncryptedTextField(blank=True, default="")
    refresh_token = EncryptedTextField(blank=True, default="")
    expires_at = models.DateTimeField(null=True)
    # Why the provider gives no token, in English; it is asked again.
    error = models.CharField(_("error"), max_length=500, blank=True, default="")
    granted_by = models.CharField(_("granted by"), max_length=150, blank=True, default="")
    granted_at = models.DateTimeField(_("granted"), null=True)
    state = models.CharField(max_length=64, blank=True, default="")
    verifier = EncryptedTextField(blank=True, default="")
    begun_by = models.CharField(max_length=150, blank=True, default="")
    begun_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("access to a mailbox")
        verbose_name_plural = _("accesses to mailboxes")
        ordering = ["queue_id"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["state"], condition=~models.Q(state=""), name="mailboxgrant_state_is_unique"
            )
        ]

    def __str__(self) -> str:
        return str(self.queue_id)

    def is_good_until(self, instant: datetime) -> bool:
        return bool(self.access_token) and self.expires_at is not None and self.expires_at > instant

    @property
    def is_due(self) -> bool:
        """Whether its token is to be renewed."""
        return not self.is_good_until(timezone.now() + AHEAD)
