"""The mail back end of a service without a mail server: mails become files, which nobody is sent."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.utils import timezone


class EmailBackend(BaseEmailBackend):
    """One `.eml` a mail in EMAIL_FILE_PATH, as any mail program opens it; named by its time."""

    # Whoever keeps a state of what he sends must not say that this was sent.
    delivers = False

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        folder = Path(settings.EMAIL_FILE_PATH)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for mail in email_messages:
            content = mail.message().as_bytes()
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as file:
                file.write(content)
            # Whole at once for whoever looks into the folder; the random part of the name tells two of one time apart.
            unique = Path(file.name).name[-8:]
            Path(file.name).rename(folder / f"{timezone.localtime():%Y-%m-%d_%H-%M-%S}_{unique}.eml")
        return len(email_messages)
