"""Whether a mailbox can be read: asked by a person who has just configured it."""

from dataclasses import dataclass

from imap_tools.errors import ImapToolsError

from tickets.mail import imap
from tickets.models import TicketQueue


class Unreachable(Exception):
    """Says why, in the words of the server or of the network."""


@dataclass(frozen=True, slots=True)
class Found:
    count: int
    unseen: int


def look(queue: TicketQueue) -> Found:
    """What is in the mailbox; nothing is read, and nothing changes. Raises Unreachable."""
    if not queue.imap_host:
        raise Unreachable("no IMAP server")
    try:
        with imap._open(queue) as mailbox:
            status = mailbox.folder.status(queue.imap_folder, ["MESSAGES", "UNSEEN"])
    except (ImapToolsError, OSError) as error:
        raise Unreachable(str(error) or type(error).__name__) from error
    return Found(int(status["MESSAGES"]), int(status["UNSEEN"]))
