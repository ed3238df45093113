"""Connections: to checked addresses only, with a certificate for the host, and used again."""

import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from tests.webhooks.receivers import Receiver, Script, always, receiver, tls_for
from tests.webhooks.sending import post
from webhooks.transport.sender import Sender
from webhooks.transport.targets import check_target

# Addresses are checked and pinned


def test_a_name_that_turns_to_this_machine_after_its_registration_is_not_connected_to(resolve, settings):
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    settings.WEBHOOK_TIMEOUT_SECONDS = 30
    with receiver(always()) as running:
        resolve("turning.example", ["93.184.215.14"])
        check_target(running.at("turning.example"))
        resolve("turning.example", ["127.0.0.1"])
        outcome = post(Sender(), running.at("turning.example"))

    assert (outcome.status, outcome.error) == (None, "forbidden address")
    assert running.connections == 0


def test_the_address_that_was_checked_is_the_one_connected_to(sender, resolve):
    asked = resolve("once.example", ["127.0.0.1"])
    with receiver(always()) as running:
        outcomes = [post(sender, running.at("once.example")) for _ in range(3)]

    assert [outcome.status for outcome in outcomes] == [200] * 3
    assert asked == ["once.example"]
    assert running.requests[0].headers["host"] == f"once.example:{running.port}"


def test_two_paths_of_a_receiver_share_a_connection_and_each_request_has_its_own_path_and_credentials(sender):
    with receiver(always()) as running:
        sender.send(running.at("127.0.0.1", "/orders?key=1"), {"webhook-id": "1"}, b"{}", ("one", "a"))
        sender.send(running.at("127.0.0.1", "/tickets"), {"webhook-id": "2"}, b"{}")
        sender.send(running.at("127.0.0.1", "/orders?key=1"), {"webhook-id": "3"}, b"{}", ("one", "a"))

    assert running.connections == 1
    assert [(request.line, request.headers["webhook-id"]) for request in running.requests] == [
        ("POST /orders?key=1 HTTP/1.1", "1"),
        ("POST /tickets HTTP/1.1", "2"),
        ("POST /orders?key=1 HTTP/1.1", "3"),
    ]
    assert ["authorization" in request.headers for request in running.requests] == [True, False, True]


def test_one_forbidden_address_among_others_stops_the_connection(sender, resolve):
    resolve("mixed.example", ["127.0.0.1", "10.0.0.1"])
    with receiver(always()) as running:
        outcome = post(sender, running.at("mixed.example"))

    assert (outcome.error, running.connections) == ("forbidden address", 0)


# TLS


def failure_of(sender: Sender, url: str) -> str:
    outcome = post(sender, url)
    assert outcome.status is None
    return outcome.error


@pytest.mark.parametrize("host", ["receiver.example", "Receiver.Example", "receiver.example."])
def test_a_certificate_for_the_name_is_trusted(sender, resolve, tmp_path, host):
    resolve(host.lower(), ["127.0.0.1"])
    asked_for = []
    tls = tls_for(tmp_path, "receiver.example")
    tls.set_servername_callback(lambda _, name, __: asked_for.append(name))
    with receiver(always(), tls) as running:
        outcome = post(sender, running.at(host))

    assert (outcome.status, outcome.error) == (200, "")
    assert asked_for == ["receiver.example"]
    assert running.requests[0].headers["host"] == f"receiver.example:{running.port}"


@pytest.mark.parametrize("host", ["other.example", "127.0.0.1"])
def test_a_certificate_for_another_host_is_a_failure(sender, resolve, tmp_path, host):
    resolve("other.example", ["127.0.0.1"])
    with receiver(always(), tls_for(tmp_path, "receiver.example")) as running:
        assert failure_of(sender, running.at(host)) == "tls: the certificate is for another host"

    assert running.requests == []


def test_a_certificate_of_an_unknown_authority_is_a_failure(tmp_path):
    sender = Sender(timeout=60, allowed_networks=["127.0.0.0/8"])
    with receiver(always(), tls_for(tmp_path, "127.0.0.1")) as running:
        assert failure_of(sender, running.url) == "tls: unable to get local issuer certificate"

    assert running.requests == []


def test_a_receiver_without_tls_is_a_failure(sender):
    def script(peer):
        peer.sock.recv(10_000)
        peer.answer(400, b"plain HTTP")

    with receiver(script) as running:
        assert failure_of(sender, running.url.replace("http:", "https:")) == "tls: wrong version number"


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_receiver_that_hangs_up_in_the_handshake_is_a_failure(sender, is_reset):
    def script(peer):
        peer.sock.recv(100_000)
        if is_reset:
            peer.reset()

    with receiver(script) as running:
        outcome = post(sender, running.url.replace("http:", "https:"))

    assert (outcome.status, outcome.error, outcome.has_begun) == (None, "reset", False)


