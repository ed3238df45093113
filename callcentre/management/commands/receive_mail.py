import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tickets.file_storage import TooLong
from tickets.mail.intake import take_in
from tickets.models import ReceivedMail, TicketQueue


class Command(BaseCommand):
    """A mail server's door to the tickets, with the exit codes of sysexits.h.

    0: received. 65: the mail is too large, and the server returns it to the sender. 75: not now; the server keeps the
    mail and tries again. All our own failures are 75, so that no mail of a customer is returned because of them.
    """

    help = (
        "Take in one mail from standard input, as a mail server hands it over. The mail is kept before anything else:"
        " once this ends with 0, it is a message, or in quarantine for a person to look at. Ends with 75 where the mail"
        " server is to try again later, and with 65 where the mail is too large."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--queue", type=int, help="id of the ticket queue; otherwise by the mail's recipients")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            mail = take_in(sys.stdin.buffer, _queue(options["queue"]))
        except TooLong as error:
            message = f"The mail is larger than {settings.MAX_MAIL_MB} MB."
            raise CommandError(message, returncode=os.EX_DATAERR) from error
        except CommandError:
            raise
        except Exception as error:
            message = f"The mail cannot be taken in now: {type(error).__name__}: {error}"
            raise CommandError(message, returncode=os.EX_TEMPFAIL) from error
        if mail.outcome == ReceivedMail.Outcome.STORED and mail.message:
            self.stdout.write(f"Ticket {mail.message.ticket_id}, message {mail.message_id}.")
        else:
            self.stdout.write(f"{mail.get_outcome_display()}: {mail.why}.")


def _queue(pk: int | None) -> TicketQueue | None:
    if pk is None:
        return None
    queue = TicketQueue.objects.active().filter(pk=pk).first()
    if queue is None:
        raise CommandError(f"There is no active ticket queue {pk}.", returncode=os.EX_TEMPFAIL)
    return queue
