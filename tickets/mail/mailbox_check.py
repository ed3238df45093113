"""The test of a mailbox, for the person who configures it."""

from tickets.mail.mailbox_connection import in_words, open_mailbox
from tickets.models import MailboxTest
from tickets.verbs.mailbox_tests import begin_mailbox_test, end_mailbox_test

# The limit for a whole test: a person waits for it.
LONGEST_SECONDS = 30


def run_test(queue_id: int) -> None:
    """Log in to the mailbox, count its mails, and log out. No mail is read or changed."""
    test = MailboxTest.objects.select_related("queue").filter(pk=queue_id).first()
    if test is None or not begin_mailbox_test(test):
        return
    try:
        with open_mailbox(test.queue, LONGEST_SECONDS) as mailbox:
            status = mailbox.folder.status(test.queue.imap_folder, ["MESSAGES", "UNSEEN"])
    except Exception as problem:  # noqa: BLE001  (the errors of a server's answers)
        end_mailbox_test(test, error=in_words(problem))
    else:
        end_mailbox_test(test, mail_count=int(status["MESSAGES"]), unseen_count=int(status["UNSEEN"]))
