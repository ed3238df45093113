"""Tests of mailboxes: asked for by a person, made by a worker, so that no web thread waits for a mail server."""

from datetime import timedelta

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from callcentre.core.actor import Actor
from callcentre.core.enqueue import enqueue
from tickets.models.ticket_queue import TicketQueue
from tickets.reasons import translated

# A test that has not ended by then has lost its worker, or waits for one in vain.
LONGEST = timedelta(minutes=2)


class MailboxTestQuerySet(models.QuerySet["MailboxTest"]):
    def waiting(self) -> "MailboxTestQuerySet":
        """Tests that no worker has begun."""
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
    # Mails in the folder, where it could be opened; else why not, in English.
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

    @classmethod
    def ask(cls, actor: Actor, queue: TicketQueue) -> None:
        """Have a worker test the mailbox; a test that is under way is left to end."""
        running = cls.objects.filter(pk=queue.pk, finished_at=None, asked_at__gt=timezone.now() - LONGEST)
        if running.exists():
            return
        values = {
            "asked_by": actor.name[:150],
            "asked_at": timezone.now(),
            "started_at": None,
            "finished_at": None,
            "mail_count": None,
            "unseen_count": None,
            "error": "",
        }
        cls.objects.update_or_create(queue=queue, defaults=values)
        enqueue("tickets.test_mailbox", queue.pk)

    @property
    def has_ended(self) -> bool:
        return self.finished_at is not None or self.is_lost

    @property
    def is_lost(self) -> bool:
        return self.finished_at is None and self.asked_at <= timezone.now() - LONGEST

    @property
    def why(self) -> str:
        """The error in the reader's language."""
        return translated(self.error)

    def begin(self) -> bool:
        """Take the test for this worker; return whether no other worker had it."""
        return bool(MailboxTest.objects.waiting().filter(pk=self.pk).update(started_at=timezone.now()))

    def end(self, *, mail_count: int | None = None, unseen_count: int | None = None, error: str = "") -> None:
        """Keep the result, unless another test was asked for meanwhile."""
        MailboxTest.objects.filter(pk=self.pk, asked_at=self.asked_at, finished_at=None).update(
            finished_at=timezone.now(), mail_count=mail_count, unseen_count=unseen_count, error=error[:500]
        )
