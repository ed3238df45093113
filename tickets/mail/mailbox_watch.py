"""The watch: a process that keeps a connection to every mailbox, and reads new mail as soon as the server tells of it
(IDLE, RFC 2177).

The watch holds the lock of each mailbox that it keeps, on a connection to the database of its own: polls leave these
mailboxes alone. If the watch is killed, its locks end with that connection, and the next poll reads. Each mailbox is
read at least once a minute, so a server without IDLE, or one that forgets to tell, costs no more than that.
"""

import imaplib
import logging
import random
import selectors
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from django.db import Error as DatabaseError
from django.db import connection
from imap_tools.errors import ImapToolsError
from imap_tools.mailbox import BaseMailBox

from callcentre.core.advisory_locks import release, take
from callcentre.core.direct_connection import connect_directly
from callcentre.core.heartbeats import MAILBOXES, Pulse
from tickets.mail.mailbox_connection import TIMEOUT_SECONDS, MailboxConnection, token_of
from tickets.mail.mailbox_poll import LOCK_SPACE, LONGEST_SECONDS, Turn, read, save_failure
from tickets.models import TicketQueue

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.5
# Between two looks at the rows of the queues: for new mailboxes, and for those that a person has changed.
LOOK_SECONDS = 5.0
READ_SECONDS = 60.0
# Threads wait for mail servers, each for one. A server that hangs must not keep other mailboxes waiting.
THREADS = 128
# Mailboxes that are read at one time, each with a connection to the database.
READERS = 8
# The pause before a mailbox is connected again: doubled after each failure, short again once a connection has lasted.
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, LASTING_SECONDS = 2.0, 900.0, 60.0

_BROKEN = (imaplib.IMAP4.error, ImapToolsError, OSError)


class Watch:
    """Keep the mailboxes until `is_stopping` is set."""

    def __init__(self) -> None:
        # A plain attribute: a signal handler may set it at any moment.
        self.is_stopping = False
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="mailbox")
        self._pulse = Pulse(MAILBOXES)

    def run(self) -> None:
        while not self.is_stopping:
            try:
                with connect_directly("mailboxes") as own, selectors.DefaultSelector() as selector:
                    self._keep(own, selector)
            except (psycopg.Error, DatabaseError):
                logger.warning("the database is down, or has restarted")
                connection.close()
                time.sleep(TICK_SECONDS)
        # Threads that wait for a server end with the process: a mail whose row is not written comes again.
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _keep(self, own: psycopg.Connection[Any], selector: selectors.BaseSelector) -> None:
        kept: dict[int, _Kept] = {}
        look_at = 0.0
        try:
            while not self.is_stopping:
                now = time.monotonic()
                if now >= look_at:
                    look_at = now + LOOK_SECONDS
                    self._pulse.beat(own.execute)
                    self._look(own, kept)
                for mailbox in kept.values():
                    mailbox.attend(self._pool, selector)
                for key, _events in selector.select(TICK_SECONDS):
                    key.data.wake(selector)
        finally:
            for mailbox in kept.values():
                mailbox.let_go()

    @staticmethod
    def _look(own: psycopg.Connection[Any], kept: dict[int, "_Kept"]) -> None:
        """Take the mailboxes that are new, and let go those that have another setting or none."""
        own.execute("SELECT 1")
        queues = {queue.pk: queue for queue in TicketQueue.objects.polled()}
        for pk, mailbox in list(kept.items()):
            queue = queues.get(pk)
            if queue is None or queue.updated_at != mailbox.queue.updated_at:
                mailbox.let_go()
                if mailbox.is_at_rest:
                    release(own, LOCK_SPACE, pk)
                    del kept[pk]
        for pk in queues.keys() - kept.keys():
            if take(own, LOCK_SPACE, pk):
                kept[pk] = _Kept(queues[pk])


