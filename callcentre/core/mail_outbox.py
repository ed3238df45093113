"""Mails that the service sends by itself: rows of due work, each of which a worker answers by one mail or several.

If the worker dies while it sends, a recipient may get a mail twice: each mail is sent at least once. All attempts send
the same Message-ID, by which a receiver can drop the second copy.
"""

import logging
import smtplib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import DatabaseError, models
from django.utils import timezone, translation
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from callcentre.core.due_work import Claim, DueWork

logger = logging.getLogger(__name__)


class DueMail(DueWork):
    """A row that a worker answers by one mail or several."""

    next_attempt_at = models.DateTimeField(_("next attempt"), null=True, default=timezone.now)

    class Meta:
        abstract = True

    def sent(self, *, is_written: bool) -> dict[str, Any]:
        """Return the columns of a mail that was sent, or written to a file."""
        return {}


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

    def sent(self, *, is_written: bool) -> dict[str, Any]:
        state = self.State.WRITTEN if is_written else self.State.SENT
        return {"state": state, "sent_at": timezone.now(), "error": ""}


Mail = TypeVar("Mail", bound=DueMail)


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
    """The mails of a model, and how they are composed.

    `written_at` returns the time of the row, which is a part of the Message-ID: after the restore of a backup, another
    row may have the same primary key.
    """

    model: type[Mail]
    compose: Callable[[Mail], Iterable[Letter]]
    language: Callable[[Mail], str]
    written_at: Callable[[Mail], datetime]
    # Rows that a mail is read with.
    related: Sequence[str] = ()

    def send(self, pk: int) -> None:
        """Send this mail, if it is due and no other worker has claimed it."""
        rows: Any = self.model._default_manager
        if claim := rows.select_related(*self.related).claim(pk):
            with claim:
                self._attempt(claim)

    def _attempt(self, claim: Claim[Mail]) -> None:
        try:
            is_written = not self._send(claim.row)
        except DatabaseError:
            # The row is due again after the lease.
            raise
        except Unsendable as error:
            claim.fail(error, is_final=True)
        except (smtplib.SMTPException, OSError) as error:
            claim.fail(error, is_final=_is_final(error))
        except Exception as error:
            # A fault of our own code: another attempt would end the same way.
            logger.exception("mail not composed", extra={"model": self.model._meta.label, "mail": claim.row.pk})
            claim.fail(error, is_final=True)
        else:
            claim.finish(**claim.row.sent(is_written=is_written))

    def _send(self, mail: Mail) -> bool:
        """Send the letters. Return false if the back end wrote files: no mail was sent."""
        backend = get_connection()
        with translation.override(self.language(mail)):
            messages = [self._message(mail, letter) for letter in self.compose(mail)]
        if messages:
            backend.send_messages(messages)
        return bool(getattr(backend, "delivers", True))

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


def host_of(address: str) -> str:
    """Return the domain of an address, with or without a name before it."""
    return address.rpartition("@")[2].strip("> ") or "localhost"


def _is_final(error: Exception) -> bool:
    """Return whether another attempt would end the same way."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(code >= 500 for code, _text in error.recipients.values())
    # 535 is also the answer to a wrong password, which an administrator will correct.
    is_login = isinstance(error, smtplib.SMTPAuthenticationError)
    return isinstance(error, smtplib.SMTPResponseException) and error.smtp_code >= 500 and not is_login
