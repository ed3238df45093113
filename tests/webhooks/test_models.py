"""Webhooks and their life: credentials, secrets, disabling, removal, and what is forgotten of them."""

from datetime import timedelta

import pytest
from cryptography.fernet import Fernet
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from callcentre.core.actor import SYSTEM
from callcentre.core.encryption import decrypt, encrypt
from callcentre.core.errors import Conflict
from callcentre.core.statements import row_of, rows_of
from tests.callcentre.factories import IdempotencyRecordFactory
from tests.conftest import ACTOR
from tests.serving import at_once
from tests.webhooks.factories import AttemptFactory, DeliveryFactory, EventFactory, WebhookFactory
from webhooks import delivery_worker, retention
from webhooks.models import Attempt, Delivery, Event, Webhook, WebhookChange
from webhooks.transport.sender import Outcome
from webhooks.verbs.webhooks import (
    disable_if_given_up,
    disable_webhook,
    edit_webhook,
    enable_webhook,
    remove_webhook,
    rotate_secret,
    send_test,
    show_secret,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued")]

ENCRYPTED = ("http_auth_user", "http_auth_password", "secret", "previous_secret")


def stored(webhook: Webhook) -> dict[str, str]:
    """What the table holds, without the field that decrypts it."""
    row = row_of(f"SELECT {', '.join(ENCRYPTED)} FROM webhooks_webhook WHERE id = %s", [webhook.pk])
    return dict(zip(ENCRYPTED, row, strict=True))


def with_everything() -> Webhook:
    webhook: Webhook = WebhookFactory(http_auth_user="anna", http_auth_password="zażółć")
    rotate_secret(webhook, ACTOR)
    return webhook


# At rest


def test_credentials_and_secrets_are_encrypted_in_the_table_and_read_as_they_were():
    webhook = with_everything()
    plain = {name: getattr(webhook, name) for name in ENCRYPTED}

    for name, value in stored(webhook).items():
        assert value.startswith("gAAAA")
        assert plain[name] not in value
    again = Webhook.objects.get()
    assert {name: getattr(again, name) for name in ENCRYPTED} == plain
    # Empty values are stored empty.
    assert stored(WebhookFactory())["http_auth_password"] == ""


def test_after_a_rotation_of_keys_the_old_key_can_be_taken_away(settings, capsys):
    kept = IdempotencyRecordFactory(answer=encrypt(b'{"id": 1}'))
    webhook, plain = with_everything(), WebhookFactory()
    values = {name: getattr(webhook, name) for name in ENCRYPTED}
    updated_at = Webhook.objects.get(pk=webhook.pk).updated_at
    new = Fernet.generate_key().decode()
    settings.FIELD_ENCRYPTION_KEYS = [new, *settings.FIELD_ENCRYPTION_KEYS]
    # Old values are read, and new ones written by the new key.
    assert Webhook.objects.get(pk=webhook.pk).secret == webhook.secret
    written = WebhookFactory()
    assert Fernet(new).decrypt(stored(written)["secret"].encode()).decode() == written.secret
    written.delete()

    call_command("rotate_field_keys")

    settings.FIELD_ENCRYPTION_KEYS = [new]
    again = Webhook.objects.get(pk=webhook.pk)
    assert {name: getattr(again, name) for name in ENCRYPTED} == values
    assert Webhook.objects.get(pk=plain.pk).http_auth_user == ""
    assert again.updated_at == updated_at
    kept.refresh_from_db()
    assert decrypt(bytes(kept.answer)) == b'{"id": 1}'
    printed = capsys.readouterr().out
    assert "webhooks.Webhook: 2" in printed
    assert not any(value in printed for value in values.values())


def test_a_value_that_no_key_fits_stops_the_rotation_and_names_its_row(settings):
    webhook = with_everything()
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    before = stored(webhook)

    with pytest.raises(CommandError, match=f"webhooks.Webhook {webhook.pk}"):
        call_command("rotate_field_keys")

    assert stored(webhook) == before


def test_neither_text_of_a_webhook_nor_its_history_shows_anything_secret():
    webhook = with_everything()
    edit_webhook(webhook, ACTOR, http_auth_user="berta", http_auth_password="other")
    show_secret(webhook, ACTOR)

    shown = repr(webhook) + str(webhook)
    shown += "".join(str(list(WebhookChange.objects.values())))
    for word in ("anna", "berta", "zażółć", "other", webhook.secret, webhook.previous_secret):
        assert word not in shown


# Verbs


def test_a_rotation_from_an_outdated_row_keeps_the_secret_that_was_in_force():
    webhook = WebhookFactory()
    read_before = Webhook.objects.get()
    in_force = rotate_secret(webhook, ACTOR)

    rotate_secret(read_before, ACTOR)

    assert Webhook.objects.get().previous_secret == in_force


def test_enabling_resets_the_health_and_sends_waiting_deliveries(enqueued):
    webhook = WebhookFactory(
        given_up=True,
        failures_in_a_row=70,
        open_until=timezone.now() + timedelta(minutes=5),
        notice_due_at=timezone.now(),
    )

    enable_webhook(webhook, ACTOR)

    webhook.refresh_from_db()
    assert webhook.is_active
    assert (webhook.disabled_because, webhook.disabled_at, webhook.failing_since) == ("", None, None)
    assert (webhook.failures_in_a_row, webhook.open_until, webhook.notice_due_at) == (0, None, None)
    assert enqueued == [("webhooks.deliver", webhook.pk)]


def test_a_removed_webhook_is_gone_at_once_and_what_is_secret_with_it(enqueued):
    webhook = with_everything()
    DeliveryFactory(webhook=webhook)
    enqueued.clear()

    remove_webhook(webhook, ACTOR)

    assert not Webhook.objects.registered().exists()
    assert not Webhook.objects.active().exists()
    assert (stored(webhook)["http_auth_password"], stored(webhook)["previous_secret"]) == ("", "")
    assert enqueued == [("webhooks.purge", webhook.pk)]


@pytest.mark.parametrize("is_purged", [False, True])
def test_verbs_do_not_restore_a_webhook_removed_meanwhile(is_purged, enqueued):
    webhook = WebhookFactory()
    read_before = Webhook.objects.get()
    remove_webhook(webhook, ACTOR)
    if is_purged:
        retention.purge(webhook.pk)

    remove_webhook(read_before, ACTOR)
    disable_webhook(read_before, ACTOR)
    disable_if_given_up(read_before, SYSTEM, is_gone=True)
    for verb in (enable_webhook, send_test, rotate_secret):
        with pytest.raises(Conflict):
            verb(read_before, ACTOR)

    assert (Webhook.objects.registered().count(), Event.objects.count()) == (0, 0)
    assert enqueued == [("webhooks.purge", webhook.pk)]


# Forgetting: what is old, what removed webhooks leave, and nothing else


def aged(days: float) -> Event:
    """An event of so many days ago that was delivered."""
    attempt = AttemptFactory()
    event: Event = attempt.delivery.event
    Event.objects.filter(pk=event.pk).update(created_at=timezone.now() - timedelta(days=days))
    return event


def counts() -> tuple[int, int, int]:
    return Event.objects.count(), Delivery.objects.count(), Attempt.objects.count()


def test_events_older_than_90_days_go_with_their_deliveries_and_attempts_in_pieces(monkeypatch):
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


def test_old_events_are_found_by_an_index():
    EventFactory.create_batch(300)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE webhooks_event")
        cursor.execute("SET LOCAL enable_seqscan = off")
    with CaptureQueriesContext(connection) as captured:
        retention.prune(timezone.now())

    (plan,) = rows_of(f"EXPLAIN (FORMAT JSON) {captured[0]['sql']}")
    assert "event_created_at" in str(plan)


def test_a_removed_webhook_is_cleared_away_with_what_was_sent_and_its_history_stays(monkeypatch):
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
def test_an_attempt_that_is_stored_while_its_webhook_is_purged_does_not_stay_behind():
    webhook = WebhookFactory(healthy=True)
    DeliveryFactory.create_batch(40, webhook=webhook, next_attempt_at=timezone.now() - timedelta(minutes=1))
    claimed = delivery_worker._claim(webhook)
    outcome = Outcome(200, "", b"", 0.1, None)
    remove_webhook(Webhook.objects.get(), ACTOR)

    def store():
        for delivery in claimed:
            delivery_worker._store(webhook, [delivery_worker.Result(delivery, timezone.now(), outcome)], [], 0)

    def purge():
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.01)")
        retention.purge(webhook.pk)

    at_once([store, purge])
    retention.purge(webhook.pk)

    assert (Delivery.objects.count(), Attempt.objects.count(), Webhook.objects.count()) == (0, 0, 0)
