"""A worker that kills itself: `python -m tests.tickets.intake_process PLACE MAIL… | poll QUEUE`.

PLACE is where it dies, as if the machine had: `kept` when the raw mail is on the disk, `stored` when its message is
committed, or `never`.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django


def main() -> None:
    django.setup()
    from tickets.mail import intake, mailbox_poll
    from tickets.models import TicketQueue

    place, what, *rest = sys.argv[1:]
    if place == "kept":
        vars(intake)["save_raw"] = _then_die(intake.save_raw)
    elif place == "stored":
        vars(mailbox_poll)["take_in"] = _then_die(intake.take_in)
    if what == "poll":
        mailbox_poll.poll(int(rest[0]))
    else:
        for path in rest:
            with Path(path).open("rb") as stream:
                intake.take_in(stream, TicketQueue.objects.first())


def _then_die(function: Callable[..., Any]) -> Callable[..., Any]:
    def die(*args: Any, **values: Any) -> None:
        function(*args, **values)
        os.kill(os.getpid(), signal.SIGKILL)

    return die


if __name__ == "__main__":
    main()
