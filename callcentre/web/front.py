"""The front of the web server. The event loop waits for bodies and slow readers; threads only work.

Granian calls `Front`, an ASGI application, which runs Django, a WSGI application, in a pool of threads. A request
without a body gets a thread at once. For a body, a thread first decides how many bytes may be read; the event loop
reads them within a time limit, and then a thread works on the whole request. Health checks have threads of their own.
See docs/decisions/0023.
"""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from urllib.parse import unquote_to_bytes

logger = logging.getLogger(__name__)

Environ = dict[str, Any]
Wsgi = Callable[[Environ, Any], Iterable[bytes]]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

# The key of the environment for the status of a body that was not read.
BODY_FAULT = "callcentre.body_fault"
# A body that comes more slowly than this, after the first seconds, is given up.
SLOWEST_BYTES_PER_SECOND = 50_000
# A client that reads nothing of its answer for so long is given up.
STALL_SECONDS = 60
KEPT_IN_MEMORY = 256 * 1024
PIECE = 256 * 1024

_STATIC: Environ = {
    "SCRIPT_NAME": "",
    "SERVER_SOFTWARE": "granian",
    "wsgi.version": (1, 0),
    "wsgi.errors": sys.stderr,
    "wsgi.multithread": True,
    "wsgi.multiprocess": True,
    "wsgi.run_once": False,
}


class TooSlow(Exception):
    """The body did not come in time."""


class TooLong(Exception):
    """The body has more bytes than may be read."""


class Gone(Exception):
    """The client has closed the connection."""


class Unread:
    """The body of a request from an unknown sender. Reading it fails, because an empty body could be taken for real."""

    def read(self, size: int = -1) -> bytes:
        raise OSError("The body was not read.")

    readline = read


class FileContent:
    """The file of an answer, which Django returns instead of an iterator (PEP 3333, wsgi.file_wrapper)."""

    def __init__(self, file: IO[bytes], block_size: int = 0) -> None:
        self._file = file
        self.close = file.close

    def read(self) -> bytes:
        return self._file.read(PIECE)

    def __iter__(self) -> Iterable[bytes]:
        return iter(self.read, b"")


