"""Errors of the mail server: in words for a row, and whether another attempt would help."""

import smtplib


def said(error: Exception) -> str:
    """Return the error as a text that a column can hold."""
    return str(error).replace("\0", "")[:500] or type(error).__name__


def is_final(error: Exception) -> bool:
    """Return whether another attempt would end the same way."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(code >= 500 for code, _text in error.recipients.values())
    # 535 is also the answer to a wrong password, which an administrator will correct.
    is_login = isinstance(error, smtplib.SMTPAuthenticationError)
    return isinstance(error, smtplib.SMTPResponseException) and error.smtp_code >= 500 and not is_login
