"""The verbs of the access to a mailbox: begin a consent, finish it, keep a token or the reason why there is none."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from tickets.models.mailbox_grant import MailboxGrant
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
