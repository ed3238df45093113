from datetime import timedelta

from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from tickets import events
from tickets.models.conversing import lock
from tickets.models.message import Message

# How long after the reply it may be rated, and how long after that the customer may think again.
OPEN_FOR = timedelta(days=60)
CHANGEABLE_FOR = timedelta(days=7)
VALUES = range(1, 6)


class TooLate(Exception):
    """The reply is too old to be rated, or was rated too long ago to be rated otherwise."""


class Rating(models.Model):
    """What a customer thought of a reply, 1 to 5: given through a signed link in the mail, once per reply.

    For a week he may change it; then it stands.
    """

    message = models.OneToOneField(
        Message, models.CASCADE, related_name="rating", verbose_name=pgettext_lazy("of a ticket", "message")
    )
    value = models.PositiveSmallIntegerField(_("rating"))
    given_at = models.DateTimeField(_("given"), default=timezone.now)
    # NULL: it is the first one.
    changed_at = models.DateTimeField(_("changed"), null=True)

    class Meta:
        verbose_name = _("rating")
        verbose_name_plural = _("ratings")
        ordering = ["-id"]
        constraints = [models.CheckConstraint(name="rating_is_1_to_5", condition=Q(value__range=(1, 5)))]
        indexes = [models.Index(fields=["value", "-id"], name="rating_of_value")]

    def __str__(self) -> str:
        return stars(self.value)


def stars(value: int) -> str:
    return f"{'★' * value}{'☆' * (5 - value)}"


def rate(message: Message, value: int) -> Rating:
    """Keep what the customer thinks of a reply, and show it with the message. Raises TooLate."""
    with transaction.atomic():
        # Also keeps two ratings of one reply apart.
        ticket, now = lock(message.ticket), timezone.now()
        rating = Rating.objects.filter(message=message).first()
        if not may_be_rated(message, rating):
            raise TooLate
        if rating is None:
            rating = Rating.objects.create(message=message, value=value, given_at=now)
        elif rating.value == value:
            return rating
        else:
            rating.value, rating.changed_at = value, now
            rating.save(update_fields=["value", "changed_at"])
        message.ratings = [value]
        message.save(update_fields=["ratings"])
        ticket.updated_at = now
        ticket.save(update_fields=["updated_at"])
        login = ticket.agent.login if ticket.agent else ""
        events.ticket_updated(ticket.pk, ticket.customer_id, login, ticket.status_id, ticket.substatus_id)
    return rating


def may_be_rated(message: Message, rating: Rating | None) -> bool:
    now = timezone.now()
    if rating is not None:
        return now - rating.given_at <= CHANGEABLE_FOR
    return message.type == Message.Type.REPLY and now - message.created_at <= OPEN_FOR
