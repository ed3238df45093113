"""The table of what the models of webhooks have of a person: texts of events and answers."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Model

from callcentre.core.personal_data import SETTINGS, WORK, Data, Nothing
from webhooks import models


def _forget_answers(event_ids: Sequence[Any]) -> None:
    """Blank what receivers answered to events that named the person: an answer may repeat an event in any way."""
    models.Attempt.objects.filter(delivery__event__in=event_ids).exclude(answer="").update(answer="")


TABLE: dict[type[Model], Data | Nothing] = {
    models.Event: Data("payload", redacted=_forget_answers),
    models.Attempt: Data("answer error"),
    **SETTINGS.of(models, "Webhook WebhookChange"),
    **WORK.of(models, "Delivery Resend"),
}
