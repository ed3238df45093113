from callcentre.management.processes import ProcessCommand
from tickets.mail.mailbox_watch import Watch


class Command(ProcessCommand):
    help = (
        "Keep a connection to each mailbox, and read new mail at once. Without it mailboxes are read once a minute. "
        "Several processes share the mailboxes. Ends on SIGTERM and Ctrl-C."
    )
    worker = Watch
