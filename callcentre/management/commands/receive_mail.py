import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tickets.mail.receiving import take_in
from tickets.models import ReceivedMail, TicketQueue
from tickets.storing import TooLong


class Command(BaseCommand):
    help = (
        "Take in one mail from standard input, as a mail server hands it over. The mail is kept before anything else:"
        " once this ends with 0, it is a message, or in quarantine for a person to look at."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--queue", type=int, help="id of the ticket queue; otherwise by the mail's recipients")

    def handle(self, *args: Any, **options: Any) -> None:
        queue = None
        if options["queue"] is not None:
            queue = TicketQueue.objects.active().filter(pk=options["queue"]).first()
            if queue is None:
                raise CommandError(f"There is no active ticket queue {options['queue']}.")
        try:
            mail = take_in(sys.stdin.buffer, queue)
        except TooLong as error:
            raise CommandError(f"The mail is larger than {settings.MAX_MAIL_MB} MB.") from error
        if mail.outcome == ReceivedMail.Outcome.STORED and mail.message:
            self.stdout.write(f"Ticket {mail.message.ticket_id}, message {mail.message_id}.")
        else:
            self.stdout.write(f"{mail.get_outcome_display()}: {mail.reason}.")
