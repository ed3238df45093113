"""What a worker claims, in which order, and what becomes of it."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from callcentre.core.due_work import LEASE
from tests.conftest import ACTOR
from tests.serving import at_once
from tests.webhooks.due import database_now, delivered, due, ids, make_due, pks, registered, reread
from tests.webhooks.factories import WebhookFactory
from tests.webhooks.receivers import always, receiver
from webhooks import delivery_worker
from webhooks.delivery_worker import Claimed, Result, deliver
from webhooks.models import Attempt, Delivery, Webhook
from webhooks.slots import Slots
from webhooks.transport.sender import Outcome
from webhooks.verbs.webhooks import resend_deliveries

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_receivers", "enqueued")]


# Claims

# Half of them are retries. Most of both are not due.
MANY_WAITING = """
WITH events AS (
  INSERT INTO webhooks_event (id, event_id, action, subject, payload)
  SELECT n, gen_random_uuid(), 'TICKET_CREATED', 'ticket:' || n, '{}' FROM generate_series(1, 20000) n
)
INSERT INTO webhooks_delivery (event_id, webhook_id, state, attempt_count, is_retry, next_attempt_at)
SELECT n, %s, 'waiting', n %% 2, n %% 2 = 1, now() + (n - 1000) * interval '1 second' FROM generate_series(1, 20000) n
"""


def test_a_batch_takes_so_many_and_leases_them():
    webhook = WebhookFactory(healthy=True)
    due(webhook, delivery_worker.BATCH + 5)

    claimed = delivery_worker._claim(webhook)

    assert len(claimed) == delivery_worker.BATCH
    assert {delivery.claimed_until for delivery in claimed} == {database_now() + LEASE}
    assert len(delivery_worker._claim(webhook)) == 5


def claimed_ids(webhook: Webhook) -> list[int]:
    return [delivery.id for delivery in delivery_worker._claim(webhook)]


def store(webhook: Webhook, delivery: Claimed, status: int, left: Sequence[Claimed] = ()) -> None:
    """Store the answer to one delivery of a batch, of which others are left."""
    result = Result(delivery, timezone.now(), Outcome(status, "", b"", 0.1, None))
    delivery_worker._store(webhook, [result], left, int(status >= 500))


def test_events_that_were_never_tried_go_before_retries_that_have_waited_longer(monkeypatch):
    monkeypatch.setattr(delivery_worker, "BATCH", 4)
    webhook = WebhookFactory(healthy=True)
    yesterday = timezone.now() - timedelta(days=1)
    retries = due(webhook, 3, at=yesterday, attempt_count=2, is_retry=True)
    untried = due(webhook, 3)

    assert claimed_ids(webhook) == [*pks(untried), retries[0].pk]
    assert claimed_ids(webhook) == pks(retries[1:])


@pytest.mark.parametrize("is_sent_again", [False, True])
def test_failed_deliveries_and_those_that_a_person_has_sent_again_go_behind_untried_events(is_sent_again):
    webhook, _running = delivered(always(404), healthy=True)
    failed = webhook.deliveries.get()
    if is_sent_again:
        resend_deliveries(Delivery.objects.filter(pk=failed.pk), ACTOR)
    (untried,) = due(webhook)
    make_due(webhook)

    assert claimed_ids(webhook) == pks([untried, failed])


def test_a_failing_receiver_is_tried_with_the_oldest_event_that_was_never_tried():
    webhook = WebhookFactory(failing=True, healthy=True)
    due(webhook, at=timezone.now() - timedelta(days=1), attempt_count=1, is_retry=True)
    oldest, *_ = due(webhook, 3)

    assert claimed_ids(webhook) == [oldest.pk]


def test_a_claim_reads_rows_by_indexes_alone():
    webhook = WebhookFactory(healthy=True)
    with connection.cursor() as cursor:
        cursor.execute(MANY_WAITING, [webhook.pk])
        cursor.execute("ANALYZE webhooks_delivery")
        cursor.execute("ANALYZE webhooks_event")
        given = {"webhook": webhook.pk, "size": delivery_worker.BATCH, "lease": LEASE}
        cursor.execute("EXPLAIN " + delivery_worker._CLAIM, given)
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert "Index Scan using delivery_untried" in plan
    assert "Index Scan using delivery_queue" in plan
    assert "Index Scan using webhooks_event_pkey" in plan
    assert "Seq Scan" not in plan


def test_deliveries_of_a_dead_worker_are_due_after_the_lease_with_all_attempts():
    with receiver(always()) as running:
        webhook = registered(running)
        due(webhook, 3)
        delivery_worker._claim(webhook)
        deliver(webhook.pk)
        assert running.requests == []

        make_due(webhook)
        deliver(webhook.pk)

    assert len(running.requests) == 3
    assert webhook.deliveries.filter(state="succeeded", attempt_count=1).count() == 3


@pytest.mark.usefixtures("committed_db")
def test_a_worker_after_its_lease_does_not_overwrite_another_worker():
    webhook = WebhookFactory(healthy=True)
    due(webhook, 2)
    late = delivery_worker._claim(webhook)
    make_due(webhook)
    prompt = delivery_worker._claim(webhook)
    store(webhook, prompt[0], 200)

    # The first attempt failed; the second was not sent.
    store(webhook, late[0], 500, [late[1]])

    first, second = webhook.deliveries.order_by("id")
    assert (first.state, first.next_attempt_at) == ("succeeded", None)
    assert (second.state, second.next_attempt_at) == ("waiting", prompt[1].claimed_until)
    assert (first.attempt_count, second.attempt_count) == (1, 0)


def test_a_success_after_the_lease_counts():
    webhook = WebhookFactory(healthy=True)
    due(webhook)
    (late,) = delivery_worker._claim(webhook)
    make_due(webhook)
    delivery_worker._claim(webhook)

    store(webhook, late, 200)

    assert webhook.deliveries.get().state == "succeeded"


def test_deliveries_pruned_while_sending_leave_no_attempts():
    webhook = WebhookFactory(healthy=True)
    due(webhook)
    (claimed,) = delivery_worker._claim(webhook)
    Delivery.objects.all().delete()

    store(webhook, claimed, 200)

    assert Attempt.objects.count() == 0


def test_unsent_deliveries_of_a_stopping_worker_are_due_at_once(monkeypatch):
    def script(peer):
        while peer.request():
            if len(peer.receiver.requests) == 2:
                monkeypatch.setattr("celery.worker.state.should_stop", 0)
            peer.answer()

    webhook, running = delivered(script, 10)

    assert len(running.requests) == 2
    assert webhook.deliveries.waiting().filter(attempt_count=0, next_attempt_at__lte=timezone.now()).count() == 8


def test_a_delivery_that_cannot_be_made_leaves_the_results_of_those_before_it(monkeypatch):
    with receiver(always()) as running:
        webhook = registered(running)
        deliveries = due(webhook, 4)
        send = delivery_worker._send

        def fail_at_third(webhook, delivery):
            if delivery.id == deliveries[2].pk:
                raise ValueError
            return send(webhook, delivery)

        monkeypatch.setattr(delivery_worker, "_send", fail_at_third)
        with pytest.raises(ValueError):
            deliver(webhook.pk)

    assert [delivery.state for delivery in reread(deliveries)] == ["succeeded"] * 2 + ["waiting"] * 2
    # The delivery without a request waits for the end of its lease, so that the others go on.
    assert list(webhook.deliveries.filter(next_attempt_at__lte=timezone.now())) == deliveries[3:]


@pytest.mark.usefixtures("committed_db")
def test_workers_at_one_queue_never_send_one_delivery_twice(monkeypatch):
    monkeypatch.setattr(delivery_worker, "slots", Slots(bound=24, per_origin=8, for_suspects=8))
    monkeypatch.setattr(delivery_worker, "BATCH", 7)
    with receiver(always()) as running:
        webhook = registered(running, healthy=True)
        deliveries = due(webhook, 200)
        at_once([lambda: deliver(webhook.pk)] * 6)

    assert sorted(ids(running.requests)) == sorted(str(delivery.event.event_id) for delivery in deliveries)
    assert webhook.deliveries.filter(state="succeeded", attempt_count=1).count() == 200
    assert running.connections > 1
