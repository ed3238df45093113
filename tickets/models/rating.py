from datetime import timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.core.scope import Lookups
from tickets.models.message import Message

# A reply may be rated for so long, and a rating may be changed for so long.
OPEN_FOR = timedelta(days=60)
CHANGEABLE_FOR = timedelta(days=7)
VALUES = range(1, 6)


class Rating(models.Model):
    """A customer's rating of one reply, 1 to 5, given through a signed link in the mail.

    The customer may change it for a week (`CHANGEABLE_FOR`).
    """

    scope_lookups: ClassVar[Lookups] = {"scope_ticket_queues": "message__ticket__queue_id"}

    message = models.OneToOneField(
        Message, models.CASCADE, related_name="rating", verbose_name=pgettext_lazy("of a ticket", "message")
    )
    value = models.PositiveSmallIntegerField(_("rating"))
    given_at = models.DateTimeField(_("given"), default=timezone.now)
    # NULL: the rating has not been changed.
    changed_at = models.DateTimeField(_("changed"), null=True)

    class Meta:
        verbose_name = _("rating")
        verbose_name_plural = _("ratings")
        ordering = ["-id"]
        constraints = [models.CheckConstraint(name="rating_is_1_to_5", condition=Q(value__range=(1, 5)))]
        indexes = [
            models.Index(fields=["value", "-id"], name="rating_of_value"),
            models.Index(fields=["-given_at", "-id"], name="rating_newest"),
        ]

    def __str__(self) -> str:
        return stars(self.value)


def stars(value: int) -> str:
    return f"{'★' * value}{'☆' * (5 - value)}"


def may_be_rated(message: Message, rating: Rating | None) -> bool:
    now = timezone.now()
    if rating is not None:
        return now - rating.given_at <= CHANGEABLE_FOR
    return message.type == Message.Type.REPLY and now - message.created_at <= OPEN_FOR
