"""The front of the web server without a server: the bodies it reads, and the use of threads."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from io import BytesIO
from typing import Any

from callcentre.web.front import BODY_FAULT, PIECE, Front, environ_of

Messages = list[dict[str, Any]]


def scope(method: str = "POST", path: str = "/form", **headers: str) -> dict[str, Any]:
    """A request as granian describes it."""
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "raw_path": path.encode(),
        "query_string": b"a=1",
        "client": ("192.0.2.7", "50000"),
        "server": ("127.0.0.1", "8000"),
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }


def pieces(*bodies: bytes) -> Callable[[], Awaitable[dict[str, Any]]]:
    """Send these pieces of the client's body, then nothing."""
    waiting = [
        {"type": "http.request", "body": body, "more_body": number < len(bodies)}
        for number, body in enumerate(bodies, start=1)
    ]

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop(0)

    return receive


async def unreadable() -> dict[str, Any]:
    raise AssertionError("the body was read")


class Service:
    """A WSGI application that keeps its arguments and answers `content`."""

    def __init__(self, content: Any = (b"done",)) -> None:
        self.content = content
        self.calls: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        self.calls.append(environ)
        if not environ.get(BODY_FAULT):
            try:
                self.bodies.append(environ["wsgi.input"].read())
            except OSError as error:
                self.bodies.append(str(error).encode())
        start_response("200 OK", [("Content-Type", "text/plain")])
        return self.content(environ) if callable(self.content) else self.content


def answer_of(
    service: Service,
    request: dict[str, Any],
    receive: Any = unreadable,
    *,
    allowed: int = 1000,
    body_seconds: float = 60,
) -> Messages:
    """Return the bytes sent to the client."""
    sent: Messages = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    front = Front(service, lambda environ: allowed, threads=2, body_seconds=body_seconds)
    asyncio.run(front(request, receive, send))
    return sent


def content_of(messages: Messages) -> bytes:
    return b"".join(message.get("body", b"") for message in messages)


def test_the_service_reads_the_complete_body():
    for headers, sent, body, length in [
        ({"content_length": "6"}, (b"abc", b"def"), b"abcdef", "6"),
        ({"transfer_encoding": "chunked"}, (b"abc", b"", b"def"), b"abcdef", "6"),
        ({"content_length": "0"}, (), b"", "0"),
        ({}, (), b"", ""),
    ]:
        service = Service()

        answer = answer_of(service, scope(**headers), pieces(*sent) if sent else unreadable)

        assert (service.bodies, service.calls[0].get("CONTENT_LENGTH", "")) == ([body], length)
        assert "HTTP_TRANSFER_ENCODING" not in service.calls[0]
        assert (answer[0]["status"], content_of(answer)) == (200, b"done")


def test_reading_a_forbidden_or_too_long_body_fails():
    for headers, allowed in [
        ({"content_length": "6"}, 0),
        ({"transfer_encoding": "chunked"}, 0),
        ({"content_length": "1001"}, 1000),
    ]:
        service = Service()

        sent = answer_of(service, scope(**headers), unreadable, allowed=allowed)

        assert service.bodies == [b"The body was not read."]
        assert int(service.calls[0]["CONTENT_LENGTH"]) == int(headers.get("content_length", 1))
        assert sent[0]["status"] == 200


def test_a_body_that_is_too_long_or_does_not_come_is_given_up():
    too_long, missing = Service(), Service()

    answer_of(too_long, scope(transfer_encoding="chunked"), pieces(b"x" * 600, b"x" * 600, b"never asked for"))
    answer_of(missing, scope(content_length="6"), _half(), body_seconds=0.05)

    assert [service.calls[0][BODY_FAULT] for service in (too_long, missing)] == [413, 408]
    assert too_long.bodies == missing.bodies == []


def _half() -> Callable[[], Awaitable[dict[str, Any]]]:
    """Send half a body, and then nothing."""
    waiting = [{"type": "http.request", "body": b"abc", "more_body": True}]

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()
        return waiting.pop()

    return receive


def test_a_trickling_body_is_given_up():
    service, given = Service(), 0

    async def trickle():
        nonlocal given
        await asyncio.sleep(0.01)
        given += 1
        return {"type": "http.request", "body": b"a", "more_body": True}

    answer_of(service, scope(content_length="100000"), trickle, allowed=100_000, body_seconds=0.1)

    assert service.calls[0][BODY_FAULT] == 408
    assert given < 100


def test_a_client_that_closes_in_the_middle_of_its_body_changes_nothing():
    service = Service()

    async def gone():
        return {"type": "http.disconnect"}

    assert answer_of(service, scope(transfer_encoding="chunked"), gone) == []
    assert service.calls == []


