"""Whatever a receiver is slow at, the deadline of the request ends it: of these, none comes to an end by itself."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.webhooks.receivers import Peer, Script, always, authorities, full_backlog, receiver, silent
from tests.webhooks.sending import Resolve, post
from webhooks.transport.sender import Outcome, Sender

# Seconds. A longer deadline is tried if a busy machine took too long to reach the slow part of the receiver.
DEADLINES = (0.4, 4.0, 20.0)
# An answer that is sent byte by byte takes minutes if the sender does not hang up.
WITHOUT_END = b"x" * 10_000
OK = b"HTTP/1.1 200 OK\r\n"

Leave = Callable[..., Outcome]


@pytest.fixture
def leave(tmp_path: Path) -> Leave:
    """Makes a request with a deadline: that its outcome is a time-out, after this status, and came when it had to."""

    def leave(url: str, status: int | None = None, error: str = "timeout") -> Outcome:
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
def test_a_slow_answer_is_left_at_the_deadline(part: str, leave: Leave) -> None:
    script, status = SLOW[part]
    with receiver(script) as running:
        outcome = leave(running.url, status)

    assert part != "body" or set(outcome.answer) == {ord("x")}


def test_a_receiver_that_never_accepts_is_left_at_the_deadline(leave: Leave) -> None:
    with full_backlog() as port:
        leave(f"http://127.0.0.1:{port}/")


def test_a_handshake_that_trickles_in_is_left_at_the_deadline(leave: Leave) -> None:
    def script(peer: Peer) -> None:
        peer.sock.recv(10_000)
        # The beginning of a server's handshake, of a length that never comes.
        peer.trickle(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03" + WITHOUT_END, 0.05)

    with receiver(script) as running:
        leave(running.url.replace("http:", "https:"))


def test_a_name_server_that_hangs_is_left_at_the_deadline(leave: Leave, monkeypatch: pytest.MonkeyPatch) -> None:
    may_answer = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: may_answer.wait(100) and [])

    try:
        leave("http://hanging.example/", error="dns")
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
