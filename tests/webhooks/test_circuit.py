"""Receivers that fail: when they are given up, and when they are left alone for a while."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from standardwebhooks import Webhook as Verifier

from tests.conftest import ACTOR
from tests.webhooks.due import database_now, delivered, due, make_due, registered
from tests.webhooks.factories import WebhookFactory
from tests.webhooks.receivers import always, answers, receiver, silent
from webhooks import delivery_worker
from webhooks.delivery_worker import FAILURES_TO_OPEN, deliver
from webhooks.models import Webhook
from webhooks.verbs.webhooks import disable_webhook, remove_webhook, rotate_secret

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_receivers", "enqueued")]


# Giving up


def test_410_disables_at_once_and_keeps_the_rest_of_the_batch(enqueued):
    webhook, running = delivered(answers(410, 200), 5, turns=2)

    assert len(running.requests) == 1
    assert (webhook.is_active, webhook.disabled_because) == (False, "gone")
    assert list(webhook.deliveries.order_by("id").values_list("state", flat=True)) == ["failed"] + ["waiting"] * 4
    assert ("webhooks.notify_disabled", webhook.pk) in enqueued
    assert webhook.history.latest("id").action == "disable: gone"


@pytest.mark.parametrize("status", [500, 404])
@pytest.mark.parametrize(("hours", "is_active"), [(119, True), (121, False)])
def test_five_days_of_nothing_but_failures_disable(hours, is_active, status, enqueued):
    since = timezone.now() - timedelta(hours=hours)

    webhook, _running = delivered(always(status), failing_since=since, failures_in_a_row=50)

    assert webhook.is_active is is_active
    assert webhook.disabled_because == ("" if is_active else "failing")
    assert (("webhooks.notify_disabled", webhook.pk) in enqueued) is not is_active


def test_a_success_among_failures_begins_the_five_days_anew():
    """A receiver that takes most and refuses one at the end of each batch has not failed for five days."""
    webhook, _running = delivered(answers(200, 200, 500), 3, failing_since=timezone.now() - timedelta(days=6))

    assert webhook.is_active
    assert webhook.last_success_at is not None
    assert webhook.failing_since is not None
    assert timezone.now() - webhook.failing_since < timedelta(minutes=1)


def test_a_success_ends_failing_and_pause():
    since = timezone.now() - timedelta(days=3)

    webhook, running = delivered(always(), 3, failing_since=since, failures_in_a_row=9, open_until=timezone.now())

    assert (webhook.failures_in_a_row, webhook.failing_since, webhook.open_until) == (0, None, None)
    assert len(running.requests) == 3


# Circuit breaker


def test_five_failures_in_a_row_pause_a_receiver():
    webhook, running = delivered(always(500), 20, turns=2)

    assert len(running.requests) == FAILURES_TO_OPEN
    assert webhook.is_paused
    # Deliveries that were not sent keep all their attempts.
    assert webhook.deliveries.filter(attempt_count=0).count() == 20 - FAILURES_TO_OPEN


@pytest.mark.parametrize("status", [300, 302, 304, 408, 429, 500, 503, 599])
def test_an_answer_that_does_not_concern_the_event_is_a_failure_of_the_receiver_and_the_first_no_pause(status):
    webhook, _running = delivered(always(status))

    assert (webhook.failures_in_a_row, webhook.open_until) == (1, None)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 499])
def test_another_4xx_is_the_answer_to_one_event_and_the_others_go_on(status):
    webhook, running = delivered(always(status), 20)

    assert len(running.requests) == 20
    assert (webhook.failures_in_a_row, webhook.open_until) == (0, None)
    # Each is retried by its own schedule. Five days of failures would disable the webhook.
    assert webhook.deliveries.waiting().filter(attempt_count=1, next_attempt_at__gt=database_now()).count() == 20
    assert webhook.failing_since is not None


def test_a_4xx_between_failures_of_the_receiver_ends_their_row():
    webhook, running = delivered(answers(*[500, 500, 500, 500, 404] * 3, 200), 16)

    assert len(running.requests) == 16
    assert (webhook.failures_in_a_row, webhook.failing_since) == (0, None)


def test_a_failing_receiver_that_answers_4xx_is_sent_the_rest():
    since = timezone.now() - timedelta(days=1)

    webhook, running = delivered(always(422), 5, failing_since=since, failures_in_a_row=9)

    assert len(running.requests) == 5
    assert (webhook.failures_in_a_row, webhook.open_until, webhook.failing_since) == (0, None, since)


def test_a_receiver_without_answer_is_paused_at_once(settings):
    settings.WEBHOOK_TIMEOUT_SECONDS = 1

    webhook, running = delivered(silent, 20)

    assert len(running.requests) == 1
    assert webhook.is_paused
    assert list(webhook.attempts.values_list("status", "error")) == [(None, "timeout")]


def test_pauses_grow_up_to_five_minutes():
    webhook: Webhook = WebhookFactory(subscription_url="http://127.0.0.1:9/nobody")
    due(webhook, 12)
    pauses = []
    for _ in range(10):
        make_due(webhook)
        deliver(webhook.pk)
        webhook.refresh_from_db()
        assert webhook.open_until is not None
        pauses.append((webhook.open_until - database_now()).total_seconds())

    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300, 300, 300]


def test_after_a_pause_one_delivery_tries_and_the_others_follow_its_success():
    with receiver(always()) as running:
        webhook = registered(running, failures_in_a_row=7, open_until=timezone.now() - timedelta(minutes=1))
        due(webhook, 10)
        assert [len(delivery_worker._claim(webhook)) for _ in range(2)] == [1, 0]
        make_due(webhook)
        deliver(webhook.pk)

    assert len(running.requests) == 10


def test_a_paused_or_disabled_or_removed_webhook_is_sent_nothing():
    with receiver(always()) as running:
        paused = registered(running, open_until=timezone.now() + timedelta(minutes=1))
        disabled, removed = registered(running), registered(running)
        for webhook in (paused, disabled, removed):
            due(webhook)
        disable_webhook(disabled, ACTOR)
        remove_webhook(removed, ACTOR)
        for webhook in (paused, disabled, removed):
            assert deliver(webhook.pk) == []

    assert running.requests == []


def after_each_batch(monkeypatch: pytest.MonkeyPatch, size: int, act: Callable[[Webhook], object]) -> None:
    """Let batches have so many deliveries, and another person act after each."""
    store = delivery_worker._store

    def store_and_act(webhook: Webhook, *rest: Any) -> None:
        store(webhook, *rest)
        act(Webhook.objects.get(pk=webhook.pk))

    monkeypatch.setattr(delivery_worker, "BATCH", size)
    monkeypatch.setattr(delivery_worker, "_store", store_and_act)


@pytest.mark.parametrize("verb", [disable_webhook, remove_webhook])
def test_a_webhook_that_is_disabled_or_removed_while_it_is_sent_to_gets_no_further_batch(verb, monkeypatch):
    after_each_batch(monkeypatch, 2, lambda webhook: verb(webhook, ACTOR))

    _webhook, running = delivered(always(), 6)

    assert len(running.requests) == 2


def test_a_secret_that_is_rotated_while_deliveries_run_signs_the_next_batch(monkeypatch):
    new: list[str] = []
    after_each_batch(monkeypatch, 1, lambda webhook: new.append(rotate_secret(webhook, ACTOR)))

    _webhook, running = delivered(always(), 2)

    Verifier(new[0]).verify(running.requests[1].body, dict(running.requests[1].headers))
