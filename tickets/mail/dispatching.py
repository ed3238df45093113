"""Sending what is due: claim it, send it, write down what came of it.

A mail is sent once or not at all, as far as anybody can know: `begun_at` is committed before the server gets the
message. When the worker dies, or the connection breaks, between that and the server's answer, nobody knows whether it
arrived, and only a person sends it again.
"""

import smtplib
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.core.mail import get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import F
from django.utils import timezone

from tickets.mail.composing import compose
from tickets.models import Dispatch

State = Dispatch.State

# Longer than any sending takes: EMAIL_TIMEOUT bounds each step of it.
LEASE = timedelta(minutes=10)
DELAYS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 240, 720))
UNKNOWN = "outcome unknown"


class Refused(Exception):
    """The server answered that it does not take the mail; `is_final`: nor will it later."""

    def __init__(self, reason: str, *, is_final: bool) -> None:
        super().__init__(reason)
        self.is_final = is_final


class Lost(Exception):
    """The connection broke while the server was taking the message."""


def dispatch(pk: int) -> None:
    """Send this one, if it is due and nobody else is at it."""
    if not _claim(pk):
        return
    due = Dispatch.objects.select_related("message__ticket__queue").get(pk=pk)
    try:
        notice = _send(due)
    except Lost as lost:
        _end(due, state=State.FAILED, is_unknown=True, error=f"{UNKNOWN}: {lost}")
    except Refused as refused:
        _fail(due, refused)
    else:
        _end(due, state=State.SENT, sent_at=timezone.now(), error=notice)


def due_now() -> list[int]:
    """Those whose message was lost, or whose next attempt has come. What a dead worker had begun fails as unknown."""
    now = timezone.now()
    dead = Dispatch.objects.filter(state=State.QUEUED, next_attempt_at__lte=now, begun_at__isnull=False)
    dead.update(state=State.FAILED, is_unknown=True, next_attempt_at=None, error=UNKNOWN)
    return list(Dispatch.objects.filter(state=State.QUEUED, next_attempt_at__lte=now).values_list("pk", flat=True))


def _claim(pk: int) -> bool:
    """Of two workers one gets it; should it die, the lease runs out."""
    now = timezone.now()
    ready = Dispatch.objects.filter(pk=pk, state=State.QUEUED, begun_at=None, next_attempt_at__lte=now)
    return bool(ready.update(next_attempt_at=now + LEASE, attempt_count=F("attempt_count") + 1))


def _send(due: Dispatch) -> str:
    """What the server said of single recipients. Raises Refused or Lost."""
    backend = get_connection()
    try:
        backend.open()
    except (smtplib.SMTPException, OSError) as error:
        raise Refused(_reason(error), is_final=False) from error
    refused = _watch(backend, lambda: _begin(due))
    try:
        compose(due, backend).send()
    except smtplib.SMTPRecipientsRefused as error:
        is_final = all(code >= 500 for code, _text in error.recipients.values())
        raise Refused(_recipients(error.recipients), is_final=is_final) from error
    except smtplib.SMTPResponseException as error:
        raise Refused(_reason(error), is_final=error.smtp_code >= 500) from error
    except (smtplib.SMTPException, OSError) as error:
        if due.begun_at is not None:
            raise Lost(_reason(error)) from error
        raise Refused(_reason(error), is_final=False) from error
    finally:
        _close(backend)
    return _recipients(refused)


def _watch(backend: BaseEmailBackend, begin: Callable[[], None]) -> Mapping[str, tuple[int, bytes]]:
    """Call `begin` before the server gets the message; recipients whom it refuses while it takes others turn up in
    what is returned. A back end without an SMTP connection begins at once.
    """
    refused: dict[str, tuple[int, bytes]] = {}
    smtp: Any = getattr(backend, "connection", None)
    is_smtp = isinstance(smtp, smtplib.SMTP)
    if not is_smtp:
        begin()
        return refused
    take_data, send_mail = smtp.data, smtp.sendmail

    def data(message: Any) -> Any:
        begin()
        return take_data(message)

    def sendmail(*args: Any, **kwargs: Any) -> Any:
        refused.update(send_mail(*args, **kwargs))
        return refused

    smtp.data, smtp.sendmail = data, sendmail
    return refused


def _begin(due: Dispatch) -> None:
    due.begun_at = timezone.now()
    due.save(update_fields=["begun_at"])


def _close(backend: BaseEmailBackend) -> None:
    try:
        backend.close()
    except (smtplib.SMTPException, OSError):  # the server has answered already, or never will
        return


def _fail(due: Dispatch, refused: Refused) -> None:
    """Try again later; or leave it to a person, where that would not help or has been tried often enough."""
    if refused.is_final or due.attempt_count > len(DELAYS):
        _end(due, state=State.FAILED, begun_at=None, error=str(refused))
    else:
        due.begun_at, due.error = None, str(refused)[:500]
        due.next_attempt_at = timezone.now() + DELAYS[due.attempt_count - 1]
        due.save(update_fields=["begun_at", "error", "next_attempt_at"])


def _end(due: Dispatch, **values: Any) -> None:
    """Unless a person has decided meanwhile."""
    values["error"] = values["error"][:500]
    Dispatch.objects.filter(pk=due.pk, state=State.QUEUED).update(next_attempt_at=None, **values)


def _reason(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        text = error.smtp_error
        return f"{error.smtp_code} {text.decode(errors='replace') if isinstance(text, bytes) else text}"
    return str(error) or type(error).__name__


def _recipients(refused: Mapping[str, tuple[int, bytes]]) -> str:
    return "; ".join(f"{address}: {code} {text.decode(errors='replace')}" for address, (code, text) in refused.items())