def test_awaited_bodies_hold_no_thread():
    service = Service()

    async def serve():
        front = Front(service, lambda environ: 1000, threads=1, body_seconds=60)
        answered = asyncio.Event()

        async def send(message):
            answered.set()

        waiting = [asyncio.ensure_future(front(scope(content_length="6"), _half(), send)) for _ in range(50)]
        await asyncio.sleep(0.1)
        await front(scope("GET"), unreadable, send)
        open_ones = sum(not task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        return open_ones

    assert asyncio.run(serve()) == 50
    assert len(service.calls) == 1


def test_health_checks_are_answered_while_every_thread_works():
    may_end = threading.Event()

    def work(environ):
        if environ["PATH_INFO"] == "/slow":
            may_end.wait(100)
        return [b"done"]

    async def serve():
        front = Front(Service(work), lambda environ: 0, threads=1, body_seconds=60)
        order: list[str] = []

        async def send(message):
            return None

        async def ask(path):
            await front(scope("GET", path), unreadable, send)
            order.append(path)

        slow = [asyncio.ensure_future(ask("/slow")) for _ in range(3)]
        for path in ("/health/live", "/health/ready", "/metrics"):
            await ask(path)
        may_end.set()
        await asyncio.gather(*slow)
        return order

    assert asyncio.run(serve()) == ["/health/live", "/health/ready", "/metrics", *["/slow"] * 3]


def test_a_service_that_fails_is_a_500():
    def fail(environ):
        raise RuntimeError

    assert answer_of(Service(fail), scope("GET"))[0]["status"] == 500


def test_an_allowance_that_fails_lets_the_service_answer_without_the_body():
    service = Service()
    sent: Messages = []

    async def send(message):
        sent.append(message)

    def fail(environ):
        raise RuntimeError

    asyncio.run(Front(service, fail, threads=1, body_seconds=60)(scope(content_length="6"), unreadable, send))

    assert service.bodies == [b"The body was not read."]


# Answers


def test_a_file_is_sent_whole_and_closed():
    for size in [0, 10, PIECE, 3 * PIECE + 1]:
        file = BytesIO(bytes(range(256)) * (size // 256) + b"x" * (size % 256))
        whole = file.getvalue()

        sent = answer_of(Service(lambda environ, file=file: environ["wsgi.file_wrapper"](file)), scope("GET"), _silent)

        assert content_of(sent) == whole
        assert (file.closed, sent[-1]["more_body"]) == (True, False)


async def _silent() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


class Stream:
    """An answer that the service makes piece by piece."""

    streaming = True

    def __init__(self, count: int) -> None:
        self.count = count
        self.made, self.is_closed = 0, False
        self.threads: set[int] = set()

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(self.count):
            self.made += 1
            self.threads.add(threading.get_ident())
            yield b"x" * 1000

    def close(self) -> None:
        self.is_closed = True


def test_an_answer_of_several_pieces_is_made_in_one_thread_and_closed():
    stream = Stream(1000)

    sent = answer_of(Service(lambda environ: stream), scope("GET"), _silent)

    assert content_of(sent) == b"x" * 1_000_000
    assert (len(stream.threads), stream.is_closed) == (1, True)


def test_no_more_pieces_are_made_for_a_closed_connection():
    stream = Stream(1_000_000)

    async def gone():
        return {"type": "http.disconnect"}

    answer_of(Service(lambda environ: stream), scope("GET"), gone)

    assert stream.made < 10_000
    assert stream.is_closed


def test_a_client_that_reads_nothing_is_given_up(monkeypatch):
    monkeypatch.setattr("callcentre.web.front.STALL_SECONDS", 0.05)
    stream, file = Stream(1_000_000), BytesIO(b"x" * 10 * PIECE)

    async def serve(content):
        async def send(message):
            if message["type"] == "http.response.body":
                await asyncio.Event().wait()

        front = Front(Service(content), lambda environ: 0, threads=1, body_seconds=60)
        await front(scope("GET"), _silent, send)

    asyncio.run(serve(lambda environ: stream))
    asyncio.run(serve(lambda environ: environ["wsgi.file_wrapper"](file)))

    assert (stream.is_closed, file.closed) == (True, True)


def test_the_wsgi_environment_of_a_request():
    environ = environ_of(scope("PUT", "/a%2Fb%C5%82", host="callcentre.example", content_type="text/plain"))

    assert environ["REQUEST_METHOD"] == "PUT"
    assert environ["PATH_INFO"].encode("latin-1") == "/a/bł".encode()
    assert environ["QUERY_STRING"] == "a=1"
    assert (environ["REMOTE_ADDR"], environ["SERVER_NAME"]) == ("192.0.2.7", "127.0.0.1")
    assert environ["SERVER_PORT"] == "8000"
    assert (environ["HTTP_HOST"], environ["CONTENT_TYPE"]) == ("callcentre.example", "text/plain")


def test_a_header_with_an_underscore_replaces_no_other():
    for name in [b"x_forwarded_for", b"x-forwarded_for", b"x_forwarded_proto", b"content_length", b"content_type"]:
        request = scope(x_forwarded_for="203.0.113.9", x_forwarded_proto="http", content_type="text/plain")
        usual = environ_of(request)
        request["headers"] += [(name, b"10.0.0.1")]

        assert environ_of(request) == usual


def test_repeated_headers_are_joined():
    request = scope()
    request["headers"] = [(b"x-forwarded-for", b"1.1.1.1"), (b"cookie", b"a=1")]
    request["headers"] += [(b"x-forwarded-for", b"203.0.113.9"), (b"cookie", b"b=2")]

    environ = environ_of(request)

    assert (environ["HTTP_X_FORWARDED_FOR"], environ["HTTP_COOKIE"]) == ("1.1.1.1,203.0.113.9", "a=1;b=2")
