"""Tickets of callers' messages. Telephony stores only ids; the app that has tickets registers itself here."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from callcentre.core.scope import Scoped


@dataclass(frozen=True, slots=True)
class CallersMessage:
    """A message of a caller: who left it, when, for which queue, and the page that has the recording.

    `seconds` is 0 if the recording could not be fetched.
    """

    number: str
    customer_id: int | None
    queue: str
    at: datetime
    seconds: int
    path: str


# The ticket queues that a person may choose, by id.
Choices = Callable[[Scoped], list[tuple[int, str]]]
# A message and the chosen ticket queue -> the new ticket. Called in a transaction.
Opener = Callable[[CallersMessage, int], int]

_choices: list[Choices] = [lambda user: []]
_openers: list[Opener] = []
register_choices, register_opener = _choices.append, _openers.append


def ticket_queues(user: Scoped) -> list[tuple[int, str]]:
    return _choices[-1](user)


def open_ticket(message: CallersMessage, ticket_queue_id: int) -> int | None:
    """Open a ticket and return its id; None if no app has tickets."""
    return _openers[-1](message, ticket_queue_id) if _openers else None
