"""The verbs of a mailbox test: request, begin, end."""

from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.enqueue import enqueue
from tickets.models.mailbox_test import LONGEST, MailboxTest
from tickets.models.ticket_queue import TicketQueue


def request_mailbox_test(queue: TicketQueue, actor: Actor) -> None:
    """Let a worker test the mailbox of the queue, unless a test is running."""
    running = MailboxTest.objects.filter(pk=queue.pk, finished_at=None, asked_at__gt=timezone.now() - LONGEST)
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
    MailboxTest.objects.update_or_create(queue=queue, defaults=values)
    enqueue("tickets.test_mailbox", queue.pk)


def begin_mailbox_test(test: MailboxTest) -> bool:
    """Claim the test for this worker; return False if another worker has it."""
    return bool(MailboxTest.objects.waiting().filter(pk=test.pk).update(started_at=timezone.now()))


def end_mailbox_test(
    test: MailboxTest, *, mail_count: int | None = None, unseen_count: int | None = None, error: str = ""
) -> None:
    """Store the result, unless another test was requested meanwhile."""
    MailboxTest.objects.filter(pk=test.pk, asked_at=test.asked_at, finished_at=None).update(
        finished_at=timezone.now(), mail_count=mail_count, unseen_count=unseen_count, error=error[:500]
    )
