"""How the service logs in to the mail servers of a queue, and the servers that may get a token."""

from typing import NamedTuple

from django.db import models
from django.utils.translation import gettext_lazy as _


class MailLogin(models.TextChoices):
    PASSWORD = "password", _("user and password")
    GOOGLE = "google", _("Google, a person agrees (OAuth 2)")
    GOOGLE_SERVICE = "google_service", _("Google, service account (OAuth 2)")
    MICROSOFT = "microsoft", _("Microsoft 365, a person agrees (OAuth 2)")
    MICROSOFT_APP = "microsoft_app", _("Microsoft 365, application (OAuth 2)")

    @property
    def provider(self) -> str:
        """The provider that gives tokens; "" for a password."""
        return "" if self == self.PASSWORD else self.value.partition("_")[0]

    @property
    def needs_consent(self) -> bool:
        """Whether a person has to agree at the provider, in a browser."""
        return self in (self.GOOGLE, self.MICROSOFT)


class MailServers(NamedTuple):
    imap_host: str
    smtp_host: str
    imap_port: int = 993
    smtp_port: int = 587


# A token opens the whole mailbox, so no other server gets one.
SERVERS = {
    "google": MailServers("imap.gmail.com", "smtp.gmail.com"),
    "microsoft": MailServers("outlook.office365.com", "smtp.office365.com"),
}
