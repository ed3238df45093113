from django.db import transaction
from django.utils import timezone

from callcentre.core.changes import store
from tickets import events
from tickets.models.message import Message, Rating, may_be_rated
from tickets.verbs.ticket_row import lock_ticket, save_ticket


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
