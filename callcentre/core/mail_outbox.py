"""Mails that the service sends by itself: rows in tables, which a worker claims, sends and tries again.

A row is due at `next_attempt_at`. A worker claims it by moving that past a lease. If the worker dies, the row is due
again after the lease, so a recipient may get a mail twice, and each mail is sent at least once. All attempts send the
same Message-ID, by which a receiver can drop the second copy.
"""

import logging
import smtplib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import DatabaseError, models
from django.db.models import F
from django.utils import timezone, translation
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from callcentre.core.enqueue import enqueue
from callcentre.core.leases import Lease

logger = logging.getLogger(__name__)

# Mails that one sweep enqueues.
BATCH = 100
DIED = "the worker died at every attempt"


class DueMailQuerySet(models.QuerySet[Any]):
    def due(self, now: datetime) -> "DueMailQuerySet":
        return self.filter(next_attempt_at__lte=now)


class DueMail(models.Model):
    """A row that a worker answers by one mail or several. Without `next_attempt_at`, no attempt follows.

    The manager of each model has `due`, of DueMailQuerySet or QueuedMailQuerySet.
    """

    attempt_count = models.PositiveSmallIntegerField(_("attempts"), default=0)
    next_attempt_at = models.DateTimeField(_("next attempt"), null=True, default=timezone.now)

    class Meta:
        abstract = True

    @classmethod
    def columns_of(cls, result: "Result") -> dict[str, Any]:
        """Return the columns that store the result of an attempt."""
        return {"next_attempt_at": result.next_attempt_at}


class QueuedMailQuerySet(DueMailQuerySet):
    def due(self, now: datetime) -> "QueuedMailQuerySet":
        return self.filter(state=QueuedMail.State.QUEUED, next_attempt_at__lte=now)


