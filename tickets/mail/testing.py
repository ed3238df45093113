"""The test of a mailbox that a person has just configured."""

from tickets.mail.mailbox import in_words, opened
from tickets.models import MailboxTest

# For all of a test: a person waits for it.
LONGEST_SECONDS = 30


def run_test(queue_id: int) -> None:
    """Log in to the mailbox, count its mails, and log out; nothing is read or changed there."""
    test = MailboxTest.objects.select_related("queue").filter(pk=queue_id).first()
    if test is None or not test.begin():
        return
    try:
        with opened(test.queue, LONGEST_SECONDS) as mailbox:
            status = mailbox.folder.status(test.queue.imap_folder, ["MESSAGES", "UNSEEN"])
    except Exception as problem:  # noqa: BLE001  (whatever a server answers)
        test.end(error=in_words(problem))
    else:
        test.end(mail_count=int(status["MESSAGES"]), unseen_count=int(status["UNSEEN"]))