@dataclass(slots=True)
class Answer:
    """Django's answer: all of it, or its beginning and the file for the rest."""

    status: int = 500
    headers: Headers = field(default_factory=list)
    content: bytes = b""
    file: FileContent | None = None
    is_sent: bool = False
    # The sendings of a whole answer that its thread has begun, to be awaited in the event loop.
    sendings: list[Awaitable[None]] = field(default_factory=list)

    def start(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        self.status = int(status[:3])
        self.headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


class Front:
    """The service as an ASGI application."""

    def __init__(self, django: Wsgi, allowance: Callable[[Environ], int], *, threads: int, body_seconds: float) -> None:
        """`allowance` returns how many bytes of a request's body may be read, and must have no other effect."""
        self._django = django
        self._allowance = allowance
        self._body_seconds = body_seconds
        self._work = ThreadPoolExecutor(threads, "web")
        self._files = ThreadPoolExecutor(4, "file")
        # Probes wait for the stores; the check that this process is alive must not wait behind them.
        self._probes = ThreadPoolExecutor(2, "probe")
        self._live = ThreadPoolExecutor(1, "live")

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        environ = environ_of(scope)
        pool = self._pool_for(environ["PATH_INFO"])
        exchange = _Exchange(asyncio.get_running_loop(), receive, send)
        if environ.get("CONTENT_LENGTH", "0") == "0" and "HTTP_TRANSFER_ENCODING" not in environ:
            environ["wsgi.input"] = _EMPTY
            await self._answer(pool, exchange, environ)
            return
        allowed = await exchange.loop.run_in_executor(pool, self._begin, exchange, environ)
        if isinstance(allowed, Answer):
            await self._finish(exchange, allowed)
            return
        try:
            body = await self._read(receive, allowed)
        except Gone:
            return
        except (TooSlow, TooLong) as fault:
            environ[BODY_FAULT] = 408 if isinstance(fault, TooSlow) else 413
            environ["wsgi.input"] = Unread()
            await self._answer(pool, exchange, environ)
            return
        with body:
            environ["CONTENT_LENGTH"] = str(body.tell())
            environ.pop("HTTP_TRANSFER_ENCODING", None)
            body.seek(0)
            environ["wsgi.input"] = body
            await self._answer(pool, exchange, environ)

    def _pool_for(self, path: str) -> ThreadPoolExecutor:
        if path == "/health/live":
            return self._live
        return self._probes if path.startswith("/health/") or path == "/metrics" else self._work

    # Bodies

    def _begin(self, exchange: "_Exchange", environ: Environ) -> "int | Answer":
        """Return how many bytes are to be read, or an answer that needs no body."""
        try:
            allowed = self._allowance(environ)
        except Exception:
            # Django finds the same fault and reports it; the body is not needed for that.
            logger.exception("allowance failed")
            allowed = 0
        declared = int(environ.get("CONTENT_LENGTH") or 0)
        if allowed and declared <= allowed:
            return allowed
        # A length other than 0: with 0, Django would take the body for an empty one.
        environ["CONTENT_LENGTH"] = str(declared or 1)
        environ["wsgi.input"] = Unread()
        return self._run(exchange, environ)

    async def _read(self, receive: Receive, limit: int) -> IO[bytes]:
        """Return the body. Raise TooSlow, TooLong or Gone."""
        body = SpooledTemporaryFile(max_size=KEPT_IN_MEMORY)  # noqa: SIM115  (the caller closes it)
        started, received = asyncio.get_running_loop().time(), 0
        try:
            while True:
                deadline = started + self._body_seconds + received / SLOWEST_BYTES_PER_SECOND
                try:
                    async with asyncio.timeout_at(deadline):
                        message = await receive()
                except TimeoutError:
                    raise TooSlow from None
                if message["type"] == "http.disconnect":
                    raise Gone
                received += len(message["body"])
                if received > limit:
                    raise TooLong
                body.write(message["body"])
                if not message.get("more_body"):
                    return body
        except BaseException:
            body.close()
            raise

    # Answers

    async def _answer(self, pool: ThreadPoolExecutor, exchange: "_Exchange", environ: Environ) -> None:
        await self._finish(exchange, await exchange.loop.run_in_executor(pool, self._run, exchange, environ))

    def _run(self, exchange: "_Exchange", environ: Environ) -> Answer:
        """Let Django answer in this thread. Contents made piece by piece are sent from here."""
        answer = Answer()
        try:
            content = self._django(environ, answer.start)
            if isinstance(content, FileContent):
                answer.content, answer.file = content.read(), content
                if len(answer.content) < PIECE:
                    answer.file = None
                    content.close()
                return answer
            try:
                if getattr(content, "streaming", False):
                    answer.is_sent = True
                    exchange.send_stream(answer, content)
                else:
                    answer.content = b"".join(content)
                    exchange.begin(answer)
            finally:
                if close := getattr(content, "close", None):
                    close()
        except Exception:
            logger.exception("request failed")
            return answer if answer.is_sent else Answer(500)
        return answer

    async def _finish(self, exchange: "_Exchange", answer: Answer) -> None:
        if answer.is_sent:
            return
        if (file := answer.file) is None:
            if not answer.sendings:
                exchange.begin(answer)
            for sending in answer.sendings:
                await sending
            return
        await exchange.start(answer)
        in_thread = exchange.loop.run_in_executor
        try:
            content = answer.content
            while content and not exchange.is_gone:
                await exchange.piece(content)
                content = await in_thread(self._files, file.read)
            await exchange.piece(b"", is_last=True)
        except TimeoutError:
            logger.info("client takes nothing of its answer")
        finally:
            await in_thread(self._files, file.close)


class _Exchange:
    """One request and its answer, in the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, receive: Receive, send: Send) -> None:
        self.loop = loop
        self._receive = receive
        self._send = send
        self._watch: asyncio.Task[None] | None = None

    @property
    def is_gone(self) -> bool:
        """Return whether the client has closed the connection. Known only for answers of several pieces."""
        return self._watch is not None and self._watch.done()

    async def start(self, answer: Answer) -> None:
        await self._send(_start_of(answer))

    def begin(self, answer: Answer) -> None:
        """Begin to send a whole answer. Granian sends it here, in any thread, which saves the way to the event loop."""
        body = {"type": "http.response.body", "body": answer.content, "more_body": False}
        answer.sendings = [self._send(_start_of(answer)), self._send(body)]

    async def piece(self, content: bytes, *, is_last: bool = False) -> None:
        """Send a piece. Raise TimeoutError if the client reads nothing for too long."""
        message = {"type": "http.response.body", "body": content, "more_body": not is_last}
        if is_last:
            if self._watch:
                self._watch.cancel()
            await self._send(message)
            return
        if self._watch is None:
            self._watch = asyncio.ensure_future(self._until_gone())
        async with asyncio.timeout(STALL_SECONDS):
            await self._send(message)

    async def _until_gone(self) -> None:
        with suppress(Exception):
            while (await self._receive())["type"] != "http.disconnect":
                pass

    def send_stream(self, answer: Answer, pieces: Iterable[bytes]) -> None:
        """Send an answer from the thread that makes it. The thread waits while the client does not read."""
        self._wait(self.start(answer))
        waiting = bytearray()
        with suppress(TimeoutError):
            for piece in pieces:
                waiting += piece
                if len(waiting) < PIECE:
                    continue
                self._wait(self.piece(bytes(waiting)))
                waiting.clear()
                if self.is_gone:
                    return
            self._wait(self.piece(bytes(waiting), is_last=True))

    def _wait(self, sending: Any) -> None:
        future: Future[None] = asyncio.run_coroutine_threadsafe(sending, self.loop)
        future.result()


def _start_of(answer: Answer) -> Message:
    return {"type": "http.response.start", "status": answer.status, "headers": answer.headers}


class _Empty:
    def read(self, size: int = -1) -> bytes:
        return b""

    readline = read


_EMPTY = _Empty()


def environ_of(scope: Message) -> Environ:
    """Return the WSGI environment of a request.

    Headers with an underscore are dropped: `X_Forwarded_For` would replace `X-Forwarded-For`, which a trusted proxy has
    set.
    """
    client, server = scope.get("client") or ("", ""), scope.get("server") or ("", "")
    environ = _STATIC.copy()
    environ["REQUEST_METHOD"] = scope["method"]
    environ["PATH_INFO"] = unquote_to_bytes(scope["raw_path"]).decode("latin-1")
    environ["QUERY_STRING"] = scope["query_string"].decode("latin-1")
    environ["SERVER_PROTOCOL"] = f"HTTP/{scope['http_version']}"
    environ["SERVER_NAME"], environ["SERVER_PORT"] = server[0], str(server[1])
    environ["REMOTE_ADDR"] = client[0]
    environ["wsgi.url_scheme"] = scope["scheme"]
    environ["wsgi.file_wrapper"] = FileContent
    for raw_name, raw_value in scope["headers"]:
        if b"_" in raw_name:
            continue
        name, value = raw_name.decode("latin-1").upper().replace("-", "_"), raw_value.decode("latin-1")
        if name not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            name = f"HTTP_{name}"
        if name in environ:
            # Cookies are separated by semicolons, all other headers by commas.
            value = f"{environ[name]}{';' if name == 'HTTP_COOKIE' else ','}{value}"
        environ[name] = value
    return environ
