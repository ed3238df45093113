"""What a delivery sends, and what its receiver may answer."""

import socket
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.webhooks import answers
from tests.webhooks.receivers import always, receiver, says
from tests.webhooks.sending import BODY, HEADERS, outcome_of, post
from webhooks.transport.sender import _retry_after

CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"

# Requests


def test_a_request_has_the_headers_and_the_body_it_was_given(sender):
    with receiver(always()) as running:
        sender.send(running.at("127.0.0.1", "/hook?a=b#c"), HEADERS, BODY, ("łucja", "zażółć:gęślą"))

    request = running.requests[0]
    assert request.line == "POST /hook?a=b HTTP/1.1"
    assert request.body == BODY
    assert request.headers == {
        "host": f"127.0.0.1:{running.port}",
        "user-agent": "callcentre-webhooks/1",
        "accept-encoding": "identity",
        "content-length": str(len(BODY)),
        "content-type": "application/json",
        "webhook-id": "7b1c8c3e",
        "webhook-signature": "v1,c2ln",
        "authorization": "Basic xYJ1Y2phOnphxbzDs8WCxIc6Z8SZxZtsxIU=",
    }


@pytest.mark.parametrize("body", [b"", bytes(range(256)) * 20_000], ids=["empty", "large"])
def test_a_body_arrives_whole(sender, body):
    with receiver(always()) as running:
        assert post(sender, running.url, body).status == 200

    assert running.requests[0].body == body
    assert running.requests[0].headers["content-length"] == str(len(body))


def test_proxy_variables_of_the_environment_are_ignored(sender, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login of-the-machine password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with receiver(always(502)) as proxy, receiver(always(Set_Cookie="a=b")) as running:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        post(sender, running.url)
        post(sender, running.url)

    assert proxy.connections == 0
    assert all({"authorization", "cookie"}.isdisjoint(request.headers) for request in running.requests)


# Answers


@pytest.mark.parametrize("status", [200, 201, 204, 400, 404, 410, 500, 503])
def test_an_answer_is_given_back(sender, status):
    body = b"" if status == 204 else "żółw".encode()
    started = time.monotonic()

    outcome = outcome_of(sender, always(status, body))

    assert (outcome.status, outcome.error, outcome.answer, outcome.retry_after) == (status, "", body, None)
    assert 0 < outcome.seconds <= time.monotonic() - started


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(sender, status):
    with receiver(always()) as other:
        outcome = outcome_of(sender, always(status, b"moved", Location=other.url))

    assert (outcome.status, outcome.error, outcome.answer) == (status, "", b"moved")
    assert other.connections == 0


def test_retry_after_is_read_as_seconds():
    for text, seconds in (
        ("120", 120.0),
        ("0", 0.0),
        ("86401", 86_400.0),
        ("9" * 5000, 86_400.0),
        ("Thu, 01 Jan 2015 00:00:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("²", None),
        ("", None),
        ("Fri, 99 Foo 99999 99:99:99 GMT", None),
    ):
        assert _retry_after([f"Retry-After: {text}\r\n".encode()]) == seconds, text


def test_retry_after_is_read_as_a_date(sender):
    until = datetime.now(UTC) + timedelta(minutes=10)

    outcome = outcome_of(sender, always(503, Retry_After=format_datetime(until, usegmt=True)))

    assert outcome.retry_after == pytest.approx(600, abs=60)


@pytest.mark.parametrize("head", [b"Content-Length: 1000000000\r\n\r\n", CHUNKED + b"40000000\r\n"])
def test_two_kilobytes_of_a_gigabyte_are_read_and_the_connection_is_closed(sender, head):
    sent = []

    def script(peer):
        peer.request()
        peer.sock.sendall(b"HTTP/1.1 500 No\r\n" + head)
        for _ in range(1000):
            peer.sock.sendall(b"x" * 1_000_000)
            sent.append(1)

    outcome = outcome_of(sender, script)

    assert (outcome.status, outcome.error, outcome.answer) == (500, "", b"x" * 2048)
    assert len(sent) < 50


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end", (200, "", b"until the end")),
        # A compressed answer is not unpacked.
        (b"HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08bomb", (200, "", b"\x1f\x8b\x08bomb")),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", (200, "", b"ok")),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 503 No\r\n\r\nno", (503, "", b"no")),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", (200, "", b"ok")),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\ncut", (200, "reset", b"cut")),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", (200, "reset", b"ok")),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n", (200, "protocol", b"")),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;" + b"x" * 70_000, (200, "reset", b"")),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"y" * 70_000, (200, "protocol", b"")),
        (b"", (None, "reset", b"")),
        (b"HTTP/1.1 20", (None, "reset", b"")),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", (None, "protocol", b"")),
        (b"HTTP/2 200\r\n\r\n", (200, "", b"")),
        (b"HTTP/1.1 101 Switching\r\n\r\n", (None, "reset", b"")),
        (b"\x00\xff\r\n" * 100, (None, "protocol", b"")),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 110_000 + b"\r\n\r\n", (None, "protocol", b"")),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000, (None, "protocol", b"")),
    ],
)
def test_any_answer_has_an_outcome(sender, answer, expected):
    outcome = outcome_of(sender, says(answer))

    status, error, body = expected
    assert (outcome.status, outcome.error, outcome.answer[: len(body)]) == (status, error, body)


@pytest.mark.parametrize(
    "said",
    [answers.RETRY_AFTER, answers.BOMBS, answers.CUT, *(answers.mutated(200, seed) for seed in range(4))],
    ids=["Retry-After", "bombs", "cut short", *(f"errors {seed}" for seed in range(4))],
)
def test_an_answer_that_follows_no_rule_has_a_storable_outcome(sender, said):
    for answer in said:
        outcome = outcome_of(sender, says(answer))
        assert outcome.status is None or 200 <= outcome.status <= 999, answer
        assert outcome.error in ("", "reset", "protocol"), answer
        assert outcome.status is not None or outcome.error, answer
        assert len(outcome.answer) <= 2048, answer
        assert outcome.retry_after is None or 0 <= outcome.retry_after <= 86_400, answer


def test_an_odd_answer_leaves_no_token_of_the_url_in_the_log(sender, caplog):
    caplog.set_level("DEBUG")
    with receiver(says(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n")) as running:
        post(sender, running.at("127.0.0.1", "/hook/token-of-the-path?key=token-of-the-query"))

    assert "token-of" not in caplog.text


def test_a_reset_a_closed_port_and_a_name_without_address_are_failures(sender, monkeypatch):
    def reset(peer):
        peer.request()
        peer.reset()

    def fail(*args, **kwargs):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with receiver(reset) as running:
        outcome = post(sender, running.url)

    assert (outcome.status, outcome.error, running.connections) == (None, "reset", 1)
    # Now nobody listens there.
    assert post(sender, running.url).error == "refused"
    assert post(sender, "http://nowhere.example/").error == "dns"


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("ftp://receiver.example/", "bad url"),
        ("http://user:hunter2@receiver.example/", "bad url"),
        ("http://10.0.0.1/", "forbidden address"),
        ("http://0x7f000001/", "forbidden address"),
        ("http://[fd00::1]:1/", "forbidden address"),
    ],
)
def test_a_url_that_would_not_be_registered_is_not_sent_to(sender, url, error):
    outcome = post(sender, url)

    assert (outcome.status, outcome.error) == (None, error)
