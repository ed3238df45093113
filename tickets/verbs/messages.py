"""The verbs of a conversation: a reply and its rating, a message from the customer, a comment for other agents.

Each verb locks the ticket. In one transaction it writes the message and what follows from it (`conversation.py`), and
runs the rules, except for a rating; or it raises all faults and changes nothing.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import wraps
from typing import Any, ParamSpec

from django.db import transaction
from django.utils import timezone

from callcentre.core.actor import Actor
from callcentre.core.changes import store
from callcentre.core.errors import Fault, Invalid, check_lines
from tickets import events
from tickets.models.agent_preferences import NoticeKind
from tickets.models.automation import Happening
from tickets.models.message import Message, Rating, may_be_rated
from tickets.models.rules import check_body, cleaned
from tickets.models.ticket import Ticket
from tickets.verbs import conversation
from tickets.verbs.automation import after_message
from tickets.verbs.conversation import check_date, write
from tickets.verbs.due_times import Kind, change_status, status_of_kind
from tickets.verbs.notices import notify
from tickets.verbs.ticket_row import lock_ticket, save_ticket

P = ParamSpec("P")


def _with_rules(write_message: Callable[P, Message], happening: Happening) -> Callable[P, Message]:
    """Return the verb that writes a message and runs the rules."""

    @wraps(write_message)
    def verb(*args: P.args, **kwargs: P.kwargs) -> Message:
        with transaction.atomic():
            message = write_message(*args, **kwargs)
            after_message(message, happening)
        return message

    return verb


reply_to = _with_rules(conversation.reply_to, Happening.REPLIED)
comment_on = _with_rules(conversation.comment_on, Happening.COMMENTED)


def receive_message(
    ticket: Ticket,
    actor: Actor,
    faults: Sequence[Fault] = (),
    *,
    body: str = "",
    body_type: str = Message.BodyType.HTML,
    at: datetime | None = None,
    from_name: str = "",
    from_address: str = "",
    reply_to: str = "",
    verdicts: str = "",
    quoted: str = "",
    is_automatic: bool = False,
    may_be_empty: bool = False,
) -> Message:
    """Add a message of the customer. The ticket becomes new again, even if it was closed, unless the message is
    automatic. A message to a merged ticket goes to the ticket that it was merged into.
    """
    given, began_at = list(faults), timezone.now()
    kept, quoted = cleaned(body, body_type), cleaned(quoted, body_type)
    while True:
        with transaction.atomic():
            faults, ticket, now = list(given), lock_ticket(ticket), timezone.now()
            began_at = min(began_at, ticket.created_at)
            if ticket.merged_into is not None:
                # Release the lock: a merge of the other ticket locks that one and waits for this one.
                transaction.set_rollback(True)
                ticket = ticket.merged_into
                continue
            check_date(at, began_at, now, faults)
            faults += [] if may_be_empty else check_body(body, kept, body_type)
            faults += check_lines(from_name=from_name)
            if faults:
                raise Invalid(faults)
            columns: dict[str, Any] = {}
            system_comment, created_at = "", max(at or now, began_at)
            if not is_automatic:
                columns, system_comment = change_status(ticket, status_of_kind(Kind.NEW), None, now)
                if "targets_began_at" in columns or ticket.awaiting_since is None:
                    columns["awaiting_since"] = created_at
            message = write(
                ticket,
                now,
                columns,
                [],
                type=Message.Type.MAIL,
                author_name=from_name,
                author_address=from_address,
                reply_to=reply_to,
                verdicts=verdicts,
                body=kept,
                quoted=quoted,
                body_type=body_type,
                system_comment=system_comment,
                created_at=created_at,
                is_automatic=is_automatic,
            )
            events.message_received(ticket, message_id=message.pk)
            if system_comment:
                events.ticket_updated(ticket)
            if not is_automatic:
                answered = NoticeKind.ANSWERED
                notify(ticket, answered, f"mail-{message.pk}", actor, to_followers=answered)
                after_message(message, Happening.RECEIVED)
            return message


class TooLate(Exception):
    """The reply is too old to be rated, or its rating too old to be changed."""


def rate(message: Message, value: int) -> Rating:
    """Store the customer's rating of a reply and show it with the message. Raise TooLate if ratings are closed."""
    with transaction.atomic():
        # The lock also keeps two ratings of one reply apart.
        ticket, now = lock_ticket(message.ticket), timezone.now()
        rating = Rating.objects.filter(message=message).first()
        if not may_be_rated(message, rating):
            raise TooLate
        if rating is None:
            rating = Rating.objects.create(message=message, value=value, given_at=now)
        elif rating.value == value:
            return rating
        else:
            store(rating, value=value, changed_at=now)
        store(message, ratings=[value])
        save_ticket(ticket, {}, now)
        events.ticket_updated(ticket)
    return rating
