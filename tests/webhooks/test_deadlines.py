"""Whatever a receiver is slow at, the deadline of the request ends it."""

import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.webhooks.receivers import Peer, always, full_backlog, receiver, silent, tls_for
from tests.webhooks.sending import SHORT, SOON, Resolve, outcome_of, post
from webhooks.transport import Outcome, Sender


def _assert_timeout(outcome: Outcome, status: int | None = None) -> None:
    assert (outcome.status, outcome.error) == (status, "timeout")
    assert SHORT * 0.9 < outcome.seconds < SOON


def test_a_receiver_that_never_answers_is_left_at_the_deadline(hasty: Sender) -> None:
    _assert_timeout(outcome_of(hasty, silent))


def test_a_receiver_that_never_accepts_is_left_at_the_deadline(hasty: Sender) -> None:
    with full_backlog() as port:
        _assert_timeout(post(hasty, f"http://127.0.0.1:{port}/"))


def test_headers_that_trickle_in_are_left_at_the_deadline(hasty: Sender) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.trickle(b"HTTP/1.1 200 OK\r\nX-Padding: " + b"x" * 100, 0.05)

    _assert_timeout(outcome_of(hasty, script))


def test_a_body_that_trickles_in_is_left_at_the_deadline(hasty: Sender) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        peer.trickle(b"x" * 100, 0.05)

    outcome = outcome_of(hasty, script)

    _assert_timeout(outcome, status=200)
    assert 1 < len(outcome.answer) < 20


def test_chunks_that_trickle_in_are_left_at_the_deadline(hasty: Sender) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        peer.trickle(b"1\r\nx\r\n" * 100, 0.02)

    _assert_timeout(outcome_of(hasty, script), status=200)


def test_interim_answers_without_end_are_left_at_the_deadline(hasty: Sender) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        while not peer.receiver.is_over.wait(0.02):
            peer.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

    _assert_timeout(outcome_of(hasty, script))


@pytest.mark.parametrize("is_secure", [False, True])
def test_a_receiver_that_takes_the_body_slowly_is_left_at_the_deadline(
    hasty: Sender, is_secure: bool, tmp_path: Path
) -> None:
    def script(peer: Peer) -> None:
        while not peer.receiver.is_over.wait(0.02):
            peer.sock.recv(20_000)

    with receiver(script, tls_for(tmp_path, "127.0.0.1") if is_secure else None) as running:
        _assert_timeout(post(hasty, running.url, b"x" * 20_000_000))


def test_a_handshake_that_trickles_in_is_left_at_the_deadline(hasty: Sender) -> None:
    def script(peer: Peer) -> None:
        peer.sock.recv(10_000)
        # The beginning of a server's handshake, of a length that never comes.
        peer.trickle(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03" + b"x" * 100, 0.05)

    with receiver(script) as running:
        _assert_timeout(post(hasty, running.url.replace("http:", "https:")))


def test_an_answer_over_tls_that_trickles_in_is_left_at_the_deadline(hasty: Sender, tmp_path: Path) -> None:
    def script(peer: Peer) -> None:
        peer.request()
        peer.trickle(b"HTTP/1.1 200 OK\r\nX-Padding: " + b"x" * 100, 0.05)

    with receiver(script, tls_for(tmp_path, "127.0.0.1")) as running:
        _assert_timeout(post(hasty, running.url))


def test_a_name_server_that_hangs_is_left_at_the_deadline(hasty: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    may_answer = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: may_answer.wait(5) and [])

    outcome = post(hasty, "http://hanging.example/")
    may_answer.set()

    assert (outcome.status, outcome.error) == (None, "dns")
    assert outcome.seconds < SOON


def test_an_address_that_swallows_everything_leaves_time_for_the_next(
    hasty: Sender, resolve: Resolve, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve("two.example", ["127.0.0.2", "127.0.0.1"])
    swallowed = []
    connect = socket.socket.connect

    def connect_or_hang(sock: socket.socket, address: Any) -> None:
        if address[0] == "127.0.0.2":
            swallowed.append(sock.gettimeout())
            raise TimeoutError
        connect(sock, address)

    monkeypatch.setattr(socket.socket, "connect", connect_or_hang)
    with receiver(always()) as running:
        assert post(hasty, running.at("two.example")).status == 200

    assert swallowed == [pytest.approx(SHORT / 2, rel=0.1)]
