"""An IMAP4rev1 server on a socket, with faults on demand: a connection lost inside a mail, a withheld mail, new UIDs,
delays, ten thousand mails. It knows only the commands of a poll.
"""

import re
import socket
import socketserver
import ssl
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.tickets.factories import TicketQueueFactory
from tickets.models import TicketQueue


@pytest.fixture(autouse=True)
def local_mailboxes(settings: Any) -> None:
    """Permit the mailboxes of these tests, which are on this machine and mostly without encryption."""
    settings.MAILBOX_ALLOWED_NETWORKS = ["127.0.0.1"]


@dataclass
class Mailbox:
    """The mails of the server, and its behaviour."""

    user: str = "us"
    password: str = "secret"
    validity: int = 7
    mails: dict[int, bytes] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)
    next_uid: int = 1
    port: int = 0
    # The faults by UID, in place of the mail: "no", "bad", "nil" or "cut".
    faults: dict[int, str] = field(default_factory=dict)
    # The server waits for this event before it sends a mail.
    before_fetch: Callable[[int], None] = lambda uid: None
    says_sizes: bool = True
    # Encryption from the first byte, or after STARTTLS.
    tls: ssl.SSLContext | None = None
    starttls: ssl.SSLContext | None = None
    greeting: str = "* OK ready"
    # The token that XOAUTH2 must bring; "" for a server without OAuth 2.
    token: str = ""
    # Whether it offers IDLE, and whether it then tells of new mail.
    has_idle: bool = False
    tells: bool = True
    arrived: threading.Condition = field(default_factory=threading.Condition)
    connections: int = 0
    # Connections that are open now.
    open: int = 0
    hang_ups: int = 0
    commands: list[str] = field(default_factory=list)

    def add(self, raw: bytes, *, is_seen: bool = False) -> int:
        uid, self.next_uid = self.next_uid, self.next_uid + 1
        if is_seen:
            self.seen.add(uid)
        with self.arrived:
            self.mails[uid] = raw
            self.arrived.notify_all()
        return uid

    def hang_up(self) -> None:
        """Close all connections that are in IDLE."""
        with self.arrived:
            self.hang_ups += 1
            self.arrived.notify_all()

    def fetched(self) -> list[int]:
        """The UIDs of the fetched mails, in order."""
        found = (re.search(r"UID FETCH (\d+) \(BODY\.PEEK\[\]\)", command) for command in self.commands)
        return [int(each[1]) for each in found if each]