class QueuedMail(DueMail):
    """A mail to one recipient, with its state.

    A service without a mail server writes a mail to a file: the state is WRITTEN, and nothing was sent.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        SENT = "sent", _("sent")
        WRITTEN = "written", _("written to a file, not sent")
        FAILED = "failed", _("failed")

    recipient = models.CharField(_("to"), max_length=320)
    state = models.CharField(_("state"), max_length=10, choices=State, default=State.QUEUED)
    sent_at = models.DateTimeField(_("sent"), null=True)
    # The reason of a failure or of another attempt.
    error = models.CharField(_("error"), max_length=500, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.recipient

    @classmethod
    def columns_of(cls, result: "Result") -> dict[str, Any]:
        is_over = result.state in (cls.State.SENT, cls.State.WRITTEN)
        sent = {"sent_at": timezone.now()} if is_over else {}
        return {**super().columns_of(result), "state": result.state, "error": result.error, **sent}


State = QueuedMail.State
Mail = TypeVar("Mail", bound=DueMail)


@dataclass(frozen=True)
class Result:
    """The result of an attempt: sent, failed for good, or queued until the next attempt."""

    state: str
    error: str = ""
    next_attempt_at: datetime | None = None


@dataclass(frozen=True)
class Letter:
    """The content of a mail. `key` tells apart the letters of one row; it is the same at each attempt."""

    recipient: str
    subject: str
    lines: Sequence[str]
    # Name, content, content type.
    attachments: Sequence[tuple[str, bytes, str]] = ()
    key: str = ""


class Unsendable(Exception):
    """The reason why a letter cannot be composed, now or later."""


@dataclass(frozen=True)
class Outbox(Generic[Mail]):
    """The mails of a model: how they are composed, and when they are tried again.

    `task` sends one mail, by its primary key. `written_at` returns the time of the row, which is a part of the
    Message-ID: after the restore of a backup, another row may have the same primary key.
    """

    model: type[Mail]
    task: str
    compose: Callable[[Mail], Iterable[Letter]]
    language: Callable[[Mail], str]
    written_at: Callable[[Mail], datetime]
    delays: Sequence[timedelta]
    # Rows that a mail is read with.
    related: Sequence[str] = ()

    def sweep(self) -> None:
        """Enqueue the mails that are due again, and those for which no message was sent."""
        for pk in self.due_now():
            enqueue(self.task, pk)

    def due_now(self) -> list[int]:
        """Return the mails that are due, the longest due first. Fail those that ended every worker."""
        rows: Any = self.model._default_manager
        due = rows.due(timezone.now())
        died = self.model.columns_of(Result(State.FAILED, DIED))
        due.filter(attempt_count__gt=len(self.delays)).update(**died)
        return list(due.order_by("next_attempt_at").values_list("pk", flat=True)[:BATCH])

    def send(self, pk: int) -> None:
        """Send this mail, if it is due and no other worker has claimed it."""
        rows: Any = self.model._default_manager.filter(pk=pk)
        lease = Lease(rows)
        if not lease.extend(rows.due(timezone.now()), attempt_count=F("attempt_count") + 1):
            return
        mail = rows.select_related(*self.related).get()
        with lease:
            result = self._attempt(mail)
        rows.filter(next_attempt_at=lease.until).update(**self.model.columns_of(result))

    def _attempt(self, mail: Mail) -> Result:
        unexpected = None
        try:
            return Result(self._send(mail))
        except DatabaseError:
            # The row is due again after the lease.
            raise
        except Unsendable as error:
            result = Result(State.FAILED, _said(error))
        except (smtplib.SMTPException, OSError) as error:
            result = self._after_refusal(mail, error)
        except Exception as error:  # noqa: BLE001  # logged below
            # A fault of our own code: another attempt would end the same way.
            result = Result(State.FAILED, _said(error))
            unexpected = error
        level = logging.ERROR if result.state == State.FAILED else logging.WARNING
        details = {"model": mail._meta.label, "mail": mail.pk, "state": result.state, "error": result.error}
        logger.log(level, "mail of the service not sent", extra=details, exc_info=unexpected)
        return result

    def _send(self, mail: Mail) -> str:
        backend = get_connection()
        with translation.override(self.language(mail)):
            messages = [self._message(mail, letter) for letter in self.compose(mail)]
        if messages:
            backend.send_messages(messages)
        # A back end that writes files says so: no mail was sent.
        return State.SENT if getattr(backend, "delivers", True) else State.WRITTEN

    def _message(self, mail: Mail, letter: Letter) -> EmailMessage:
        return EmailMessage(
            letter.subject,
            "\n".join(letter.lines),
            settings.DEFAULT_FROM_EMAIL,
            [letter.recipient],
            attachments=letter.attachments,
            headers={"Auto-Submitted": "auto-generated", "Message-ID": f"<{self._header_id(mail, letter)}>"},
        )

    def _header_id(self, mail: Mail, letter: Letter) -> str:
        """Return the Message-ID, without brackets. It holds no text of the row."""
        name = f"{mail._meta.label_lower}.{mail.pk}"
        row = f"{name}.{self.written_at(mail).isoformat()}.{letter.key}"
        return f"{name}.{salted_hmac('mail outbox', row).hexdigest()[:20]}@{host_of(settings.DEFAULT_FROM_EMAIL)}"

    def _after_refusal(self, mail: Mail, error: Exception) -> Result:
        """Return the next attempt; or a failure, if another attempt would not help or there were enough of them."""
        if _is_final(error) or mail.attempt_count > len(self.delays):
            return Result(State.FAILED, _said(error))
        next_attempt_at = timezone.now() + self.delays[mail.attempt_count - 1]
        return Result(State.QUEUED, _said(error), next_attempt_at)


def host_of(address: str) -> str:
    """Return the domain of an address, with or without a name before it."""
    return address.rpartition("@")[2].strip("> ") or "localhost"


def _said(error: Exception) -> str:
    """Return the error as a text that a column can hold."""
    return str(error).replace("\0", "")[:500] or type(error).__name__


def _is_final(error: Exception) -> bool:
    """Return whether another attempt would end the same way."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(code >= 500 for code, _text in error.recipients.values())
    # 535 is also the answer to a wrong password, which an administrator will correct.
    is_login = isinstance(error, smtplib.SMTPAuthenticationError)
    return isinstance(error, smtplib.SMTPResponseException) and error.smtp_code >= 500 and not is_login
