"""Delivering against receivers on real sockets: what they get, when they get it again, when they are left alone."""

import json
import random
import threading
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from urllib.parse import parse_qs

import pytest
from django.db import connection
from django.utils import timezone
from standardwebhooks import Webhook as Verifier

from tests.conftest import ACTOR
from tests.serving import at_once
from tests.webhooks.factories import DeliveryFactory, WebhookFactory
from tests.webhooks.receivers import Peer, Receiver, Request, Script, always, receiver, silent
from tests.webhooks.sending import Resolve
from webhooks import delivering
from webhooks.delivering import FAILURES_TO_OPEN, deliver
from webhooks.models import Attempt, Delivery, Webhook
from webhooks.models.delivery import DELAYS, LEASE_SECONDS
from webhooks.transport import Outcome

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_receivers", "woken")]


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


def due(webhook: Webhook, count: int = 1, **values: Any) -> list[Delivery]:
    # The database's now() stands still in a test's transaction.
    at = timezone.now() - timedelta(minutes=1)
    return list(DeliveryFactory.create_batch(count, webhook=webhook, next_attempt_at=at, **values))


def make_due(webhook: Webhook) -> None:
    """As if the time of the next attempt had come, and a pause were over."""
    webhook.deliveries.waiting().update(next_attempt_at=timezone.now() - timedelta(seconds=1))
    Webhook.objects.filter(pk=webhook.pk).update(open_until=None)


