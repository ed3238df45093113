"""Why a mail server of a queue cannot be used, in words that do not tell what else listens in our network.

The person who tests a server chooses its host. So the message of a failure before the log-in says little; the log has
the error. Reasons are in English: `tickets.reasons` translates the part before the colon.
"""

import imaplib
import smtplib
import ssl

from django.utils.translation import gettext_noop as _

from webhooks.transport.sockets import Failure, tls_text
from webhooks.transport.targets import TargetError

# The most characters of a server's answer that are shown.
LONGEST_ANSWER = 300

ELSEWHERE = _("the name of the server is unknown, or its network is not one of MAILBOX_ALLOWED_NETWORKS")
UNENCRYPTED = _("a log-in without encryption is permitted only within MAILBOX_ALLOWED_NETWORKS")
UNREACHABLE = _("the server cannot be reached")
NO_TLS = _("no encrypted connection")
NO_STARTTLS = _("the server offers no encryption (STARTTLS)")
WRONG_PASSWORD = _("the server refuses user and password")


def reason_of(problem: Exception, *, is_plain: bool, otherwise: str) -> str | None:
    """Return the reason that may be shown for a failed connection, `otherwise` for an answer of another kind of server;
    None for an error of our own.
    """
    match problem:
        case TargetError():
            return ELSEWHERE
        case Failure() if str(problem) in ("dns", "forbidden address"):
            return UNENCRYPTED if is_plain else ELSEWHERE
        case Failure() | TimeoutError():
            return UNREACHABLE
        case ssl.SSLError():
            return f"{NO_TLS}: {tls_text(problem).removeprefix('tls: ')}"
        case OSError() | imaplib.IMAP4.error() | smtplib.SMTPException():
            return otherwise
    return None
