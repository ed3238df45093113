"""The verbs of a mailbox: the access that a provider grants to it, and tests that a worker runs."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.enqueue import enqueue
from tickets.models.mailbox import LONGEST_TEST, MailboxGrant, MailboxTest
from tickets.models.ticket_queue import TicketQueue

# The time that a person has at the provider.
CONSENT_LASTS = timedelta(minutes=15)


def begin_grant(queue: TicketQueue, actor_name: str, state: str, verifier: str) -> None:
    """Remember that this person is at the provider. A person who began before has to begin again."""
    values = {"state": state, "verifier": verifier, "begun_by": actor_name[:150], "begun_at": timezone.now()}
    MailboxGrant.objects.update_or_create(queue=queue, defaults=values)


def waiting_grant(state: str, actor_name: str) -> MailboxGrant | None:
    """Return the grant that this person has begun, with its queue. It can be returned once."""
    since = timezone.now() - CONSENT_LASTS
    mine = MailboxGrant.objects.filter(state=state, begun_by=actor_name[:150], begun_at__gt=since)
    grant = mine.select_related("queue").first()
    if grant is None or not mine.update(state="", verifier=""):
        return None
    return grant


def finish_grant(grant: MailboxGrant, **tokens: Any) -> None:
    """Keep the tokens of a consent, and let the mailbox be read at once."""
    now = timezone.now()
    with transaction.atomic():
        values = {"granted_by": grant.begun_by, "granted_at": now, "error": "", **tokens}
        MailboxGrant.objects.filter(pk=grant.pk).update(**values)
        TicketQueue.objects.filter(pk=grant.pk).update(updated_at=now)


def keep(grant: MailboxGrant, **values: Any) -> None:
    """Keep a renewed token, or why there is none, unless a person has connected the mailbox anew meanwhile."""
    for name, value in values.items():
        setattr(grant, name, value)
    _row, is_new = MailboxGrant.objects.get_or_create(pk=grant.pk, defaults=values)
    if not is_new:
        MailboxGrant.objects.filter(pk=grant.pk, granted_at=grant.granted_at).update(**values)


def request_mailbox_test(queue: TicketQueue, actor: Actor) -> None:
    """Let a worker test the mailbox of the queue, unless a test is running."""
    running = MailboxTest.objects.filter(pk=queue.pk, finished_at=None, asked_at__gt=timezone.now() - LONGEST_TEST)
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
