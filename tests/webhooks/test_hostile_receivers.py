"""Receivers that misbehave, and a real worker process that has to do with them."""

import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier

from tests.processes import wait_for
from tests.webhooks.processes import all_succeeded, happen, registered
from tests.webhooks.receivers import Peer, always, receiver, tls_for
from webhooks.models import Delivery, Webhook

pytestmark = pytest.mark.usefixtures("emptied")


def answering(*statuses: int) -> Callable[[Peer], None]:
    left = list(statuses)
    lock = threading.Lock()

    def script(peer: Peer) -> None:
        while peer.request():
            with lock:
                status = left.pop(0) if len(left) > 1 else left[0]
            peer.answer(status)

    return script


def test_a_receiver_that_answers_500_twice_gets_the_same_message_signed_anew(worker: Any) -> None:
    with receiver(answering(500, 500, 200)) as running:
        webhook = registered(running)
        happen()
        wait_for(all_succeeded)

    requests = running.requests
    assert len({request.headers["webhook-id"] for request in requests}) == 1
    assert len(requests) == 3
    for request in requests:
        Verifier(webhook.secret).verify(request.body, dict(request.headers))
    stamps = [int(request.headers["webhook-timestamp"]) for request in requests]
    assert stamps == sorted(stamps)
    assert stamps[-1] > stamps[0]
    assert list(webhook.attempts.order_by("id").values_list("status", flat=True)) == [500, 500, 200]


def has_failed() -> bool:
    return Delivery.objects.get().state == "failed"


@pytest.mark.trial
def test_a_redirect_fails_visibly_and_is_not_followed(worker: Any) -> None:
    with receiver(always()) as elsewhere, receiver(always(302, Location=elsewhere.url)) as running:
        webhook = registered(running)
        happen()
        wait_for(has_failed)

    assert (len(running.requests), elsewhere.connections) == (3, 0)
    assert list(webhook.attempts.values_list("status", flat=True)) == [302] * 3


def test_410_disables_and_what_comes_later_is_not_sent(worker: Any) -> None:
    with receiver(always(410)) as running:
        webhook = registered(running)
        happen()
        wait_for(has_failed)
        happen(5, start=1)
        registered(running)
        happen(start=6)
        # The second delivery was sent, so the first would have been sent too.
        wait_for(lambda: len(running.requests) > 1)

    webhook.refresh_from_db()
    assert webhook.attempts.count() == 1
    assert webhook.deliveries.count() == 1
    assert (webhook.is_active, webhook.disabled_because) == (False, "gone")
    assert webhook.history.filter(action="disable: gone").count() == 1


@pytest.mark.trial
def test_a_gigabyte_of_body_is_not_read(worker: subprocess.Popen[bytes]) -> None:
    written: list[int] = []

    def gigabyte(peer: Peer) -> None:
        peer.request()
        piece = b"x" * 1_000_000
        peer.sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        with suppress(OSError):
            for _ in range(1000):
                peer.sock.sendall(piece)
                written.append(len(piece))

    with receiver(always()) as ordinary:
        registered(ordinary)
        happen()
        wait_for(all_succeeded)
    Webhook.objects.update(is_active=False)
    # Now the worker has imported its modules.
    before = memory_of(worker)
    with receiver(gigabyte) as running:
        webhook = registered(running)
        happen(start=1)
        wait_for(all_succeeded)

    assert len(webhook.attempts.get().answer) == 2048
    # The size of the socket buffers of both sides.
    assert sum(written) < 20_000_000
    assert memory_of(worker) - before < 30_000_000


def memory_of(process: subprocess.Popen[bytes]) -> int:
    """Resident bytes."""
    pages = Path(f"/proc/{process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")


def test_a_certificate_for_another_host_is_refused_before_a_word_is_said(worker: Any, folder: Path) -> None:
    with receiver(always(), tls_for(folder, "elsewhere.example")) as running:
        webhook = registered(running)
        happen()
        wait_for(has_failed)

    assert running.requests == []
    assert set(webhook.attempts.values_list("error", flat=True)) == {"tls: the certificate is for another host"}


def test_with_its_own_certificate_the_same_receiver_is_sent_to(worker: Any, folder: Path) -> None:
    with receiver(always(), tls_for(folder, "127.0.0.1")) as running:
        registered(running)
        happen()
        wait_for(all_succeeded)

    assert len(running.requests) == 1
