"""How many threads of a process wait for which receiver, and what becomes of a webhook that finds no slot."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.webhooks.due import due, registered
from tests.webhooks.factories import WebhookFactory
from tests.webhooks.receivers import always, receiver
from webhooks import delivery_worker
from webhooks.delivery_worker import deliver
from webhooks.models import Webhook
from webhooks.slots import SLOW_SECONDS, Receiver, Slots


def healthy(number: int, origin: str = "") -> Receiver:
    return Receiver(number, origin or f"https://{number}.example:443", is_suspect=False)


def suspect(number: int, origin: str = "") -> Receiver:
    return Receiver(number, origin or f"https://{number}.example:443", is_suspect=True)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def taken(stack: ExitStack, slots: Slots, *receivers: Receiver) -> list[bool]:
    """Take a slot for each, until the end of the test."""
    return [stack.enter_context(slots.acquire(receiver)) for receiver in receivers]


# Bounds


SHARED = "https://hooks.example:443"


@pytest.mark.parametrize(
    ("bound", "for_suspects", "receivers", "expected"),
    [
        # One origin has two slots, one while it is suspect; its webhooks share them.
        (12, 6, [healthy(1)] * 3, [True, True, False]),
        (12, 6, [suspect(2)] * 2, [True, False]),
        (12, 6, [healthy(number, SHARED) for number in range(3)], [True, True, False]),
        # All slots together are bounded, and suspects never hold all of them.
        (5, 5, [healthy(number) for number in range(20)], [True] * 5 + [False] * 15),
        (12, 2, [suspect(1), suspect(2), suspect(3), healthy(4)], [True, True, False, True]),
    ],
)
def test_slots_are_bounded_for_origins_suspects_and_all(
    bound: int, for_suspects: int, receivers: list[Receiver], expected: list[bool], stack: ExitStack
) -> None:
    assert taken(stack, Slots(bound, per_origin=2, for_suspects=for_suspects), *receivers) == expected


def test_a_slot_is_free_after_its_turn() -> None:
    slots = Slots(bound=1, per_origin=1, for_suspects=1)

    for number in range(3):
        with slots.acquire(suspect(number)) as has_slot:
            assert has_slot


def test_an_origin_has_one_slot_while_a_third_is_taken(stack: ExitStack) -> None:
    """Of ten receivers that begin to hang at one moment, each with much to send, few take two slots."""
    slots = Slots()
    hanging = [healthy(number) for number in range(10) for _ in range(2)]

    assert sum(taken(stack, slots, *hanging)) == 14
    assert taken(stack, slots, healthy(10), healthy(11)) == [True, True]


def test_an_origin_counts_as_suspect_while_it_is_slow_until_a_batch_of_quick_answers(stack: ExitStack) -> None:
    slots = Slots(bound=12, per_origin=2, for_suspects=1)

    slots.measure(healthy(1).origin, SLOW_SECONDS + 0.1)
    assert slots.is_slow(healthy(1).origin)
    assert taken(stack, slots, healthy(1), healthy(1), suspect(2)) == [True, False, False]

    slots.measure(healthy(1).origin, SLOW_SECONDS)
    assert not slots.is_slow(healthy(1).origin)


# Marks of waiting


def test_a_free_slot_goes_to_the_first_waiting_webhook_that_fits(stack: ExitStack) -> None:
    slots = Slots(bound=2, per_origin=1, for_suspects=2)
    taken(stack, slots, healthy(1))
    with slots.acquire(healthy(2)):
        taken(stack, slots, healthy(3, healthy(1).origin), healthy(4), healthy(5))
        assert slots.pop_next() is None

    assert [slots.pop_next(), slots.pop_next()] == [4, 5]
    # Its origin is still occupied.
    assert slots.pop_next() is None


def test_a_webhook_with_a_slot_does_not_wait() -> None:
    slots = Slots(bound=1, per_origin=1, for_suspects=1)
    with slots.acquire(healthy(1)), slots.acquire(healthy(2)):
        pass
    with slots.acquire(healthy(2)):
        assert slots.pop_waiting(2) is False

    assert slots.pop_next() is None


# Deliveries


@pytest.fixture
def slots(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Slots:
    settings.WEBHOOK_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    slots = Slots(bound=14, per_origin=2, for_suspects=6)
    monkeypatch.setattr(delivery_worker, "slots", slots)
    return slots


@pytest.mark.django_db
@pytest.mark.usefixtures("enqueued")
@pytest.mark.parametrize(("seconds", "is_slow"), [(1e9, False), (-1, True)])
def test_a_slow_receiver_has_one_slot_and_releases_it_after_each_batch(
    seconds: float, is_slow: bool, slots: Slots, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_worker, "BATCH", 2)
    monkeypatch.setattr("webhooks.slots.SLOW_SECONDS", seconds)
    with receiver(always()) as running:
        webhook = registered(running, healthy=True)
        due(webhook, 4)
        following = deliver(webhook.pk)

    assert (len(running.requests), following) == (2 if is_slow else 4, [])
    assert taken(stack, slots, *[healthy(webhook.pk, running.at("127.0.0.1", ""))] * 2) == [True, not is_slow]


@pytest.mark.django_db
@pytest.mark.usefixtures("enqueued")
def test_a_webhook_that_waited_for_a_slot_is_delivered_next(slots: Slots, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(always()) as running:
        webhook = registered(running)
        due(webhook)
        nested: list[list[int]] = []

        def look(*args: Any) -> bool:
            done = deliver_batch(*args)
            if not nested:
                nested.append([])
                due(webhook)
                # Another thread finds no slot and leaves a mark.
                nested.append(deliver(webhook.pk))
            return done

        deliver_batch = delivery_worker._deliver_batch
        monkeypatch.setattr(delivery_worker, "_deliver_batch", look)
        deliver(webhook.pk)

    assert nested == [[], []]
    assert len(running.requests) == 2


@pytest.mark.django_db
@pytest.mark.parametrize("is_own", [True, False])
def test_a_webhook_that_waits_after_the_last_check_is_not_lost(
    is_own: bool, slots: Slots, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = WebhookFactory(subscription_url="https://hooks.example/1")
    noted = webhook if is_own else WebhookFactory(subscription_url="https://hooks.example/2")

    def take_turn(*args: Any) -> bool:
        with slots.acquire(suspect(noted.pk, "https://hooks.example:443")) as has_slot:
            assert not has_slot
        return False

    monkeypatch.setattr(delivery_worker, "_take_turn", take_turn)

    assert deliver(webhook.pk) == [noted.pk]
    assert slots.pop_waiting(noted.pk) is False


@pytest.mark.django_db
def test_a_turn_with_more_to_send_goes_behind_waiting_webhooks(slots: Slots, monkeypatch: pytest.MonkeyPatch) -> None:
    webhook: Webhook = WebhookFactory(subscription_url="https://hooks.example/1")

    def take_turn(*args: Any) -> bool:
        with slots.acquire(suspect(webhook.pk + 1, "https://hooks.example:443")):
            return True

    monkeypatch.setattr(delivery_worker, "_take_turn", take_turn)

    assert deliver(webhook.pk) == [webhook.pk + 1, webhook.pk]
