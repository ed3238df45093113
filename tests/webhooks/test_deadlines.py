"""Whatever a receiver is slow at, the deadline of the request ends it: of these, none comes to an end by itself."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.webhooks.receivers import Peer, always, authorities, full_backlog, receiver, silent, tls_for
from tests.webhooks.sending import Resolve, outcome_of, post
from webhooks.transport import Outcome, Sender

# Seconds. A longer deadline is tried if a busy machine took too long to reach the slow part of the receiver.
DEADLINES = (0.4, 4.0, 20.0)
# An answer that is sent byte by byte takes minutes if the sender does not hang up.
WITHOUT_END = b"x" * 10_000

Leave = Callable[..., Outcome]


@pytest.fixture
def leave(tmp_path: Path) -> Leave:
    """Makes a request with a deadline: that its outcome is a time-out, after this status, and came when it had to."""

    def leave(attempt: Callable[[Sender], Outcome], status: int | None = None, error: str = "timeout") -> Outcome:
        for seconds in DEADLINES:
            sender = Sender(timeout=seconds, allowed_networks=["127.0.0.0/8"], authorities=authorities(tmp_path))
            outcome = attempt(sender)
            sender.close()
            if (outcome.status, outcome.error) == (status, error):
                break
        assert (outcome.status, outcome.error) == (status, error)
        assert seconds * 0.9 < outcome.seconds < seconds + 30
        return outcome

    return leave


def test_a_receiver_that_never_answers_is_left_at_the_deadline(leave: Leave) -> None:
    leave(lambda sender: outcome_of(sender, silent))


def test_a_receiver_that_never_accepts_is_left_at_the_deadline(leave: Leave) -> None:
    with full_backlog() as port:
        leave(lambda sender: post(sender, f"http://127.0.0.1:{port}/"))


def test_headers_that_trickle_in_are_left_at_the_deadline(leave: Leave) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.trickle(b"HTTP/1.1 200 OK\r\nX-Padding: " + WITHOUT_END, 0.05)

    leave(lambda sender: outcome_of(sender, script))


def test_a_body_that_trickles_in_is_left_at_the_deadline(leave: Leave) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10001\r\n\r\nx")
        peer.trickle(WITHOUT_END, 0.05)

    outcome = leave(lambda sender: outcome_of(sender, script), status=200)

    assert set(outcome.answer) == {ord("x")}


def test_chunks_that_trickle_in_are_left_at_the_deadline(leave: Leave) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        peer.trickle(b"1\r\nx\r\n" * 2000, 0.05)

    leave(lambda sender: outcome_of(sender, script), status=200)


def test_interim_answers_without_end_are_left_at_the_deadline(leave: Leave) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        while not peer.receiver.is_over.wait(0.05):
            peer.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

    leave(lambda sender: outcome_of(sender, script))


@pytest.mark.parametrize("is_secure", [False, True])
def test_a_receiver_that_takes_the_body_slowly_is_left_at_the_deadline(
    leave: Leave, is_secure: bool, tmp_path: Path
) -> None:
    def script(peer: Peer) -> None:
        while not peer.receiver.is_over.wait(0.05):
            peer.sock.recv(20_000)

    with receiver(script, tls_for(tmp_path, "127.0.0.1") if is_secure else None) as running:
        leave(lambda sender: post(sender, running.url, b"x" * 40_000_000))


def test_a_handshake_that_trickles_in_is_left_at_the_deadline(leave: Leave) -> None:
    def script(peer: Peer) -> None:
        peer.sock.recv(10_000)
        # The beginning of a server's handshake, of a length that never comes.
        peer.trickle(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03" + WITHOUT_END, 0.05)

    with receiver(script) as running:
        leave(lambda sender: post(sender, running.url.replace("http:", "https:")))


def test_an_answer_over_tls_that_trickles_in_is_left_at_the_deadline(leave: Leave, tmp_path: Path) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.trickle(b"HTTP/1.1 200 OK\r\nX-Padding: " + WITHOUT_END, 0.05)

    with receiver(script, tls_for(tmp_path, "127.0.0.1")) as running:
        leave(lambda sender: post(sender, running.url))


def test_a_name_server_that_hangs_is_left_at_the_deadline(leave: Leave, monkeypatch: pytest.MonkeyPatch) -> None:
    may_answer = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: may_answer.wait(100) and [])

    try:
        leave(lambda sender: post(sender, "http://hanging.example/"), error="dns")
    finally:
        may_answer.set()


def test_an_unresponsive_address_leaves_time_for_the_next(
    sender: Sender, resolve: Resolve, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve("two.example", ["127.0.0.2", "127.0.0.1"])
    swallowed: list[float] = []
    connect = socket.socket.connect

    def connect_or_hang(sock: socket.socket, address: Any) -> None:
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
