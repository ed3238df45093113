"""The accounts of tickets, mails and their files (callcentre/core/accounts.py)."""

from callcentre.core.accounts import account, files_account
from tickets.file_storage import FOLDER
from tickets.models import ReceivedMail, StoredFile

account(
    "received mails",
    "Each received mail became a message, or is in quarantine, apart as spam or deleted.",
    """SELECT 'mail ' || id || ' is ' || outcome || ' since ' || received_at FROM tickets_receivedmail
    WHERE outcome = 'received' AND received_at < now() - interval '10 minutes'
      OR outcome = 'stored' AND message_id IS NULL""",
)
account(
    "replies",
    "Each reply of an agent has its sending, which was made or waits.",
    """SELECT 'message ' || m.id || ' of ticket ' || m.ticket_id FROM tickets_message m
    WHERE m.type = 'REPLY' AND m.created_at > now() - interval '30 days'
      AND NOT EXISTS (SELECT FROM tickets_dispatch d WHERE d.message_id = m.id)""",
)
account(
    "ends of tickets",
    "A ticket has the time of its end if its status is closed or merged, and no other ticket has one.",
    """SELECT 'ticket ' || t.id || ' is ' || s.kind FROM tickets_ticket t
    JOIN tickets_ticketstatus s ON s.id = t.status_id
    WHERE (t.closed_at IS NOT NULL) <> (s.kind IN ('closed', 'merged'))""",
)
account(
    "merged tickets",
    "A merged ticket has no mails and replies, and leads to another that is not merged.",
    """SELECT 'ticket ' || t.id FROM tickets_ticket t JOIN tickets_ticket n ON n.id = t.merged_into_id
    WHERE n.merged_into_id IS NOT NULL OR EXISTS (
      SELECT FROM tickets_message m WHERE m.ticket_id = t.id AND m.type <> 'COMMENT')""",
)
account(
    "links of tickets",
    "Two linked tickets know each other.",
    """SELECT 'ticket ' || t.id || ' knows ticket ' || linked FROM tickets_ticket t, unnest(t.connected_ids) linked
    WHERE NOT EXISTS (SELECT FROM tickets_ticket n WHERE n.id = linked AND t.id = ANY(n.connected_ids))""",
)
account(
    "number of tickets",
    "The kept number of tickets is that of the rows.",
    """SELECT 'kept: ' || kept || ', rows: ' || rows FROM (
      SELECT (SELECT COALESCE(sum(count), 0) FROM tickets_ticketcount) AS kept,
        (SELECT count(*) FROM tickets_ticket) AS rows
    ) counted WHERE kept <> rows""",
)
files_account(
    "files of messages",
    "Each file of a message, and each upload, has its content.",
    StoredFile.objects.all,
    "path",
    FOLDER,
)
files_account(
    "files of mails", "Each received mail that is kept has its file.", ReceivedMail.objects.all, "path", FOLDER
)
