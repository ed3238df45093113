"""Delivering against receivers on real sockets: what they get, and when they get it again."""

import random
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs

import pytest
from django.utils import timezone
from standardwebhooks import Webhook as Verifier

from tests.conftest import ACTOR
from tests.webhooks.due import database_now, delivered, due, ids, make_due, registered
from tests.webhooks.receivers import always, answers, receiver
from webhooks import delivery_worker
from webhooks.delivery_worker import FAILURES_TO_OPEN, deliver
from webhooks.models import Delivery, Webhook
from webhooks.verbs.webhooks import rotate_secret

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_receivers", "enqueued")]


# The request


def test_a_request_verifies_by_the_reference_and_says_what_the_event_says():
    webhook, running = delivered(always())

    (request,) = running.requests
    event = webhook.deliveries.get().event
    assert Verifier(webhook.secret).verify(request.body, dict(request.headers)) == event.message
    assert request.headers["webhook-id"] == str(event.event_id)
    assert request.headers["content-type"] == "application/json"
    assert "authorization" not in request.headers


def test_a_form_is_signed_as_it_is_sent_and_has_null_for_what_is_unset():
    payload = {"ticket_id": "5012", "customer_id": None, "agent_login": "Łucja & co"}

    webhook, running = delivered(always(), format="form", event__payload=payload)

    (request,) = running.requests
    signature = Verifier(webhook.secret)
    stamp = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), tz=UTC)
    assert request.headers["webhook-signature"] == signature.sign(
        request.headers["webhook-id"], stamp, request.body.decode()
    )
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    fields = parse_qs(request.body.decode(), strict_parsing=True)
    assert fields["customer_id"] == ["null"]
    assert fields["agent_login"] == ["Łucja & co"]
    assert fields["action"] == ["TICKET_CREATED"]


def test_the_credentials_of_a_webhook_go_with_its_deliveries():
    _webhook, running = delivered(always(), http_auth_user="anna", http_auth_password="zażółć")

    assert running.requests[0].headers["authorization"] == "Basic YW5uYTp6YcW8w7PFgsSH"


def test_during_a_rotation_old_and_new_secret_verify_and_afterwards_the_new_one_alone():
    with receiver(always()) as running:
        webhook = registered(running)
        old = webhook.secret
        new = rotate_secret(webhook, ACTOR)
        due(webhook)
        deliver(webhook.pk)
        Webhook.objects.update(previous_secret_expires_at=timezone.now() - timedelta(seconds=1))
        due(webhook)
        deliver(webhook.pk)

    during, after = running.requests
    for secret in (old, new):
        Verifier(secret).verify(during.body, dict(during.headers))
    Verifier(new).verify(after.body, dict(after.headers))
    assert len(after.headers["webhook-signature"].split()) == 1


def test_events_of_a_batch_come_in_their_order_over_one_connection():
    with receiver(always()) as running:
        webhook = registered(running)
        deliveries = due(webhook, 150)
        assert deliver(webhook.pk) == []

    assert ids(running.requests) == [str(delivery.event.event_id) for delivery in deliveries]
    assert running.connections == 1
    assert webhook.deliveries.waiting().count() == 0


def test_the_next_attempt_has_the_same_id_and_body_and_a_signature_of_its_own_time(time_machine):
    start = timezone.now()
    time_machine.move_to(start, tick=True)
    with receiver(answers(500, 500, 200)) as running:
        webhook = registered(running)
        due(webhook)
        for minutes in (0, 10, 20):
            time_machine.move_to(start + timedelta(minutes=minutes), tick=True)
            Delivery.objects.update(next_attempt_at=start - timedelta(days=1))
            deliver(webhook.pk)

        requests = running.requests
        assert len(set(ids(requests))) == 1
        assert len({request.body for request in requests}) == 1
        stamps = [int(request.headers["webhook-timestamp"]) for request in requests]
        assert [round((later - stamps[0]) / 60) for later in stamps] == [0, 10, 20]
        Verifier(webhook.secret).verify(requests[-1].body, dict(requests[-1].headers))
    attempts = webhook.attempts.order_by("id").values_list("status", "answer")
    assert list(attempts) == [(500, "ok"), (500, "ok"), (200, "ok")]


# The schedule


