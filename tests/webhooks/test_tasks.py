"""Tasks: what the sweep finds, and how supervisors are told."""

import logging
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from tests.conftest import ACTOR
from tests.webhooks.factories import DeliveryFactory, WebhookFactory
from webhooks import tasks
from webhooks.models import Delivery, Webhook
from webhooks.verbs.webhooks import disable_webhook, enable_webhook, remove_webhook

pytestmark = pytest.mark.django_db

GONE = Webhook.Reason.GONE


def swept(enqueued: list[Any]) -> list[tuple[str, int]]:
    enqueued.clear()
    tasks.sweep()
    return sorted(enqueued)


def overdue() -> Any:
    return timezone.now() - timedelta(minutes=1)


# The sweep


def test_the_sweep_enqueues_each_webhook_with_due_deliveries_once(enqueued):
    due, later, done = WebhookFactory.create_batch(3)
    DeliveryFactory.create_batch(3, webhook=due, next_attempt_at=overdue())
    DeliveryFactory(webhook=later, next_attempt_at=timezone.now() + timedelta(minutes=5))
    DeliveryFactory(webhook=done, succeeded=True)

    assert swept(enqueued) == [("webhooks.deliver", due.pk)]


def test_the_sweep_skips_paused_disabled_and_removed_webhooks(enqueued):
    paused = WebhookFactory(open_until=timezone.now() + timedelta(minutes=1))
    disabled, removed = WebhookFactory.create_batch(2)
    for webhook in (paused, disabled, removed):
        DeliveryFactory(webhook=webhook, next_attempt_at=overdue())
    disable_webhook(disabled, ACTOR)
    remove_webhook(removed, ACTOR)

    assert swept(enqueued) == []


def test_the_sweep_takes_two_statements(enqueued, django_assert_num_queries):
    for webhook in WebhookFactory.create_batch(20):
        DeliveryFactory(webhook=webhook, next_attempt_at=overdue())

    with django_assert_num_queries(2):
        tasks.sweep()

    assert len(enqueued) == 20


def test_a_turn_enqueues_waiting_webhooks(enqueued, monkeypatch):
    monkeypatch.setattr("webhooks.delivery_worker.deliver", lambda pk: [3, 1] if pk == 1 else [])

    tasks.deliver(1)
    tasks.deliver(2)

    assert enqueued == [("webhooks.deliver", 3), ("webhooks.deliver", 1)]


def test_deliveries_of_a_deleted_webhook_are_ignored(enqueued):
    DeliveryFactory(next_attempt_at=overdue())
    Webhook.objects.all().delete()

    tasks.deliver(Delivery.objects.get().webhook_id)

    assert swept(enqueued) == []


# Supervisors


@pytest.fixture
def given_up(enqueued):
    """A webhook whose receiver answered 410."""
    url = "https://crm.client.example/hook?token=abc123"
    webhook: Webhook = WebhookFactory(subscription_url=url, http_auth_password="geheim")
    DeliveryFactory.create_batch(3, webhook=webhook)
    disable_webhook(webhook, ACTOR, GONE)
    Webhook.objects.update(notice_due_at=overdue())
    return webhook


def test_supervisors_are_told_by_mail_in_the_log_and_once(given_up, settings, caplog):
    settings.SUPERVISOR_EMAILS = ["chief@callcentre.example", "night@callcentre.example"]

    tasks.notify_disabled(given_up.pk)
    tasks.notify_disabled(given_up.pk)

    (message,) = mail.outbox
    assert message.to == ["chief@callcentre.example", "night@callcentre.example"]
    assert message.subject == f"Webhook {given_up.pk} was disabled"
    assert "https://crm.client.example/hook" in message.body
    assert "answered 410" in message.body
    assert "3 deliveries wait" in message.body
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.message for record in errors] == ["webhook disabled"]
    assert "geheim" not in message.body + caplog.text
    assert given_up.secret not in message.body + caplog.text
    assert "abc123" not in caplog.text
    given_up.refresh_from_db()
    assert given_up.notice_due_at is None


def test_without_addresses_the_log_tells_also_where_the_sweep_found_the_notice(given_up, enqueued, caplog):
    assert swept(enqueued) == [("webhooks.notify_disabled", given_up.pk)]

    tasks.notify_disabled(given_up.pk)

    assert mail.outbox == []
    assert "webhook disabled" in caplog.text


def test_a_mail_server_that_is_down_is_tried_again(given_up, settings, monkeypatch, enqueued):
    settings.SUPERVISOR_EMAILS = ["chief@callcentre.example"]

    def refuse(*args, **kwargs):
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr("webhooks.tasks.send_mail", refuse)
        with pytest.raises(ConnectionRefusedError):
            tasks.notify_disabled(given_up.pk)
    assert swept(enqueued) == []
    Webhook.objects.update(notice_due_at=overdue())
    assert swept(enqueued) == [("webhooks.notify_disabled", given_up.pk)]

    tasks.notify_disabled(given_up.pk)

    assert len(mail.outbox) == 1


def test_no_notice_is_sent_after_the_webhook_was_enabled(given_up, settings):
    settings.SUPERVISOR_EMAILS = ["chief@callcentre.example"]
    enable_webhook(given_up, ACTOR)

    tasks.notify_disabled(given_up.pk)

    assert mail.outbox == []


def test_the_nightly_task_finishes_purges_whose_message_was_lost(enqueued):
    removed, kept = WebhookFactory.create_batch(2)
    DeliveryFactory(webhook=removed)
    remove_webhook(removed, ACTOR)

    tasks.prune()

    assert list(Webhook.objects.all()) == [kept]
    assert Delivery.objects.count() == 0
