"""A worker that kills itself: `python -m tests.tickets.receiving_process PLACE MAIL… | poll QUEUE`.

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
    from tickets.mail import imap, keeping, receiving
    from tickets.models import TicketQueue

    place, what, *rest = sys.argv[1:]
    if place == "kept":
        vars(receiving)["keep"] = _then_die(keeping.keep)
    elif place == "stored":
        vars(imap)["take_in"] = _then_die(receiving.take_in)
    if what == "poll":
        imap.poll(int(rest[0]))
    else:
        for path in rest:
            with Path(path).open("rb") as stream:
                receiving.take_in(stream, TicketQueue.objects.first())


def _then_die(function: Callable[..., Any]) -> Callable[..., Any]:
    def die(*args: Any, **values: Any) -> None:
        function(*args, **values)
        os.kill(os.getpid(), signal.SIGKILL)

    return die


if __name__ == "__main__":
    main()
