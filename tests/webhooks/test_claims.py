"""Who works for which receiver, and what becomes of what a worker has in its hands."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.serving import at_once
from tests.webhooks.due import database_now, due, ids, make_due, registered, reread
from tests.webhooks.factories import WebhookFactory
from tests.webhooks.receivers import Peer, always, receiver
from webhooks import delivering
from webhooks.delivering import deliver
from webhooks.models import Attempt, Delivery, Webhook
from webhooks.models.delivery import LEASE_SECONDS
from webhooks.transport import Outcome

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_receivers", "woken")]


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

    assert [delivery.state for delivery in reread(deliveries)] == ["succeeded"] * 2 + ["waiting"] * 2
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
