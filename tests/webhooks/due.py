"""Deliveries that are due, and receivers for them: what the tests of delivering have in common."""

import threading
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, cast

from django.db import connection
from django.utils import timezone

from tests.webhooks.factories import DeliveryFactory, WebhookFactory
from tests.webhooks.receivers import Peer, Receiver, Request, Script
from webhooks.models import Delivery, Webhook


def answers(*statuses: int, **headers: str) -> Script:
    """One status after another, over all connections; the last one from then on."""
    left = list(statuses)
    lock = threading.Lock()

    def script(peer: Peer) -> None:
        while peer.request():
            with lock:
                status = left.pop(0) if len(left) > 1 else left[0]
            peer.answer(status, b"said", **headers)

    return script


def registered(running: Receiver, **values: Any) -> Webhook:
    webhook: Webhook = WebhookFactory(subscription_url=running.url, **values)
    return webhook


def due(webhook: Webhook, count: int = 1, at: datetime | None = None, **values: Any) -> list[Delivery]:
    # The database's now() stands still in a test's transaction.
    at = at or timezone.now() - timedelta(minutes=1)
    return list(DeliveryFactory.create_batch(count, webhook=webhook, next_attempt_at=at, **values))


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


def pks(deliveries: Iterable[Delivery]) -> list[int]:
    return [delivery.pk for delivery in deliveries]


def ids(requests: Iterable[Request]) -> list[str]:
    return [request.headers["webhook-id"] for request in requests]


def reread(deliveries: list[Delivery]) -> list[Delivery]:
    return list(Delivery.objects.filter(pk__in=[delivery.pk for delivery in deliveries]).order_by("id"))
