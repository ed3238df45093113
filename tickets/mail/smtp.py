"""One mail to the mail server, through Django's back end, with the knowledge of how far it came."""

import logging
import re
import smtplib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.base import BaseEmailBackend
from django.db import Error as DatabaseError

from callcentre.core.due_work import NotOurs
from tickets.addresses import needs_smtputf8, on_the_wire
from tickets.mail.composition import compose
from tickets.mail.queue_server import back_end_of
from tickets.mail.send_results import Answer, Lost, Refused, Sent
from tickets.models import Dispatch

logger = logging.getLogger(__name__)

# EMAIL_TIMEOUT applies to each piece of a large mail, not to the whole.
_PIECE = 64 * 1024
# A server may look through the whole mail before it answers; RFC 5321 gives it ten minutes.
ANSWER_SECONDS = 240.0
_DOT = re.compile(rb"(?m)^\.")

Refusals = Mapping[str, tuple[int, bytes]]


def send(dispatch: Dispatch, begin: Callable[[], None]) -> Sent:
    """Send the mail to the dispatch's addressees. Call `begin` before the server gets the first byte of the message.

    Raises Refused or Lost, and the exceptions of `begin`.
    """
    backend = back_end_of(dispatch.message.ticket.queue)
    mail = _compose(dispatch, backend)
    _open(backend)
    try:
        refused = _watch(backend, begin, [on_the_wire(each) for each in dispatch.addressees])
        if not mail.send():
            raise Refused("it has no recipient", is_final=True)
    except (Refused, NotOurs, DatabaseError):
        raise
    except Exception as error:
        raise _judge(error, dispatch) from error
    finally:
        _close(backend)
    # A back end that writes files says that it delivers nothing.
    state = Dispatch.State.SENT if getattr(backend, "delivers", True) else Dispatch.State.WRITTEN
    return Sent(state, _answers(refused, dispatch))


def _compose(dispatch: Dispatch, backend: BaseEmailBackend) -> EmailMultiAlternatives:
    try:
        return compose(dispatch, backend)
    except FileNotFoundError as error:
        raise Refused("an attachment is not in the storage any more", is_final=True) from error
    except OSError as error:
        raise Refused(f"an attachment cannot be read: {error.strerror}", is_final=False) from error


def _open(backend: BaseEmailBackend) -> None:
    """Connect and log in. A failure here is never final: a person can correct the address, certificate or password."""
    try:
        backend.open()
    except (smtplib.SMTPException, OSError) as error:
        _close(backend)
        raise Refused(_reason(error), is_final=False) from error


def _judge(error: Exception, dispatch: Dispatch) -> Refused | Lost:
    """Return what this error means for the mail."""
    has_begun = dispatch.begun_at is not None
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        answers = _answers(error.recipients, dispatch)
        return Refused("", is_final=all(answer.is_final for answer in answers.values()), answers=answers)
    if isinstance(error, smtplib.SMTPResponseException):
        return Refused(_reason(error), is_final=error.smtp_code >= 500)
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return Refused(f"{_reason(error)}: its address has letters that this mail server cannot send to", is_final=True)
    if isinstance(error, smtplib.SMTPException | OSError):
        return Lost(_reason(error)) if has_begun else Refused(_reason(error), is_final=False)
    # The mail cannot be written, now or later: a header that mail does not allow, for example.
    logger.error("mail not sent", exc_info=error)
    text = f"it cannot be sent as a mail: {type(error).__name__}"
    return Lost(text) if has_begun else Refused(text, is_final=True)


def _watch(backend: BaseEmailBackend, begin: Callable[[], None], addressees: list[str]) -> Refusals:
    """Make the back end send to the addressees as they are, and call `begin` when the server asks for the message.

    Without an SMTP connection, `begin` is called at once. The result will hold the recipients that the server refuses
    while it accepts others.
    """
    refused: dict[str, tuple[int, bytes]] = {}
    smtp: Any = getattr(backend, "connection", None)
    is_smtp = isinstance(smtp, smtplib.SMTP)
    if not is_smtp:
        begin()
        return refused
    send_mail = smtp.sendmail

    def data(message: bytes) -> tuple[int, bytes]:
        code, text = smtp.docmd("DATA")
        if code != 354:
            raise smtplib.SMTPDataError(code, text)
        try:
            begin()
        except BaseException:
            # The server waits for the message and accepts no QUIT now.
            smtp.close()
            raise
        _transmit(smtp, _DOT.sub(b"..", message).removesuffix(b"\r\n") + b"\r\n.\r\n")
        code, text = smtp.getreply()
        return code, text

    def sendmail(sender: str, _recipients: Sequence[str], message: bytes) -> Refusals:
        # Django has encoded local parts that are not ASCII, which makes them other addresses.
        options = ["SMTPUTF8", "BODY=8BITMIME"] if any(map(needs_smtputf8, addressees)) else []
        refused.update(send_mail(sender, addressees, message, options))
        return refused

    smtp.data, smtp.sendmail = data, sendmail
    return refused


def _transmit(smtp: smtplib.SMTP, octets: bytes) -> None:
    sock = smtp.sock
    if sock is None:
        raise smtplib.SMTPServerDisconnected("the connection was closed")
    for start in range(0, len(octets), _PIECE):
        sock.sendall(octets[start : start + _PIECE])
    sock.settimeout(ANSWER_SECONDS)


def _close(backend: BaseEmailBackend) -> None:
    try:
        backend.close()
    except (smtplib.SMTPException, OSError):  # the server has given its answer, or never will
        return


def _reason(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        text = error.smtp_error
        return f"{error.smtp_code} {text.decode(errors='replace') if isinstance(text, bytes) else text}"
    return str(error) or type(error).__name__


def _answers(refused: Refusals, dispatch: Dispatch) -> dict[str, Answer]:
    """Return the answers by recipient, as we spell it: domains have another spelling on the wire."""
    spelled = {on_the_wire(each): each for each in dispatch.addressees}
    return {
        spelled.get(address, address): Answer(f"{code} {text.decode(errors='replace')}", code >= 500)
        for address, (code, text) in refused.items()
    }
