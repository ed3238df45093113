"""The state of a mailbox: the access that a provider has granted, and the last test."""

from datetime import datetime, timedelta

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.audit import audited
from callcentre.core.encryption import EncryptedTextField
from tickets.models.ticket_queue import TicketQueue
from tickets.reasons import translated

# A token is renewed this long before it expires.
AHEAD = timedelta(minutes=10)
# A test that takes longer has lost its worker, or no worker runs.
LONGEST_TEST = timedelta(minutes=2)


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


class MailboxTestQuerySet(models.QuerySet["MailboxTest"]):
    def waiting(self) -> "MailboxTestQuerySet":
        """Return tests that no worker has begun."""
        return self.filter(started_at=None, asked_at__gt=timezone.now() - LONGEST_TEST)


class MailboxTest(models.Model):
    """The last test of a queue's mailbox, with the settings as they were saved when a worker began it.

    One row a queue: another test replaces it. A person asks and a worker runs it, so that no web thread waits.
    """

    queue = models.OneToOneField(
        TicketQueue, models.CASCADE, primary_key=True, related_name="mailbox_test", verbose_name=_("ticket queue")
    )
    asked_by = models.CharField(_("asked for by"), max_length=150)
    asked_at = models.DateTimeField(_("asked for"))
    started_at = models.DateTimeField(_("started"), null=True)
    finished_at = models.DateTimeField(_("finished"), null=True)
    # The number of mails in the folder; or the error, in English.
    mail_count = models.PositiveIntegerField(_("mails"), null=True)
    unseen_count = models.PositiveIntegerField(_("unread"), null=True)
    error = models.CharField(_("error"), max_length=500, blank=True)

    objects = MailboxTestQuerySet.as_manager()

    class Meta:
        verbose_name = _("test of a mailbox")
        verbose_name_plural = _("tests of mailboxes")
        ordering = ["queue_id"]

    def __str__(self) -> str:
        return f"{self.queue_id} {self.asked_at:%Y-%m-%d %H:%M}"

    @property
    def has_ended(self) -> bool:
        """Whether it has a result, or its worker is lost."""
        return self.finished_at is not None or self.asked_at <= timezone.now() - LONGEST_TEST

    @property
    def why(self) -> str:
        """The error, in the language of the reader."""
        return translated(self.error)
