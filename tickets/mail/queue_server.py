"""The SMTP server of a ticket queue: connection and log-in, its health, and the mails that it takes in a minute."""

import smtplib
import socket
import ssl
import time
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.core.mail import get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.backends.smtp import EmailBackend
from django.core.mail.utils import DNS_NAME
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_noop as _

from tickets.mail import oauth
from tickets.mail.connection_reasons import LONGEST_ANSWER, NO_STARTTLS, WRONG_PASSWORD, reason_of
from tickets.models import TicketQueue
from webhooks.transport.sockets import open_socket
from webhooks.transport.targets import are_allowed, are_within, parse_server

NO_SMTP = _("the server does not answer as an SMTP server does")
WRONG_TOKEN = _(
    "the server refuses the token; check that SMTP is on for this account, and that it is the connected one"
)
# A server that could not be used gets no mail for this time, so that the threads are free for other queues.
PAUSE = timedelta(minutes=1)


class Unusable(smtplib.SMTPException):
    """The server cannot be reached, or refuses the log-in. The text is a reason, with a detail after a colon."""


def back_end_of(queue: TicketQueue) -> BaseEmailBackend:
    """Return the back end for the mail of this queue: its own server's, or that of the service."""
    return QueueServer(queue) if queue.smtp_host else get_connection()


def waits_until(queue: TicketQueue) -> datetime | None:
    """Return when the queue's server may get the next mail; None: now, and this mail counts for the present minute."""
    if not queue.smtp_host:
        return None
    now = timezone.now()
    # The row of the dispatch was read before; its queue may have changed since.
    failed_at = TicketQueue.objects.values_list("smtp_failed_at", flat=True).get(pk=queue.pk)
    if failed_at is not None and failed_at + PAUSE > now:
        return failed_at + PAUSE
    if queue.smtp_limit is None:
        return None
    minute = now.replace(second=0, microsecond=0)
    row = TicketQueue.objects.filter(pk=queue.pk)
    has_room = Q(smtp_minute=minute, smtp_count__lt=queue.smtp_limit)
    if row.filter(has_room).update(smtp_count=F("smtp_count") + 1):
        return None
    is_first = row.exclude(smtp_minute__gte=minute).update(smtp_minute=minute, smtp_count=1)
    # Another worker may have begun the minute in between.
    if is_first or row.filter(has_room).update(smtp_count=F("smtp_count") + 1):
        return None
    return minute + timedelta(minutes=1)


class QueueServer(EmailBackend):
    """The back end of Django for the server of a queue, at permitted addresses only."""

    def __init__(self, queue: TicketQueue) -> None:
        super().__init__(host=queue.smtp_host, port=queue.smtp_port)
        self.queue = queue

    def open(self) -> bool:
        """Connect and log in. Raises Unusable, which the overview shows until the server is used again."""
        if self.connection:
            return False
        try:
            self.connection = _connect(self.queue)
        except Unusable as reason:
            now = timezone.now()
            values = {"smtp_failed_at": now, "smtp_error": str(reason)[:500]}
            _row_of(self.queue).update(smtp_failing_since=Coalesce("smtp_failing_since", now), **values)
            raise
        if self.queue.smtp_failing_since is not None:
            _row_of(self.queue).update(smtp_failing_since=None, smtp_failed_at=None, smtp_error="")
        return True


def _row_of(queue: TicketQueue) -> QuerySet[TicketQueue]:
    return TicketQueue.objects.filter(pk=queue.pk)


class _Client(smtplib.SMTP):
    """An SMTP client whose connection goes to a permitted address, with TLS from the first byte if wanted."""

    def __init__(self, queue: TicketQueue) -> None:
        self._queue = queue
        # A fully qualified name may end in a dot; its certificate has none.
        host = parse_server(queue.smtp_host, queue.smtp_port).host.removesuffix(".")
        super().__init__(host, queue.smtp_port, local_hostname=DNS_NAME.get_fqdn(), timeout=settings.EMAIL_TIMEOUT)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        permits = are_within if self._queue.smtp_allows_plain else are_allowed
        is_permitted = partial(permits, networks=settings.MAILBOX_ALLOWED_NETWORKS)
        target = parse_server(self._queue.smtp_host, port)
        sock = open_socket(target, time.monotonic() + timeout, is_permitted)
        sock.settimeout(timeout)
        if not self._queue.smtp_uses_tls:
            return sock
        return ssl.create_default_context().wrap_socket(sock, server_hostname=host)

    def encrypt(self) -> None:
        try:
            self.starttls(context=ssl.create_default_context())
        except smtplib.SMTPNotSupportedError as error:
            raise Unusable(NO_STARTTLS) from error


def _connect(queue: TicketQueue) -> _Client:
    """Return a client that is logged in. Raises Unusable."""
    try:
        token = oauth.token_for(queue, queue.smtp_host) if queue.smtp_uses_mailbox else ""
    except oauth.NoToken as error:
        raise Unusable(str(error)) from error
    client = None
    try:
        client = _Client(queue)
        if not (queue.smtp_uses_tls or queue.smtp_allows_plain):
            client.encrypt()
        client.ehlo_or_helo_if_needed()
        _log_in(client, queue, token)
    except Exception as error:
        if client is not None:
            client.close()
        if isinstance(error, Unusable):
            raise
        if (reason := reason_of(error, is_plain=queue.smtp_allows_plain, otherwise=NO_SMTP)) is None:
            raise
        raise Unusable(reason) from error
    return client


def _log_in(client: _Client, queue: TicketQueue, token: str) -> None:
    def first(challenge: bytes | None = None) -> str:
        # A challenge explains a refusal, which follows an empty answer.
        return oauth.xoauth2(queue.imap_user, token) if challenge is None else ""

    try:
        if token:
            client.auth("XOAUTH2", first)
        elif queue.smtp_user and queue.smtp_password:
            client.login(queue.smtp_user, queue.smtp_password)
    except smtplib.SMTPServerDisconnected:
        raise
    except smtplib.SMTPException as error:
        said = error.smtp_error if isinstance(error, smtplib.SMTPResponseException) else str(error)
        text = said.decode(errors="replace") if isinstance(said, bytes) else said
        raise Unusable(f"{WRONG_TOKEN if token else WRONG_PASSWORD}: {text[:LONGEST_ANSWER]}") from error
