"""A stand-in of a provider of transcriptions, on a socket of 127.0.0.1: it answers what a test tells it to."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

SEGMENTS = {
    "text": "Good morning. Hello.",
    "segments": [
        {"id": 0, "start": 0.0, "end": 2.5, "text": " Good morning. "},
        {"id": 1, "start": 3.0, "end": 4.0, "text": "How can I help?"},
    ],
}
ANALYSIS: dict[str, Any] = {
    "summary": [{"content": "A question about an invoice.", "important": True}],
    "sentiment": {"sentiment": "POSITIVE", "justification": "The customer says thank you."},
}


@dataclass(frozen=True)
class Asked:
    """A request to the stand-in: `form` of one for speech, `body` of one for the model."""

    path: str
    authorization: str
    form: dict[str, bytes]
    body: Any


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: Any = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


def completion(content: Any) -> Answer:
    """Return the model's answer in the format of chat completions."""
    text = content if isinstance(content, str) else orjson.dumps(content).decode()
    return Answer(body={"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]})


@dataclass
class Provider:
    """`hear` and `think` answer requests for speech and for the model."""

    url: str
    hear: Callable[[Asked], Answer] = lambda asked: Answer(body=SEGMENTS)
    think: Callable[[Asked], Answer] = lambda asked: completion(ANALYSIS)
    asked: list[Asked] = field(default_factory=list)

    @property
    def heard(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.path == "/v1/audio/transcriptions"]

    @property
    def thought(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.path == "/v1/chat/completions"]


@contextmanager
def running_provider() -> Generator[Provider]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            kind = self.headers["Content-Type"]
            is_form = kind.startswith("multipart/")
            asked = Asked(
                path=self.path,
                authorization=self.headers.get("Authorization", ""),
                form=_form(kind, content) if is_form else {},
                body=None if is_form else orjson.loads(content),
            )
            provider.asked.append(asked)
            answer = (provider.hear if self.path.endswith("/transcriptions") else provider.think)(asked)
            body = answer.body if isinstance(answer.body, bytes) else orjson.dumps(answer.body)
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(body)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *args: Any) -> None:
            """The client has disconnected."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider = Provider(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()


def _form(kind: str, content: bytes) -> dict[str, bytes]:
    message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + content)
    return {str(part.get_param("name", header="content-disposition")): _bytes(part) for part in message.iter_parts()}


def _bytes(part: Any) -> bytes:
    content: bytes = part.get_payload(decode=True)
    return content
