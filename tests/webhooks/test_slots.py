"""How many threads of a process wait for which receiver, and the deadline of each request."""

import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from tests.webhooks.due import due, registered
from tests.webhooks.factories import WebhookFactory
from tests.webhooks.receivers import Peer, Script, always, authorities, full_backlog, receiver, silent
from tests.webhooks.sending import post
from webhooks import delivery_worker
from webhooks.delivery_worker import deliver
from webhooks.models import Webhook
from webhooks.slots import SLOW_SECONDS, Receiver, Slots
from webhooks.transport.sender import Outcome, Sender


def healthy(number: int, origin: str = "") -> Receiver:
    return Receiver(number, origin or f"https://{number}.example:443", is_suspect=False)


def suspect(number: int, origin: str = "") -> Receiver:
    return Receiver(number, origin or f"https://{number}.example:443", is_suspect=True)


@pytest.fixture
def stack():
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
def test_slots_are_bounded_for_origins_suspects_and_all(bound, for_suspects, receivers, expected, stack):
    assert taken(stack, Slots(bound, per_origin=2, for_suspects=for_suspects), *receivers) == expected


def test_a_slot_is_free_after_its_turn():
    slots = Slots(bound=1, per_origin=1, for_suspects=1)

    for number in range(3):
        with slots.acquire(suspect(number)) as has_slot:
            assert has_slot


def test_an_origin_has_one_slot_while_a_third_is_taken(stack):
    """Of ten receivers that begin to hang at one moment, each with much to send, few take two slots."""
    slots = Slots()
    hanging = [healthy(number) for number in range(10) for _ in range(2)]

    assert sum(taken(stack, slots, *hanging)) == 14
    assert taken(stack, slots, healthy(10), healthy(11)) == [True, True]


def test_an_origin_counts_as_suspect_while_it_is_slow_until_a_batch_of_quick_answers(stack):
    slots = Slots(bound=12, per_origin=2, for_suspects=1)

    slots.measure(healthy(1).origin, SLOW_SECONDS + 0.1)
    assert slots.is_slow(healthy(1).origin)
    assert taken(stack, slots, healthy(1), healthy(1), suspect(2)) == [True, False, False]

    slots.measure(healthy(1).origin, SLOW_SECONDS)
    assert not slots.is_slow(healthy(1).origin)


def test_a_free_slot_goes_to_the_first_waiting_webhook_that_fits(stack):
    slots = Slots(bound=2, per_origin=1, for_suspects=2)
    taken(stack, slots, healthy(1))
    with slots.acquire(healthy(2)):
        taken(stack, slots, healthy(3, healthy(1).origin), healthy(4), healthy(5))
        assert slots.pop_next() is None

    assert [slots.pop_next(), slots.pop_next()] == [4, 5]
    # Its origin is still occupied.
    assert slots.pop_next() is None


def test_a_webhook_with_a_slot_does_not_wait():
    slots = Slots(bound=1, per_origin=1, for_suspects=1)
    with slots.acquire(healthy(1)), slots.acquire(healthy(2)):
        pass
    with slots.acquire(healthy(2)):
        assert slots.pop_waiting(2) is False

    assert slots.pop_next() is None


# Deliveries


