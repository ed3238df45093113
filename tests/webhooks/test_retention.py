"""Forgetting: what is old, what removed webhooks leave, and nothing else."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from callcentre.core.statements import rows_of
from tests.conftest import ACTOR
from tests.serving import at_once
from tests.webhooks.factories import AttemptFactory, DeliveryFactory, EventFactory, WebhookFactory
from webhooks import delivery_worker, retention
from webhooks.models import Attempt, Delivery, Event, Webhook, WebhookChange
from webhooks.transport.sender import Outcome
from webhooks.verbs.webhooks import remove_webhook

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued")]


def aged(days: float) -> Event:
    """An event of so many days ago that was delivered."""
    attempt = AttemptFactory()
    event: Event = attempt.delivery.event
    Event.objects.filter(pk=event.pk).update(created_at=timezone.now() - timedelta(days=days))
    return event


def counts() -> tuple[int, int, int]:
    return Event.objects.count(), Delivery.objects.count(), Attempt.objects.count()


def test_events_older_than_90_days_go_with_their_deliveries_and_attempts_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retention, "PIECE", 2)
    undelivered = DeliveryFactory()
    Event.objects.filter(pk=undelivered.event_id).update(created_at=timezone.now() - timedelta(days=100))
    for days in (95, 92, 91, 90.01):
        aged(days)
    kept = [aged(89.99), aged(1)]

    for _ in range(2):
        retention.prune(timezone.now())

        assert list(Event.objects.order_by("id")) == kept
        assert counts() == (2, 2, 2)
    assert timedelta(days=90) == settings.EVENT_RETENTION


def test_old_events_are_found_by_an_index() -> None:
    EventFactory.create_batch(300)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE webhooks_event")
        cursor.execute("SET LOCAL enable_seqscan = off")
    with CaptureQueriesContext(connection) as captured:
        retention.prune(timezone.now())

    (plan,) = rows_of(f"EXPLAIN (FORMAT JSON) {captured[0]['sql']}")
    assert "event_created_at" in str(plan)


def test_a_removed_webhook_is_cleared_away_with_what_was_sent_and_its_history_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retention, "PIECE", 2)
    removed = WebhookFactory()
    for _ in range(5):
        AttemptFactory(delivery=DeliveryFactory(webhook=removed, succeeded=True))
    other = AttemptFactory()
    remove_webhook(removed, ACTOR)

    # Those that were not removed are never purged.
    retention.purge(other.webhook.pk)
    retention.purge(removed.pk)

    assert list(Webhook.objects.all()) == [other.webhook]
    assert (list(Delivery.objects.all()), list(Attempt.objects.all())) == ([other.delivery], [other])
    assert WebhookChange.objects.filter(webhook_id=removed.pk).exists()
    # The events stay for the feed.
    assert Event.objects.count() == 6


@pytest.mark.usefixtures("committed_db")
def test_an_attempt_that_is_stored_while_its_webhook_is_purged_does_not_stay_behind() -> None:
    webhook = WebhookFactory(healthy=True)
    DeliveryFactory.create_batch(40, webhook=webhook, next_attempt_at=timezone.now() - timedelta(minutes=1))
    claimed = delivery_worker._claim(webhook)
    outcome = Outcome(200, "", b"", 0.1, None)
    remove_webhook(Webhook.objects.get(), ACTOR)

    def store() -> None:
        for delivery in claimed:
            delivery_worker._store(webhook, [delivery_worker.Result(delivery, timezone.now(), outcome)], [], 0)

    def purge() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.01)")
        retention.purge(webhook.pk)

    at_once([store, purge])
    retention.purge(webhook.pk)

    assert (Delivery.objects.count(), Attempt.objects.count(), Webhook.objects.count()) == (0, 0, 0)
