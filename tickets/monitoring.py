"""Figures of mail, in and out, for /metrics, and the check of /health/mail."""

from collections.abc import Iterable

from prometheus_client.core import Metric

from callcentre.core.monitoring import NotReadyError, database_figures, gauge, gauges, probes, query

# A mail or mailbox that waits longer is reported by /health/mail.
MAIL_LATE_SECONDS = 900

# Messages to be sent by kind of sender: how many wait, the longest wait, how many failed. A message that the server
# accepted for some recipients does not count as waiting: mail leaves.
_MESSAGES = """
SELECT CASE WHEN source = 'email' THEN 'mail' ELSE 'marketplace' END,
       count(*) FILTER (WHERE state = 'queued'),
       GREATEST(EXTRACT(epoch FROM now() - min(queued_at) FILTER (WHERE state = 'queued' AND accepted = '{}')), 0)
         ::float8,
       count(*) FILTER (WHERE state = 'failed')
FROM tickets_dispatch WHERE state IN ('queued', 'failed') GROUP BY 1
"""
# Ticket queues with a mailbox, and the seconds since it was last read.
_MAILBOXES = """
SELECT id, GREATEST(EXTRACT(epoch FROM now() - COALESCE(read_at, created_at)), 0)::float8
FROM tickets_ticketqueue WHERE is_active AND imap_host <> ''
"""
_RECEIVED = """
SELECT count(*) FILTER (WHERE outcome = 'quarantined'), count(*) FILTER (WHERE outcome = 'received')
FROM tickets_receivedmail WHERE outcome IN ('received', 'quarantined')
"""


def check_mail() -> None:
    """Fail if a message waits for long or a mailbox is not read. No process needs a restart because of it."""
    oldest = max((age for _way, _waiting, age, _failed in query(_MESSAGES)), default=0.0)
    if oldest > MAIL_LATE_SECONDS:
        raise NotReadyError(f"A message has waited for {oldest / 60:.0f} minutes to be sent.")
    # Strangers may read this: only /metrics and the admin name the mailbox.
    unread = max((age for _queue, age in query(_MAILBOXES)), default=0.0)
    if unread > MAIL_LATE_SECONDS:
        raise NotReadyError(f"A mailbox was not read for {unread / 60:.0f} minutes.")


probes["mail"] = check_mail


def figures() -> Iterable[Metric]:
    messages = {"mail": (0, 0.0, 0), "marketplace": (0, 0.0, 0)}
    messages |= {way: (waiting, age, failed) for way, waiting, age, failed in query(_MESSAGES)}
    texts = {
        "callcentre_messages_waiting": "Messages that are to be sent",
        "callcentre_message_oldest_seconds": "Age of the one that has waited longest; 0 for none",
        "callcentre_messages_failed": "Messages that a person has to look at",
    }
    for position, (name, text) in enumerate(texts.items()):
        yield gauges(name, text, "way", {way: values[position] for way, values in messages.items()})
    yield gauges(
        "callcentre_mailbox_unread_seconds",
        "Since when the queue's mailbox was not read",
        "queue",
        {str(queue): age for queue, age in query(_MAILBOXES)},
    )
    ((quarantined, undecided),) = query(_RECEIVED)
    yield gauge("callcentre_mails_quarantined", "Received mails that a person has to look at", quarantined)
    yield gauge("callcentre_mails_undecided", "Received mails that are still to become messages", undecided)


database_figures.append(figures)