@pytest.fixture
def slots(monkeypatch, settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    slots = Slots(bound=14, per_origin=2, for_suspects=6)
    monkeypatch.setattr(delivery_worker, "slots", slots)
    return slots


@pytest.mark.django_db
@pytest.mark.usefixtures("enqueued")
@pytest.mark.parametrize(("seconds", "is_slow"), [(1e9, False), (-1, True)])
def test_a_slow_receiver_has_one_slot_and_releases_it_after_each_batch(seconds, is_slow, slots, stack, monkeypatch):
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
def test_a_webhook_that_waited_for_a_slot_is_delivered_next(slots, monkeypatch):
    with receiver(always()) as running:
        webhook = registered(running)
        due(webhook)
        nested: list[list[int]] = []

        def look(*args):
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
def test_a_webhook_that_waits_after_the_last_check_is_not_lost(is_own, slots, monkeypatch):
    webhook = WebhookFactory(subscription_url="https://hooks.example/1")
    noted = webhook if is_own else WebhookFactory(subscription_url="https://hooks.example/2")

    def take_turn(*args):
        with slots.acquire(suspect(noted.pk, "https://hooks.example:443")) as has_slot:
            assert not has_slot
        return False

    monkeypatch.setattr(delivery_worker, "_take_turn", take_turn)

    assert deliver(webhook.pk) == [noted.pk]
    assert slots.pop_waiting(noted.pk) is False


@pytest.mark.django_db
def test_a_turn_with_more_to_send_goes_behind_waiting_webhooks(slots, monkeypatch):
    webhook: Webhook = WebhookFactory(subscription_url="https://hooks.example/1")

    def take_turn(*args):
        with slots.acquire(suspect(webhook.pk + 1, "https://hooks.example:443")):
            return True

    monkeypatch.setattr(delivery_worker, "_take_turn", take_turn)

    assert deliver(webhook.pk) == [webhook.pk + 1, webhook.pk]


# Seconds. A longer deadline is tried if a busy machine took too long to reach the slow part of the receiver.
DEADLINES = (0.4, 4.0, 20.0)
# An answer that is sent byte by byte takes minutes if the sender does not hang up.
WITHOUT_END = b"x" * 10_000
OK = b"HTTP/1.1 200 OK\r\n"

Leave = Callable[..., Outcome]


@pytest.fixture
def leave(tmp_path):
    """Makes a request with a deadline: that its outcome is a time-out, after this status, and came when it had to."""

    def leave(url, status=None, error="timeout"):
        for seconds in DEADLINES:
            sender = Sender(timeout=seconds, allowed_networks=["127.0.0.0/8"], authorities=authorities(tmp_path))
            outcome = post(sender, url)
            sender.close()
            if (outcome.status, outcome.error) == (status, error):
                break
        assert (outcome.status, outcome.error) == (status, error)
        assert seconds * 0.9 < outcome.seconds < seconds + 30
        return outcome

    return leave


def trickling(beginning: bytes) -> Script:
    """Answers a request with a beginning at once, and the rest byte by byte."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.sock.sendall(beginning)
        peer.trickle(WITHOUT_END, 0.05)

    return script


SLOW: dict[str, tuple[Script, int | None]] = {
    "no answer": (silent, None),
    "headers": (trickling(OK + b"X-Padding: "), None),
    "body": (trickling(OK + b"Content-Length: 10001\r\n\r\nx"), 200),
}


@pytest.mark.parametrize("part", SLOW)
def test_a_slow_answer_is_left_at_the_deadline(part, leave):
    script, status = SLOW[part]
    with receiver(script) as running:
        outcome = leave(running.url, status)

    assert part != "body" or set(outcome.answer) == {ord("x")}


def test_a_receiver_that_never_accepts_is_left_at_the_deadline(leave):
    with full_backlog() as port:
        leave(f"http://127.0.0.1:{port}/")


def test_a_handshake_that_trickles_in_is_left_at_the_deadline(leave):
    def script(peer):
        peer.sock.recv(10_000)
        # The beginning of a server's handshake, of a length that never comes.
        peer.trickle(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03" + WITHOUT_END, 0.05)

    with receiver(script) as running:
        leave(running.url.replace("http:", "https:"))


def test_a_name_server_that_hangs_is_left_at_the_deadline(leave, monkeypatch):
    may_answer = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: may_answer.wait(100) and [])

    try:
        leave("http://hanging.example/", error="dns")
    finally:
        may_answer.set()


def test_an_unresponsive_address_leaves_time_for_the_next(sender, resolve, monkeypatch):
    resolve("two.example", ["127.0.0.2", "127.0.0.1"])
    swallowed: list[float] = []
    connect = socket.socket.connect

    def connect_or_hang(sock, address):
        if address[0] == "127.0.0.2":
            swallowed.append(sock.gettimeout() or 0.0)
            raise TimeoutError
        connect(sock, address)

    monkeypatch.setattr(socket.socket, "connect", connect_or_hang)
    with receiver(always()) as running:
        assert post(sender, running.at("two.example")).status == 200

    # Half of the sender's 60 seconds, or of the rest of them on a busy machine.
    assert len(swallowed) == 1
    assert 20 < swallowed[0] <= 30