class _Session(socketserver.StreamRequestHandler):
    # Without this, each of many small answers waits for an acknowledgement of the one before.
    disable_nagle_algorithm = True

    def handle(self) -> None:
        self.box: Mailbox = self.server.box  # type: ignore[attr-defined]
        # The number of mails that the client knows of.
        self.told = 0
        with self.box.arrived:
            self.box.connections += 1
            self.box.open += 1
        try:
            if self.box.tls:
                self._encrypt(self.box.tls)
            if self.box.greeting:
                self._send(self.box.greeting)
            while line := self.rfile.readline():
                tag, _, command = line.decode().strip().partition(" ")
                self.box.commands.append(command)
                if not self._answer(tag, command):
                    return
        except OSError:  # the client has gone
            return
        finally:
            with self.box.arrived:
                self.box.open -= 1

    def _send(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())

    def _encrypt(self, context: ssl.SSLContext) -> None:
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", buffering=0)

    def _answer(self, tag: str, command: str) -> bool:
        """Return whether the session goes on."""
        box, name = self.box, command.upper()
        if name.startswith("LOGIN "):
            return self._log_in(tag, command)
        own = {"AUTHENTICATE XOAUTH2": self._show_token, "IDLE": self._idle, "STARTTLS": self._start_tls}
        if name in own:
            return own[name](tag)
        if name.startswith("CAPABILITY"):
            can_encrypt = box.starttls and not isinstance(self.connection, ssl.SSLSocket)
            offers = f"{' STARTTLS' if can_encrypt else ''}{' AUTH=XOAUTH2' if box.token else ''}"
            self._send(f"* CAPABILITY IMAP4rev1{offers}{' IDLE' if box.has_idle else ''}")
        elif name.startswith(("SELECT", "EXAMINE")):
            self._send(f"* {len(box.mails)} EXISTS")
            self._send(f"* OK [UIDVALIDITY {box.validity}]")
        elif name.startswith("STATUS"):
            self._send(f'* STATUS "INBOX" ({self._status(name)})')
        elif name.startswith("UID SEARCH"):
            self.told = len(box.mails)
            self._send(" ".join(["* SEARCH", *map(str, self._found(name))]))
        elif name.startswith("UID FETCH"):
            return self._fetch(tag, command)
        elif name.startswith("UID STORE"):
            box.seen |= set(_uids(command.split()[2]))
        elif name.startswith("LOGOUT"):
            self._send("* BYE")
            self._send(f"{tag} OK")
            return False
        self._send(f"{tag} OK done")
        return True

    def _log_in(self, tag: str, command: str) -> bool:
        if self.box.password == "\0hangs":
            return True
        is_right = command[6:].replace('"', "").split() == [self.box.user, self.box.password]
        self._send(f"{tag} OK done" if is_right else f"{tag} NO [AUTHENTICATIONFAILED] Invalid credentials")
        return True

    def _show_token(self, tag: str) -> bool:
        self._send("+ ")
        wanted = f"user={self.box.user}\1auth=Bearer {self.box.token}\1\1"
        if b64decode(self.rfile.readline()).decode() == wanted:
            self._send(f"{tag} OK done")
            return True
        self._send("+ " + b64encode(b'{"status":"400","schemes":"Bearer"}').decode())
        assert not self.rfile.readline().strip()
        self._send(f"{tag} NO [AUTHENTICATIONFAILED] Invalid credentials")
        return True

    def _idle(self, tag: str) -> bool:
        """Tell of mails until the client ends it, which it does in a thread of its own: this one waits for mails."""
        box, ended, hang_ups = self.box, threading.Event(), self.box.hang_ups

        def wait_for_end() -> None:
            self.rfile.readline()
            ended.set()
            with box.arrived:
                box.arrived.notify_all()

        self._send("+ idling")
        reader = threading.Thread(target=wait_for_end, daemon=True)
        reader.start()
        with box.arrived:
            while not ended.is_set() and box.hang_ups == hang_ups:
                if len(box.mails) > self.told and box.tells:
                    self.told = len(box.mails)
                    self._send(f"* {self.told} EXISTS")
                box.arrived.wait(60)
        if not ended.is_set():
            self.connection.shutdown(socket.SHUT_RDWR)
            return False
        self._send(f"{tag} OK done")
        return True

    def _start_tls(self, tag: str) -> bool:
        if self.box.starttls is None:
            self._send(f"{tag} BAD not here")
            return True
        self._send(f"{tag} OK go ahead")
        self._encrypt(self.box.starttls)
        return True

    def _status(self, command: str) -> str:
        unseen = sum(uid not in self.box.seen for uid in self.box.mails)
        known = {"MESSAGES": len(self.box.mails), "UNSEEN": unseen, "UIDVALIDITY": self.box.validity}
        known["UIDNEXT"] = self.box.next_uid
        return " ".join(f"{key} {value}" for key, value in known.items() if key in command)

    def _found(self, search: str) -> list[int]:
        uids = sorted(self.box.mails)
        if "UNSEEN" in search:
            return [uid for uid in uids if uid not in self.box.seen]
        if found := re.search(r"UID (\d+):\*", search.removeprefix("UID SEARCH")):
            # A range that begins after the last mail still contains that mail (RFC 9051).
            return [uid for uid in uids if uid >= int(found[1])] or uids[-1:]
        return uids

    def _fetch(self, tag: str, command: str) -> bool:
        box = self.box
        _uid, _fetch, wanted, what = command.split(" ", 3)
        for number, uid in enumerate(_uids(wanted), start=1):
            if uid not in box.mails:
                continue
            if "SIZE" in what:
                if box.says_sizes:
                    self._send(f"* {number} FETCH (UID {uid} RFC822.SIZE {len(box.mails[uid])})")
                continue
            box.before_fetch(uid)
            raw = box.mails[uid]
            if "HEADER" in what:
                raw = raw.partition(b"\n\n")[0] + b"\n\n"
            match box.faults.get(uid):
                case "no" | "bad" as fault:
                    self._send(f"{tag} {fault.upper()} [SERVERBUG] this mail is damaged")
                    return True
                case "nil":
                    self._send(f"* {number} FETCH (UID {uid} BODY[] NIL)")
                    continue
                case "cut":
                    self.wfile.write(b"* %d FETCH (UID %d BODY[] {%d}\r\n%s" % (number, uid, len(raw), raw[:10]))
                    return False
            self._send(f"* {number} FETCH (FLAGS (\\Recent))")
            self.wfile.write(b"* %d FETCH (UID %d BODY[] {%d}\r\n%s)\r\n" % (number, uid, len(raw), raw))
        self._send(f"{tag} OK done")
        return True


def _uids(text: str) -> list[int]:
    return [int(uid) for uid in text.split(",")]


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True


@contextmanager
def serving(box: Mailbox) -> Iterator[Mailbox]:
    with _Server(("127.0.0.1", 0), _Session) as server:
        server.box = box  # type: ignore[attr-defined]
        box.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield box
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(name="box")
def a_mailbox() -> Iterator[Mailbox]:
    with serving(Mailbox()) as made:
        yield made


def queue_of(box: Mailbox, **values: Any) -> TicketQueue:
    """Return a queue with this mailbox, without encryption."""
    server = {"imap_host": "127.0.0.1", "imap_port": box.port, "imap_uses_tls": False, "imap_allows_plain": True}
    login = {"imap_user": box.user, "imap_password": box.password}
    queue: TicketQueue = TicketQueueFactory(**{**server, **login, **values})
    return queue
