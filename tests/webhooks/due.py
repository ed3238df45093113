"""Deliveries that are due, and receivers for them: what the tests of delivering have in common."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, cast

from django.db import connection
from django.utils import timezone

from tests.webhooks.factories import DeliveryFactory, WebhookFactory
from tests.webhooks.receivers import Receiver, Request, Script, receiver
from webhooks.delivery_worker import deliver
from webhooks.models import Delivery, Webhook


def registered(running: Receiver, **values: Any) -> Webhook:
    webhook: Webhook = WebhookFactory(subscription_url=running.url, **values)
    return webhook


def due(webhook: Webhook, count: int = 1, at: datetime | None = None, **values: Any) -> list[Delivery]:
    # The database's now() stands still in a test's transaction.
    at = at or timezone.now() - timedelta(minutes=1)
    return list(DeliveryFactory.create_batch(count, webhook=webhook, next_attempt_at=at, **values))


def delivered(script: Script, count: int = 1, turns: int = 1, **values: Any) -> tuple[Webhook, Receiver]:
    """A webhook and its receiver after so many deliveries were due and sent for so many turns."""
    of_events = {name: values.pop(name) for name in [*values] if name.startswith("event__")}
    with receiver(script) as running:
        webhook = registered(running, **values)
        due(webhook, count, **of_events)
        for _ in range(turns):
            deliver(webhook.pk)
    webhook.refresh_from_db()
    return webhook, running


def make_due(webhook: Webhook) -> None:
    """As if the time of the next attempt had come, and a pause were over."""
    # The database's now() stands still in a test's transaction.
    webhook.deliveries.waiting().update(next_attempt_at=timezone.now() - timedelta(minutes=1))
    Webhook.objects.filter(pk=webhook.pk).update(open_until=None)


def database_now() -> datetime:
    """It stands still in a test's transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        return cast("datetime", cursor.fetchone()[0])


def history(webhook: Webhook) -> list[str]:
    return list(webhook.history.order_by("id").values_list("action", flat=True))


def pks(deliveries: Iterable[Delivery]) -> list[int]:
    return [delivery.pk for delivery in deliveries]


def ids(requests: Iterable[Request]) -> list[str]:
    return [request.headers["webhook-id"] for request in requests]


def reread(deliveries: list[Delivery]) -> list[Delivery]:
    return list(Delivery.objects.filter(pk__in=[delivery.pk for delivery in deliveries]).order_by("id"))
