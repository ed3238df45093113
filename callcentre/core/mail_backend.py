"""The mail back end of a service without a mail server: it writes mails to files and sends none."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.utils import timezone


class EmailBackend(BaseEmailBackend):
    """A back end that writes each mail to an `.eml` file in EMAIL_FILE_PATH, named by its time."""

    # Tells the callers that save a mail's state that the mail was not sent.
    delivers = False

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        folder = Path(settings.EMAIL_FILE_PATH)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for mail in email_messages:
            content = mail.message().as_bytes()
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as file:
                file.write(content)
            # The rename makes the whole file appear at once. The random part tells apart two mails of one second.
            unique = Path(file.name).name[-8:]
            Path(file.name).rename(folder / f"{timezone.localtime():%Y-%m-%d_%H-%M-%S}_{unique}.eml")
        return len(email_messages)
