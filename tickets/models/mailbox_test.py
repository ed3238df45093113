"""Tests of mailboxes. A person asks for one and a worker runs it, so that no web thread waits for a mail server."""

from datetime import timedelta

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from tickets.models.ticket_queue import TicketQueue
from tickets.reasons import translated

# A test that takes longer has lost its worker, or no worker runs.
LONGEST = timedelta(minutes=2)


class MailboxTestQuerySet(models.QuerySet["MailboxTest"]):
    def waiting(self) -> "MailboxTestQuerySet":
        """Return tests that no worker has begun."""
        return self.filter(started_at=None, asked_at__gt=timezone.now() - LONGEST)


class MailboxTest(models.Model):
    """The last test of a queue's mailbox, with the settings as they were saved when a worker began it.

    One row a queue: another test replaces it.
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
        return self.finished_at is not None or self.asked_at <= timezone.now() - LONGEST

    @property
    def why(self) -> str:
        """The error, in the language of the reader."""
        return translated(self.error)