# Connections


def _post_often(
    sender: Sender, script: Script, count: int = 3, tls: ssl.SSLContext | None = None
) -> tuple[list[int | None], Receiver]:
    """Return the statuses of so many requests, and the receiver."""
    with receiver(script, tls) as running:
        return [post(sender, running.url).status for _ in range(count)], running


@pytest.mark.parametrize("is_secure", [False, True])
@pytest.mark.parametrize(
    "script",
    [
        always(),
        always(204, b""),
        always(500, b"x" * 2048),
        always(302, b"moved", Location="http://127.0.0.1:1/"),
        always(200, b"2\r\nok\r\n0\r\n\r\n", Transfer_Encoding="chunked"),
    ],
)
def test_a_connection_is_used_again(sender, script, is_secure, tmp_path):
    _statuses, running = _post_often(sender, script, tls=tls_for(tmp_path, "127.0.0.1") if is_secure else None)

    assert (running.connections, len(running.requests)) == (1, 3)


def test_a_connection_with_an_answer_left_on_it_is_not_used_again(sender):
    statuses, running = _post_often(sender, always(200, b"x" * 3000))

    assert (statuses, running.connections) == ([200] * 3, 3)


def test_a_connection_closed_while_idle_is_replaced_without_a_failure(sender):
    closed = threading.Semaphore(0)

    def script(peer):
        peer.request()
        peer.answer()
        peer.sock.close()
        closed.release()

    with receiver(script) as running:
        statuses = []
        for _ in range(3):
            statuses.append(post(sender, running.url).status)
            closed.acquire(timeout=60)

    assert (statuses, len(running.requests)) == ([200] * 3, 3)


@pytest.mark.parametrize("is_reset", [False, True])
@pytest.mark.parametrize("is_secure", [False, True])
def test_a_used_connection_that_closes_before_a_byte_of_the_answer_is_replaced_once(
    sender, tmp_path, is_secure, is_reset
):
    def script(peer):
        peer.request()
        peer.answer()
        peer.request()
        if is_reset:
            peer.reset()

    tls = tls_for(tmp_path, "127.0.0.1") if is_secure else None
    statuses, running = _post_often(sender, script, 2, tls)

    assert (statuses, running.connections, len(running.requests)) == ([200, 200], 2, 3)


@pytest.mark.parametrize(("answer", "connections", "requests"), [(b"", 2, 3), (b"HTTP/1.1 200 OK\r\nContent-Le", 1, 2)])
def test_neither_a_replacement_nor_a_connection_that_closes_within_the_answer_is_replaced(
    answer, connections, requests, sender
):
    def script(peer):
        peer.request()
        if peer.number == 1:
            peer.answer()
            peer.request()
            peer.sock.sendall(answer)

    with receiver(script) as running:
        first, second = (post(sender, running.url) for _ in range(2))

    assert (first.status, second.status, second.error) == (200, None, "reset")
    assert (running.connections, len(running.requests)) == (connections, requests)


def test_an_unrequested_answer_is_not_read_as_the_next_one(sender):
    was_read, said = threading.Semaphore(0), threading.Semaphore(0)

    def script(peer):
        while peer.request():
            peer.answer()
            was_read.acquire(timeout=60)
            with suppress(OSError):
                peer.answer(408, b"idle for too long")
            said.release()

    with receiver(script) as running:
        statuses = []
        for _ in range(3):
            statuses.append(post(sender, running.url).status)
            was_read.release()
            said.acquire(timeout=60)

    assert (statuses, running.connections) == ([200] * 3, 3)


def test_a_connection_is_not_used_after_a_while(sender, monkeypatch):
    monkeypatch.setattr("webhooks.transport.sender.IDLE_SECONDS", 1)
    with receiver(always()) as running:
        post(sender, running.url)
        time.sleep(1.1)
        post(sender, running.url)

    assert running.connections == 2


def test_threads_share_a_sender(sender):
    def script(peer):
        while request := peer.request():
            peer.answer(200, request.body)

    with receiver(script) as first, receiver(script) as second, ThreadPoolExecutor(8) as threads:
        urls = [first.url, second.url] * 200
        bodies = [f"body {number}".encode() for number in range(len(urls))]
        outcomes = list(threads.map(lambda url, body: post(sender, url, body), urls, bodies))

    assert [outcome.answer for outcome in outcomes] == bodies
    assert first.connections <= 8
    assert len(first.requests) == len(second.requests) == 200


def test_old_receivers_make_room_for_new_ones(sender, monkeypatch):
    monkeypatch.setattr("webhooks.transport.sender.MOST_IDLE", 1)
    with receiver(always()) as first, receiver(always()) as second:
        for running in (first, second, first):
            assert post(sender, running.url).status == 200

    assert (first.connections, second.connections) == (2, 1)