def database_now() -> datetime:
    """It stands still in a test's transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT now()")
        return cast("datetime", cursor.fetchone()[0])


def ids(requests: Iterable[Request]) -> list[str]:
    return [request.headers["webhook-id"] for request in requests]


# The request


def test_a_request_verifies_by_the_reference_and_says_what_the_event_says() -> None:
    with receiver(always()) as running:
        webhook = registered(running)
        (delivery,) = due(webhook)
        deliver(webhook.pk)

    (request,) = running.requests
    verified = Verifier(webhook.secret).verify(request.body, dict(request.headers))
    assert verified == delivery.event.message
    assert request.headers["webhook-id"] == str(delivery.event.event_id)
    assert request.headers["content-type"] == "application/json"
    assert "authorization" not in request.headers


def test_a_form_is_signed_as_it_is_sent_and_has_null_for_what_is_unset() -> None:
    with receiver(always()) as running:
        webhook = registered(running, format="form")
        due(webhook, event__payload={"ticket_id": "5012", "customer_id": None, "agent_login": "Łucja & co"})
        deliver(webhook.pk)

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


def test_the_credentials_of_a_webhook_go_with_its_deliveries() -> None:
    with receiver(always()) as running:
        webhook = registered(running, http_auth_user="anna", http_auth_password="zażółć")
        due(webhook)
        deliver(webhook.pk)

    assert running.requests[0].headers["authorization"] == "Basic YW5uYTp6YcW8w7PFgsSH"


def test_during_a_rotation_old_and_new_secret_verify_and_afterwards_the_new_one_alone() -> None:
    with receiver(always()) as running:
        webhook = registered(running)
        old = webhook.secret
        new = webhook.rotate_secret(ACTOR)
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


def test_events_of_a_batch_come_in_their_order_over_one_connection() -> None:
    with receiver(always()) as running:
        webhook = registered(running)
        deliveries = due(webhook, 150)
        assert deliver(webhook.pk) is False

    assert ids(running.requests) == [str(delivery.event.event_id) for delivery in deliveries]
    assert running.connections == 1
    assert webhook.deliveries.waiting().count() == 0


def test_the_next_attempt_has_the_same_id_and_body_and_a_signature_of_its_own_time(time_machine: Any) -> None:
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
    assert list(webhook.attempts.order_by("id").values_list("status", "answer")) == [
        (500, "said"),
        (500, "said"),
        (200, "said"),
    ]


# The schedule


def test_attempts_are_made_by_the_schedule_with_jitter_and_the_last_failure_is_visible() -> None:
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

    assert len(running.requests) == len(DELAYS) + 1 == 8
    for (from_before, from_after), planned in zip(waits, DELAYS, strict=True):
        assert planned <= from_before
        assert from_after <= planned * 1.1
    assert (delivery.state, delivery.attempt_count) == ("failed", 8)
    assert delivery.finished_at is not None


def test_the_jitter_differs_between_deliveries_so_that_they_do_not_come_back_at_once() -> None:
    random.seed(1)
    with receiver(always(500)) as running:
        webhook = registered(running)
        due(webhook, FAILURES_TO_OPEN)
        deliver(webhook.pk)

    times = webhook.deliveries.values_list("next_attempt_at", flat=True)
    assert len({round(at.timestamp(), 2) for at in times if at}) == FAILURES_TO_OPEN


def test_the_first_retry_waits_five_seconds_and_not_for_a_pause() -> None:
    """One failure is no reason to pause a receiver: its retry would come late."""
    with receiver(always(500)) as running:
        webhook = registered(running)
        due(webhook)
        deliver(webhook.pk)

    webhook.refresh_from_db()
    assert (webhook.failures_in_a_row, webhook.open_until) == (1, None)


@pytest.mark.parametrize("status", [301, 302, 307, 400, 404, 500, 503])
def test_whatever_is_no_2xx_is_a_failure_and_a_redirect_is_not_followed(status: int) -> None:
    with receiver(always(200)) as elsewhere, receiver(always(status, Location=elsewhere.url)) as running:
        webhook = registered(running)
        (delivery,) = due(webhook)
        deliver(webhook.pk)

    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempt_count) == ("waiting", 1)
    assert elsewhere.requests == []


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_any_2xx_is_success(status: int) -> None:
    with receiver(always(status, b"" if status == 204 else b"ok")) as running:
        webhook = registered(running)
        (delivery,) = due(webhook)
        deliver(webhook.pk)

    delivery.refresh_from_db()
    assert (delivery.state, delivery.next_attempt_at) == ("succeeded", None)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_retry_after_puts_the_next_attempt_off_where_it_is_longer_than_the_schedule(status: int) -> None:
    with receiver(always(status, Retry_After="3600")) as running:
        webhook = registered(running)
        (delivery,) = due(webhook)
        before = timezone.now()
        deliver(webhook.pk)

    delivery.refresh_from_db()
    assert delivery.next_attempt_at is not None
    assert delivery.next_attempt_at - timezone.now() <= timedelta(hours=1) <= delivery.next_attempt_at - before


def test_retry_after_is_never_shorter_than_the_schedule() -> None:
    with receiver(always(500, Retry_After="0")) as running:
        webhook = registered(running)
        (delivery,) = due(webhook, attempt_count=3)
        before = timezone.now()
        deliver(webhook.pk)

    delivery.refresh_from_db()
    assert delivery.next_attempt_at is not None
    assert delivery.next_attempt_at - before >= DELAYS[3]


@pytest.mark.parametrize("status", [429, 503])
def test_a_receiver_that_says_how_long_it_is_busy_is_sent_nothing_until_then(status: int) -> None:
    with receiver(always(status, Retry_After="600")) as running:
        webhook = registered(running)
        due(webhook, 10)
        deliver(webhook.pk)
        deliver(webhook.pk)

    webhook.refresh_from_db()
    assert len(running.requests) == 1
    assert webhook.open_until == database_now() + timedelta(seconds=600)


# Giving up


def test_410_disables_at_once_and_the_rest_of_the_batch_is_kept_for_a_change_of_mind(woken: list[Any]) -> None:
    with receiver(answers(410, 200)) as running:
        webhook = registered(running)
        deliveries = due(webhook, 5)
        deliver(webhook.pk)
        deliver(webhook.pk)

    webhook.refresh_from_db()
    assert len(running.requests) == 1
    assert (webhook.is_active, webhook.disabled_because) == (False, "gone")
    assert [delivery.state for delivery in _reread(deliveries)] == ["failed"] + ["waiting"] * 4
    assert ("webhooks.notify_disabled", webhook.pk) in woken
    assert webhook.history.latest("id").action == "disable: gone"


def _reread(deliveries: list[Delivery]) -> list[Delivery]:
    return list(Delivery.objects.filter(pk__in=[delivery.pk for delivery in deliveries]).order_by("id"))


@pytest.mark.parametrize(("hours", "is_active"), [(119, True), (121, False)])
def test_five_days_of_nothing_but_failures_disable(hours: int, is_active: bool, woken: list[Any]) -> None:
    with receiver(always(500)) as running:
        since = timezone.now() - timedelta(hours=hours)
        webhook = registered(running, failing_since=since, failures_in_a_row=50)
        due(webhook)
        deliver(webhook.pk)

    webhook.refresh_from_db()
    assert webhook.is_active is is_active
    assert webhook.disabled_because == ("" if is_active else "failing")
    assert (("webhooks.notify_disabled", webhook.pk) in woken) is not is_active


def test_a_success_among_failures_begins_the_five_days_anew() -> None:
    """A receiver that takes most and refuses one at the end of each batch has not failed for five days."""
    with receiver(answers(200, 200, 500)) as running:
        webhook = registered(running, failing_since=timezone.now() - timedelta(days=6))
        due(webhook, 3)
        deliver(webhook.pk)

    webhook.refresh_from_db()
    assert webhook.is_active
    assert webhook.last_success_at is not None
    assert webhook.failing_since is not None
    assert timezone.now() - webhook.failing_since < timedelta(minutes=1)


def test_a_success_ends_failing_and_pause() -> None:
    with receiver(always()) as running:
        webhook = registered(
            running, failing_since=timezone.now() - timedelta(days=3), failures_in_a_row=9, open_until=timezone.now()
        )
        due(webhook, 3)
        deliver(webhook.pk)

    webhook.refresh_from_db()
    assert (webhook.failures_in_a_row, webhook.failing_since, webhook.open_until) == (0, None, None)
    assert len(running.requests) == 3


# Circuit breaker


def test_after_five_failures_in_a_row_a_receiver_is_left_alone() -> None:
    with receiver(always(500)) as running:
        webhook = registered(running)
        due(webhook, 20)
        deliver(webhook.pk)
        deliver(webhook.pk)

    webhook.refresh_from_db()
    assert len(running.requests) == FAILURES_TO_OPEN
    assert webhook.is_paused
    # What was not sent has lost none of its attempts.
    assert webhook.deliveries.filter(attempt_count=0).count() == 20 - FAILURES_TO_OPEN


def test_a_receiver_that_does_not_answer_is_left_alone_at_once(settings: Any) -> None:
    settings.WEBHOOK_TIMEOUT_SECONDS = 1
    with receiver(silent) as running:
        webhook = registered(running)
        due(webhook, 20)
        deliver(webhook.pk)

    webhook.refresh_from_db()
    assert len(running.requests) == 1
    assert webhook.is_paused
    assert list(webhook.attempts.values_list("status", "error")) == [(None, "timeout")]


def test_pauses_grow_up_to_five_minutes() -> None:
    webhook: Webhook = WebhookFactory(subscription_url="http://127.0.0.1:9/nobody")
    due(webhook, 12)
    pauses = []
    for _ in range(10):
        Webhook.objects.update(open_until=None)
        make_due(webhook)
        deliver(webhook.pk)
        webhook.refresh_from_db()
        assert webhook.open_until is not None
        pauses.append((webhook.open_until - database_now()).total_seconds())

    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300, 300, 300]


def test_after_a_pause_one_delivery_tries_and_the_others_follow_its_success() -> None:
    with receiver(answers(200)) as running:
        webhook = registered(running, failures_in_a_row=7, open_until=timezone.now() - timedelta(seconds=1))
        due(webhook, 10)
        claimed = delivering._claim(webhook)
        assert len(claimed) == 1
        assert delivering._claim(webhook) == []
        make_due(webhook)
        deliver(webhook.pk)

    assert len(running.requests) == 10


def test_a_paused_or_disabled_or_removed_webhook_is_sent_nothing() -> None:
    with receiver(always()) as running:
        paused = registered(running, open_until=timezone.now() + timedelta(minutes=1))
        disabled, removed = registered(running), registered(running)
        for webhook in (paused, disabled, removed):
            due(webhook)
        disabled.disable(ACTOR)
        removed.remove(ACTOR)
        for webhook in (paused, disabled, removed):
            assert deliver(webhook.pk) is False

    assert running.requests == []


@pytest.mark.parametrize("verb", ["disable", "remove"])
def test_a_webhook_that_is_disabled_or_removed_while_it_is_sent_to_gets_no_further_batch(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering, "BATCH", 2)
    with receiver(always()) as running:
        webhook = registered(running)
        due(webhook, 6)
        store = delivering._store

        def store_and_stop(*args: Any) -> None:
            store(*args)
            getattr(Webhook.objects.get(pk=webhook.pk), verb)(ACTOR)

        monkeypatch.setattr(delivering, "_store", store_and_stop)
        deliver(webhook.pk)

    assert len(running.requests) == 2


def test_a_secret_that_is_rotated_while_deliveries_run_signs_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivering, "BATCH", 1)
    with receiver(always()) as running:
        webhook = registered(running)
        due(webhook, 2)
        store = delivering._store

        def store_and_rotate(*args: Any) -> None:
            store(*args)
            if webhook.attempts.count() == 1:
                Webhook.objects.get(pk=webhook.pk).rotate_secret(ACTOR)

        monkeypatch.setattr(delivering, "_store", store_and_rotate)
        deliver(webhook.pk)

    webhook.refresh_from_db()
    Verifier(webhook.secret).verify(running.requests[1].body, dict(running.requests[1].headers))


# Claims


def test_a_batch_takes_so_many_and_leases_them() -> None:
    webhook = WebhookFactory(healthy=True)
    due(webhook, delivering.BATCH + 5)

    claimed = delivering._claim(webhook)

    assert len(claimed) == delivering.BATCH
    assert {delivery.leased_until for delivery in claimed} == {database_now() + timedelta(seconds=LEASE_SECONDS)}
    assert len(delivering._claim(webhook)) == 5


def test_what_a_dead_worker_held_is_due_again_when_its_lease_is_over_and_has_lost_no_attempt() -> None:
    with receiver(always()) as running:
        webhook = registered(running)
        due(webhook, 3)
        delivering._claim(webhook)
        deliver(webhook.pk)
        assert running.requests == []

        make_due(webhook)
        deliver(webhook.pk)

    assert len(running.requests) == 3
    assert webhook.deliveries.filter(state="succeeded", attempt_count=1).count() == 3


@pytest.mark.usefixtures("committed_db")
def test_a_worker_that_comes_back_after_its_lease_does_not_undo_what_another_has_done() -> None:
    webhook = WebhookFactory(healthy=True)
    due(webhook, 2)
    late = delivering._claim(webhook)
    make_due(webhook)
    prompt = delivering._claim(webhook)
    outcome = Outcome(500, "", b"", 0.1, None)
    success = Outcome(200, "", b"", 0.1, None)
    delivering._store(webhook, [delivering.Result(prompt[0], timezone.now(), success)], [], 0)

    # The first was sent in vain, the second not at all.
    delivering._store(webhook, [delivering.Result(late[0], timezone.now(), outcome)], [late[1]], 1)

    first, second = webhook.deliveries.order_by("id")
    assert (first.state, first.next_attempt_at) == ("succeeded", None)
    assert (second.state, second.next_attempt_at) == ("waiting", prompt[1].leased_until)
    assert (first.attempt_count, second.attempt_count) == (1, 0)


def test_what_was_delivered_after_the_lease_counts_as_delivered() -> None:
    webhook = WebhookFactory(healthy=True)
    due(webhook)
    (late,) = delivering._claim(webhook)
    make_due(webhook)
    delivering._claim(webhook)
    success = Outcome(200, "", b"", 0.1, None)

    delivering._store(webhook, [delivering.Result(late, timezone.now(), success)], [], 0)

    assert webhook.deliveries.get().state == "succeeded"


def test_deliveries_that_were_cleared_away_while_they_were_sent_leave_no_attempts() -> None:
    webhook = WebhookFactory(healthy=True)
    due(webhook)
    (claimed,) = delivering._claim(webhook)
    Delivery.objects.all().delete()

    delivering._store(webhook, [delivering.Result(claimed, timezone.now(), Outcome(200, "", b"", 0.1, None))], [], 0)

    assert Attempt.objects.count() == 0


def test_what_an_ending_worker_has_not_sent_is_due_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def script(peer: Peer) -> None:
        while peer.request():
            if len(peer.receiver.requests) == 2:
                monkeypatch.setattr("celery.worker.state.should_stop", 0)
            peer.answer()

    with receiver(script) as running:
        webhook = registered(running)
        due(webhook, 10)
        deliver(webhook.pk)

    assert len(running.requests) == 2
    assert webhook.deliveries.waiting().filter(attempt_count=0, next_attempt_at__lte=timezone.now()).count() == 8


def test_a_delivery_that_cannot_be_made_leaves_the_results_of_those_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(always()) as running:
        webhook = registered(running)
        deliveries = due(webhook, 4)
        send = delivering._send

        def fail_at_third(webhook: Webhook, delivery: delivering.Claimed) -> delivering.Result:
            if delivery.id == deliveries[2].pk:
                raise ValueError
            return send(webhook, delivery)

        monkeypatch.setattr(delivering, "_send", fail_at_third)
        with pytest.raises(ValueError):
            deliver(webhook.pk)

    assert [delivery.state for delivery in _reread(deliveries)] == ["succeeded"] * 2 + ["waiting"] * 2
    # The one that could not be made waits for its lease, so that it stops nobody.
    assert list(webhook.deliveries.filter(next_attempt_at__lte=database_now())) == deliveries[3:]


@pytest.mark.usefixtures("committed_db")
def test_workers_at_one_queue_never_send_one_delivery_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivering, "turns", delivering.Turns(per_webhook=8, for_suspects=8))
    monkeypatch.setattr(delivering, "BATCH", 7)
    with receiver(always()) as running:
        webhook = registered(running, healthy=True)
        deliveries = due(webhook, 200)
        at_once([lambda: deliver(webhook.pk)] * 6)

    assert sorted(ids(running.requests)) == sorted(str(delivery.event.event_id) for delivery in deliveries)
    assert webhook.deliveries.filter(state="succeeded", attempt_count=1).count() == 200
    assert running.connections > 1


# Turns


def test_one_receiver_has_two_threads_of_a_process_and_one_that_fails_a_single_one() -> None:
    turns = delivering.Turns(per_webhook=2, for_suspects=6)

    with turns.taken(1, is_suspect=False) as first, turns.taken(1, is_suspect=False) as second:
        with turns.taken(1, is_suspect=False) as third:
            assert (first, second, third) == (True, True, False)
        with turns.taken(2, is_suspect=True) as suspect, turns.taken(2, is_suspect=True) as another:
            assert (suspect, another) == (True, False)
    with turns.taken(1, is_suspect=True) as again:
        assert again


def test_those_that_fail_never_hold_all_threads() -> None:
    turns = delivering.Turns(per_webhook=2, for_suspects=2)

    with (
        turns.taken(1, is_suspect=True),
        turns.taken(2, is_suspect=True),
        turns.taken(3, is_suspect=True) as third,
        turns.taken(4, is_suspect=False) as healthy,
    ):
        assert (third, healthy) == (False, True)


@pytest.mark.parametrize(("seconds", "is_slow"), [(1e9, False), (-1, True)])
def test_a_receiver_whose_answers_are_slow_has_one_thread_and_goes_back_into_line_after_each_batch(
    seconds: float, is_slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering, "turns", delivering.Turns(per_webhook=2, for_suspects=6))
    monkeypatch.setattr(delivering, "BATCH", 2)
    monkeypatch.setattr(delivering, "SLOW_SECONDS", seconds)
    with receiver(always()) as running:
        webhook = registered(running, healthy=True)
        due(webhook, 4)
        is_woken_again = deliver(webhook.pk)

    assert (len(running.requests), is_woken_again) == (2 if is_slow else 4, False)
    with (
        delivering.turns.taken(webhook.pk, is_suspect=False) as first,
        delivering.turns.taken(webhook.pk, is_suspect=False) as second,
    ):
        assert (first, second) == (True, not is_slow)


def test_a_receiver_is_slow_until_a_batch_of_quick_answers() -> None:
    turns = delivering.Turns(per_webhook=2, for_suspects=6)

    turns.measure(1, delivering.SLOW_SECONDS + 0.1)
    was_slow = turns.is_slow(1)
    turns.measure(1, delivering.SLOW_SECONDS)

    assert (was_slow, turns.is_slow(1)) == (True, False)


def test_what_comes_while_all_places_are_taken_is_looked_for_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(always()) as running:
        webhook = registered(running)
        due(webhook)
        nested: list[bool] = []

        def look(*args: Any) -> bool:
            done = deliver_batch(*args)
            if not nested:
                nested.append(True)
                due(webhook)
                # Another thread: no place for it, so it leaves a note.
                nested.append(deliver(webhook.pk))
            return done

        deliver_batch = delivering._deliver_batch
        monkeypatch.setattr(delivering, "_deliver_batch", look)
        deliver(webhook.pk)

    assert nested == [True, False]
    assert len(running.requests) == 2


def test_a_note_that_comes_after_the_last_look_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    webhook = WebhookFactory()

    def take_turn(*args: Any) -> bool:
        with delivering.turns.taken(webhook.pk, is_suspect=True) as is_free:
            assert not is_free
        return False

    monkeypatch.setattr(delivering, "_take_turn", take_turn)

    assert deliver(webhook.pk) is True
    assert delivering.turns.has_note(webhook.pk) is False


# Targets and logs


def test_a_name_that_has_come_to_mean_a_forbidden_address_is_not_connected_to(settings: Any, resolve: Resolve) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    with receiver(always()) as running:
        webhook: Webhook = WebhookFactory(subscription_url=running.at("crm.client.example"))
        due(webhook)
        resolve("crm.client.example", ["127.0.0.1"])
        deliver(webhook.pk)

    assert running.requests == []
    assert running.connections == 0
    assert webhook.attempts.get().error == "forbidden address"


def test_neither_secrets_nor_credentials_nor_payloads_are_logged(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    with receiver(answers(500, 410)) as running:
        webhook = registered(running, http_auth_user="anna-user", http_auth_password="geheim-pass")
        due(webhook, 2, event__payload={"client_name": "Łucja Poufna"})
        caplog.clear()
        deliver(webhook.pk)

    logged = caplog.text + "".join(capfd.readouterr()) + repr(webhook) + str(webhook)
    for word in ("anna-user", "geheim-pass", webhook.secret, webhook.secret[6:], "Poufna", "YW5uYS11c2Vy"):
        assert word not in logged


def test_a_delivery_costs_the_same_statements_for_one_event_and_for_a_batch(django_assert_num_queries: Any) -> None:
    with receiver(always()) as running:
        webhook = registered(running, healthy=True)
        # Read, claim, store both, with two savepoints for BEGIN and COMMIT. After a full batch: read, nothing to claim.
        for count, queries in ((1, 6), (delivering.BATCH - 1, 6), (delivering.BATCH, 8)):
            due(webhook, count)
            with django_assert_num_queries(queries):
                deliver(webhook.pk)

    assert len(running.requests) == 2 * delivering.BATCH


def test_what_a_receiver_answers_is_kept_up_to_two_kilobytes_whatever_it_is() -> None:
    with receiver(always(500, b"\xff\0" + b"x" * 5000)) as running:
        webhook = registered(running)
        due(webhook)
        deliver(webhook.pk)

    answer = webhook.attempts.get().answer
    assert answer.startswith("\ufffd\ufffdxxx")
    assert len(answer) == 2048


@pytest.mark.usefixtures("committed_db")
def test_a_test_event_says_who_asked_for_it_and_is_out_of_the_feed() -> None:
    with receiver(always()) as running:
        webhook = registered(running)
        webhook.send_test(ACTOR)
        deliver(webhook.pk)

    body = json.loads(running.requests[0].body)
    assert (body["action"], body["webhook_id"], body["requested_by"]) == ("TEST", webhook.pk, "tester")
