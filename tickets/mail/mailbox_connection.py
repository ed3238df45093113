"""Connections to the mailboxes of ticket queues: to permitted addresses only, and encrypted unless the queue says no.

The connection goes to the same address that was checked.
"""

import imaplib
import logging
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

from django.conf import settings
from django.utils.translation import gettext_noop as _
from imap_tools.errors import MailboxFolderSelectError, MailboxLoginError
from imap_tools.mailbox import BaseMailBox

from tickets.mail import oauth
from tickets.mail.connection_reasons import LONGEST_ANSWER, NO_STARTTLS, WRONG_PASSWORD, reason_of
from tickets.models import MailboxTest, TicketQueue
from tickets.verbs.mailboxes import begin_mailbox_test, end_mailbox_test
from webhooks.transport.sockets import open_socket
from webhooks.transport.targets import are_allowed, are_within, parse_server

logger = logging.getLogger(__name__)

# The limit for each answer of the server.
TIMEOUT_SECONDS = 30
# The limit for a whole test: a person waits for it.
LONGEST_SECONDS = 30

# Reasons, in English, beside those of `connection_reasons`.
NO_IMAP = _("the server does not answer as an IMAP server does")
WRONG_TOKEN = _(
    "the server refuses the token; check that IMAP is on for this account, and that it is the connected one"
)
WRONG_FOLDER = _("the server does not open the folder")


class Refused(Exception):
    """The mailbox cannot be opened. The text is one of the reasons above, with a detail after a colon."""


@contextmanager
def open_mailbox(queue: TicketQueue, seconds: float) -> Iterator[BaseMailBox]:
    """Log in to the queue's mailbox and open its folder. The connection is cut after `seconds`.

    Raises Refused if the mailbox cannot be opened.
    """
    connection = MailboxConnection(queue)
    with connection.within(seconds):
        mailbox = connection.open(token_of(queue))
        try:
            yield mailbox
        finally:
            connection.close()


def token_of(queue: TicketQueue) -> str:
    """Return the token for the log-in; "" for a queue with a password. Raises Refused."""
    try:
        return oauth.token_for(queue, queue.imap_host) if queue.login.provider else ""
    except oauth.NoToken as reason:
        raise Refused(str(reason)) from reason


def in_words(problem: Exception) -> str:
    """Return the reason of a failed poll or test, in one line."""
    text = " ".join(str(problem).split()).replace("\0", "")
    if isinstance(problem, Refused):
        return text
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__


