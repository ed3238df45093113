"""Whether a mailbox can be read: asked by a person who has just configured it."""

from dataclasses import dataclass

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
        # As a poll does.
        with imap._Reader(queue)._open() as mailbox:
            status = mailbox.folder.status(queue.imap_folder, ["MESSAGES", "UNSEEN"])
    except Exception as error:
        raise Unreachable(imap._in_words(error)) from error
    return Found(int(status["MESSAGES"]), int(status["UNSEEN"]))
