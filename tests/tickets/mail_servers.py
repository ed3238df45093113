"""Mail servers on sockets of 127.0.0.1: a real one (aiosmtpd) that can be told to misbehave, and scripts of lines."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.webhooks.receivers import Peer
from tickets.models import Dispatch


@dataclass
class MailServer:
    """The received mails of a server, and its answers, which a test can change while it runs."""

    port: int = 0
    received: list[Envelope] = field(default_factory=list)
    # The answers to RCPT, by address, and to the message.
    rcpt_answers: dict[str, str] = field(default_factory=dict)
    data_answer: str = "250 Taken"
    # After the whole message: disconnect without an answer, or wait for the test.
    drops: bool = False
    holds: bool = False
    # The same after each recipient.
    holds_recipients: bool = False
    is_held: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)

    async def handle_RCPT(  # noqa: N802  (the names of aiosmtpd)
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.holds_recipients:
            await self._hold()
        answer = self.rcpt_answers.get(address, "250 OK")
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        self.received.append(envelope)
        if self.holds:
            await self._hold()
        if self.drops:
            connection: Any = server.transport
            connection.abort()
        return self.data_answer

    async def _hold(self) -> None:
        self.is_held.set()
        while not self.go_on.is_set():
            await asyncio.sleep(0.02)

    @property
    def mails(self) -> list[EmailMessage]:
        return [read(envelope) for envelope in self.received]


class _Handler:
    """The hooks of a server for aiosmtpd, which reads all attributes for each connection: `mails` would parse all."""

    def __init__(self, server: MailServer) -> None:
        hooks = (name for name in dir(server) if name.startswith(("handle_", "auth_")))
        self.__dict__.update({name: getattr(server, name) for name in hooks})


def read(envelope: Envelope) -> Any:
    content = envelope.content
    assert isinstance(content, bytes)
    return message_from_bytes(content, policy=policy.default)


@contextmanager
def mail_server(settings: Any = None, **options: Any) -> Iterator[MailServer]:
    """Run a mail server in a thread. With `settings`, Django's mail goes to it. `options` are for aiosmtpd's SMTP."""
    running = MailServer()
    loop = asyncio.new_event_loop()
    listening = loop.run_until_complete(loop.create_server(lambda: SMTP(_Handler(running), **options), "127.0.0.1", 0))
    running.port = listening.sockets[0].getsockname()[1]
    if settings is not None:
        send_to(settings, running.port)
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        running.go_on.set()
        asyncio.run_coroutine_threadsafe(_end(listening), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()


async def _end(listening: asyncio.Server) -> None:
    listening.close()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def send_to(settings: Any, port: int) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", port, 60


def mute(peer: Peer) -> None:
    """A server that accepts connections and never answers."""
    peer.receiver.is_over.wait(100)


def saying(**answers: str | None) -> Callable[[Peer], None]:
    """A server of few words, for `tests.webhooks.receivers.receiver`: its answer by command, None to hang up instead.

    `GREETING` begins, `END` follows the message; what is not named is taken.
    """

    def script(peer: Peer) -> None:
        lines = peer.sock.makefile("rb")

        def answer(command: str, usual: str) -> bool:
            text = answers.get(command, usual)
            if text is not None:
                peer.sock.sendall(f"{text}\r\n".encode())
            return text is not None

        if not answer("GREETING", "220 here"):
            return
        for line in lines:
            command = line.split()[0].decode().upper()
            if not answer(command, "354 go on" if command == "DATA" else "250 OK"):
                return
            if command == "DATA" and answers.get("DATA", "354").startswith("354"):  # type: ignore[union-attr]
                while lines.readline() not in (b".\r\n", b""):
                    pass
                if not answer("END", "250 taken"):
                    return

    return script


def due_now() -> list[int]:
    """Return the messages that a sweep enqueues."""
    return list(Dispatch.objects.due().values_list("pk", flat=True))


@pytest.fixture(name="server")
def a_mail_server(settings: Any) -> Iterator[MailServer]:
    """Run a server that Django's mail goes to."""
    with mail_server(settings) as running:
        yield running