class MailboxConnection:
    """A connection to a queue's mailbox, with the time limit of what is done over it, and its client."""

    def __init__(self, queue: TicketQueue) -> None:
        self.queue = queue
        self.client: imaplib.IMAP4 | None = None
        # An instant of time.monotonic.
        self.deadline = 0.0

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Cut the connection if the block takes longer."""
        self.deadline = time.monotonic() + seconds
        timer = threading.Timer(seconds, self.cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def open(self, token: str) -> BaseMailBox:
        """Connect, log in by the token or the password, and open the folder. Raises Refused."""
        mailbox = _connect(self)
        try:
            _log_in(mailbox, self.queue, token)
            _open_folder(mailbox, self.queue.imap_folder)
        except BaseException:
            self.close()
            raise
        return mailbox

    def cut(self) -> None:
        """Break the connection from another thread, so that a pending read ends at once."""
        # Before the client has a socket, connecting ends by itself at the deadline.
        with suppress(OSError, AttributeError):
            if self.client is not None:
                self.client.socket().shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        # A broken connection needs no log-out.
        with suppress(imaplib.IMAP4.error, OSError, AttributeError):
            if self.client is not None:
                self.client.logout()
        with suppress(OSError, AttributeError):
            if self.client is not None:
                self.client.shutdown()


class _Client(imaplib.IMAP4):
    """An IMAP client whose connection goes to a permitted address."""

    def __init__(self, connection: MailboxConnection) -> None:
        self._connection = connection
        self._target = parse_server(connection.queue.imap_host, connection.queue.imap_port)
        connection.client = self
        # A fully qualified name may end in a dot; its certificate has none.
        super().__init__(self._target.host.removesuffix("."), self._target.port, timeout=TIMEOUT_SECONDS)

    def _create_socket(self, timeout: float | None) -> socket.socket:
        queue = self._connection.queue
        permits = are_within if queue.imap_allows_plain else are_allowed
        is_permitted = partial(permits, networks=settings.MAILBOX_ALLOWED_NETWORKS)
        sock = open_socket(self._target, self._connection.deadline, is_permitted)
        sock.settimeout(timeout)
        if not queue.imap_uses_tls:
            return sock
        return ssl.create_default_context().wrap_socket(sock, server_hostname=self.host)

    def encrypt(self) -> None:
        """Continue encrypted (STARTTLS)."""
        if "STARTTLS" not in self.capabilities:
            raise Refused(NO_STARTTLS)
        self.starttls(ssl.create_default_context())


class _MailBox(BaseMailBox):
    """The mailbox of imap_tools, on our client."""

    def __init__(self, connection: MailboxConnection) -> None:
        self._connection = connection
        super().__init__()

    def _get_mailbox_client(self) -> imaplib.IMAP4:
        client, queue = _Client(self._connection), self._connection.queue
        if not (queue.imap_uses_tls or queue.imap_allows_plain):
            client.encrypt()
        return client


def _connect(connection: MailboxConnection) -> BaseMailBox:
    try:
        return _MailBox(connection)
    except Exception as problem:
        connection.close()
        logger.info("mailbox not opened", extra={"queue": connection.queue.pk, "error": repr(problem)})
        if isinstance(problem, Refused):
            raise
        if (reason := reason_of(problem, is_plain=connection.queue.imap_allows_plain, otherwise=NO_IMAP)) is None:
            raise
        raise Refused(reason) from problem


def _log_in(mailbox: BaseMailBox, queue: TicketQueue, token: str) -> None:
    if token:
        return _show_token(mailbox.client, queue, token)
    is_ascii = (queue.imap_user + queue.imap_password).isascii()
    login = mailbox.login if is_ascii else mailbox.login_utf8
    try:
        login(queue.imap_user, queue.imap_password, initial_folder=None)
    except imaplib.IMAP4.abort:
        raise
    except (MailboxLoginError, imaplib.IMAP4.error) as error:
        raise Refused(f"{WRONG_PASSWORD}: {str(error)[:LONGEST_ANSWER]}") from error


def _show_token(client: imaplib.IMAP4, queue: TicketQueue, token: str) -> None:
    said = [oauth.xoauth2(queue.imap_user, token).encode()]

    def answer(challenge: bytes) -> bytes:
        # A second challenge explains a refusal, which follows an empty answer.
        return said.pop() if said else b""

    try:
        client.authenticate("XOAUTH2", answer)
    except imaplib.IMAP4.abort:
        raise
    except imaplib.IMAP4.error as error:
        raise Refused(f"{WRONG_TOKEN}: {str(error)[:LONGEST_ANSWER]}") from error


def _open_folder(mailbox: BaseMailBox, name: str) -> None:
    try:
        mailbox.folder.set(name)
    except MailboxFolderSelectError as error:
        answer = b" ".join(part for part in error.command_result[1] if isinstance(part, bytes))
        said = answer.decode(errors="replace")[:LONGEST_ANSWER]
        raise Refused(f"{WRONG_FOLDER}: {name}: {said}") from error


def run_test(queue_id: int) -> None:
    """Log in to the mailbox, count its mails, and log out. No mail is read or changed."""
    test = MailboxTest.objects.select_related("queue").filter(pk=queue_id).first()
    if test is None or not begin_mailbox_test(test):
        return
    try:
        with open_mailbox(test.queue, LONGEST_SECONDS) as mailbox:
            status = mailbox.folder.status(test.queue.imap_folder, ["MESSAGES", "UNSEEN"])
    except Exception as problem:  # noqa: BLE001  (the errors of a server's answers)
        end_mailbox_test(test, error=in_words(problem))
    else:
        end_mailbox_test(test, mail_count=int(status["MESSAGES"]), unseen_count=int(status["UNSEEN"]))