def test_attempts_are_made_by_the_schedule_with_jitter_and_the_last_failure_is_visible():
    with receiver(always(500)) as running:
        webhook = registered(running)
        (delivery,) = due(webhook)
        waits = []
        for _ in range(20):
            before = timezone.now()
            make_due(webhook)
            deliver(webhook.pk)
            delivery.refresh_from_db()
            if delivery.next_attempt_at is None:
                break
            waits.append((delivery.next_attempt_at - before, delivery.next_attempt_at - timezone.now()))

    assert len(running.requests) == len(Delivery.delays) + 1 == 8
    for (from_before, from_after), planned in zip(waits, Delivery.delays, strict=True):
        assert planned <= from_before
        assert from_after <= planned * 1.1
    assert (delivery.state, delivery.attempt_count) == ("failed", 8)
    assert delivery.finished_at is not None


def test_the_jitter_differs_between_deliveries_so_that_they_do_not_come_back_at_once():
    random.seed(1)

    webhook, _running = delivered(always(500), FAILURES_TO_OPEN)

    times = webhook.deliveries.values_list("next_attempt_at", flat=True)
    assert len({round(at.timestamp(), 2) for at in times if at}) == FAILURES_TO_OPEN


@pytest.mark.parametrize(
    ("status", "state"),
    [(status, "succeeded") for status in (200, 201, 202, 204)]
    + [(status, "waiting") for status in (301, 302, 307, 400, 404, 500, 503)],
)
def test_any_2xx_is_success_all_else_a_failure_and_redirects_are_not_followed(status, state):
    with receiver(always(200)) as elsewhere:
        webhook, _running = delivered(always(status, b"" if status == 204 else b"ok", Location=elsewhere.url))

    delivery = webhook.deliveries.get()
    assert (delivery.state, delivery.attempt_count) == (state, 1)
    assert (delivery.next_attempt_at is None) is (state == "succeeded")
    assert elsewhere.requests == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_retry_after_puts_the_next_attempt_off_where_it_is_longer_than_the_schedule(status):
    before = timezone.now()

    webhook, _running = delivered(always(status, Retry_After="3600"))

    at = webhook.deliveries.get().next_attempt_at
    assert at is not None
    assert at - timezone.now() <= timedelta(hours=1) <= at - before


def test_retry_after_is_never_shorter_than_the_schedule():
    with receiver(always(500, Retry_After="0")) as running:
        webhook = registered(running)
        (delivery,) = due(webhook, attempt_count=3)
        before = timezone.now()
        deliver(webhook.pk)

    delivery.refresh_from_db()
    assert delivery.next_attempt_at is not None
    assert delivery.next_attempt_at - before >= Delivery.delays[3]


@pytest.mark.parametrize("status", [429, 503])
def test_a_receiver_that_says_how_long_it_is_busy_is_sent_nothing_until_then(status):
    webhook, running = delivered(always(status, Retry_After="600"), 10, turns=2)

    assert len(running.requests) == 1
    assert webhook.open_until == database_now() + timedelta(seconds=600)


def test_neither_secrets_nor_credentials_nor_payloads_are_logged(caplog, capfd):
    caplog.set_level("DEBUG")
    with receiver(answers(500, 410)) as running:
        webhook = registered(running, http_auth_user="anna-user", http_auth_password="geheim-pass")
        due(webhook, 2, event__payload={"client_name": "Łucja Poufna"})
        caplog.clear()
        deliver(webhook.pk)

    logged = caplog.text + "".join(capfd.readouterr()) + repr(webhook) + str(webhook)
    for word in ("anna-user", "geheim-pass", webhook.secret, webhook.secret[6:], "Poufna", "YW5uYS11c2Vy"):
        assert word not in logged


@pytest.mark.slow("sends many events")
def test_a_delivery_costs_the_same_statements_for_one_event_and_for_a_batch(django_assert_num_queries):
    with receiver(always()) as running:
        webhook = registered(running, healthy=True)
        # Read, claim, store. After a full batch: read, nothing to claim.
        for count, queries in ((1, 3), (delivery_worker.BATCH - 1, 3), (delivery_worker.BATCH, 5)):
            due(webhook, count)
            with django_assert_num_queries(queries):
                deliver(webhook.pk)

    assert len(running.requests) == 2 * delivery_worker.BATCH


def test_two_kilobytes_of_any_answer_are_stored():
    webhook, _running = delivered(always(500, b"\xff\0" + b"x" * 5000))

    answer = webhook.attempts.get().answer
    assert answer.startswith("\ufffd\ufffdxxx")
    assert len(answer) == 2048