class _Kept:
    """A mailbox that the watch keeps. One thread at a time works at it; between, its socket waits in the selector."""

    _slots = threading.BoundedSemaphore(READERS)

    def __init__(self, queue: TicketQueue) -> None:
        self.queue = queue
        self._connection = MailboxConnection(queue)
        self._mailbox: BaseMailBox | None = None
        self._has_idle = self._is_idle = self._is_over = False
        self._work: Future[None] | None = None
        # Instants of time.monotonic: when it is read next, and since when it is open.
        self._due_at, self._opened_at = 0.0, 0.0
        self._failures = 0
        # The socket that the selector watches.
        self._waiting: Any = None

    @property
    def is_at_rest(self) -> bool:
        return self._work is None or self._work.done()

    def attend(self, pool: ThreadPoolExecutor, selector: selectors.BaseSelector) -> None:
        """Start the work that is due, and wait for the server after it."""
        if self._is_over or not self.is_at_rest:
            return
        if time.monotonic() >= self._due_at:
            self._leave(selector)
            self._work = pool.submit(self._serve)
        elif self._is_idle and self._waiting is None and self._mailbox is not None:
            self._waiting = self._mailbox.client.socket()
            selector.register(self._waiting, selectors.EVENT_READ, self)

    def wake(self, selector: selectors.BaseSelector) -> None:
        """The server has said something, or closed the connection."""
        self._leave(selector)
        self._due_at = 0.0

    def let_go(self) -> None:
        """Break the connection. The work that goes on ends with it."""
        self._is_over = True
        self._connection.cut()

    def _leave(self, selector: selectors.BaseSelector) -> None:
        if self._waiting is not None:
            with suppress(KeyError, ValueError):
                selector.unregister(self._waiting)
            self._waiting = None

    def _serve(self) -> None:
        """Open the connection, or end its IDLE; read what is new; wait again."""
        if self._mailbox is None:
            self._connection = MailboxConnection(self.queue)
        try:
            with self._connection.within(LONGEST_SECONDS):
                if self._open():
                    turn = self._read()
                    self._due_at = time.monotonic() + (0.0 if turn.has_more else READ_SECONDS)
                    if turn.has_failed:
                        self._pause()
                    elif not turn.has_more:
                        self._idle()
        except _BROKEN as error:
            logger.info("mailbox connection lost", extra={"queue": self.queue.pk, "error": repr(error)})
            self._pause()
        except DatabaseError:
            self._pause()
        except Exception:
            # The thread's exception would be seen by no person.
            logger.exception("mailbox not watched", extra={"queue": self.queue.pk})
            self._pause()
        finally:
            connection.close()

    def _open(self) -> bool:
        """Return whether the mailbox is open and its server answers. A failure to open it is saved at the queue."""
        if self._mailbox is not None:
            if self._is_idle:
                self._is_idle = False
                self._mailbox.idle.stop()  # type: ignore[no-untyped-call]
            self._mailbox.client.noop()
            return True
        try:
            with self._reading():
                token = token_of(self.queue)
            self._mailbox = self._connection.open(token)
            _status, said = self._mailbox.client.capability()
        except DatabaseError:
            raise
        except Exception as problem:  # noqa: BLE001  (the errors of a server's answers)
            if not self._is_over:
                with self._reading():
                    queue = TicketQueue.objects.get(pk=self.queue.pk)
                    save_failure(queue, Turn(queue), problem)
            self._pause()
            return False
        self._has_idle = b"IDLE" in b" ".join(said).upper().split()
        self._opened_at = time.monotonic()
        return True

    def _read(self) -> Turn:
        with self._reading():
            return read(TicketQueue.objects.get(pk=self.queue.pk), self._opened)

    @contextmanager
    def _opened(self) -> Iterator[BaseMailBox]:
        assert self._mailbox is not None
        yield self._mailbox

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Use the database. Few threads may, and each leaves its connection."""
        with self._slots:
            try:
                yield
            finally:
                connection.close()

    def _idle(self) -> None:
        assert self._mailbox is not None
        client = self._mailbox.client
        if not self._has_idle:
            return
        self._mailbox.idle.start()  # type: ignore[no-untyped-call]
        self._is_idle = True
        # The answer may have come together with news, which the socket does not show any more.
        client.socket().settimeout(0)
        try:
            client._get_line()
        except (imaplib.IMAP4.abort, OSError):
            return
        finally:
            client.socket().settimeout(TIMEOUT_SECONDS)
        self._due_at = 0.0

    def _pause(self) -> None:
        """Close the connection, and wait before it is opened again."""
        now = time.monotonic()
        has_lasted = self._mailbox is not None and now - self._opened_at > LASTING_SECONDS
        self._failures = 1 if has_lasted else self._failures + 1
        self._connection.cut()
        self._connection.close()
        self._mailbox, self._is_idle = None, False
        pause = min(PAUSE_SECONDS * 2 ** (self._failures - 1), LONGEST_PAUSE_SECONDS)
        # All mailboxes of a provider that was away come back at different moments.
        self._due_at = now + pause * random.uniform(0.75, 1.25)  # noqa: S311
