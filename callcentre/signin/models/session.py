"""The sessions of the back office: Django's, with the user as a column, so that a person's sessions can be listed.

This module is the SESSION_ENGINE: Django looks for `SessionStore` in it.
"""

import hashlib
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext_lazy as _

from callcentre.core.due_work import DueQuerySet, Retries
from callcentre.core.mail_outbox import DueMail

if TYPE_CHECKING:
    from callcentre.models import User

# Keys of a session: the log-in and the last activity in seconds since 1970, the client's address and browser.
STARTED_AT, SEEN_AT, ADDRESS, BROWSER = "started_at", "seen_at", "address", "browser"
# The key of the log-in by the provider, if there is one.
PROVIDER_SESSION = "provider_session"


class UserSession(AbstractBaseSession):
    """A session. Its data has the log-in, the last activity and the browser, so that listing it costs no further write.

    Deleting the row ends the session: its next request is anonymous.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="sessions", verbose_name=_("user")
    )
    provider_session = models.ForeignKey(
        "signin.ProviderSession", models.CASCADE, null=True, related_name="sessions", editable=False
    )

    class Meta(AbstractBaseSession.Meta):
        abstract = False
        ordering = ["-expire_date", "session_key"]
        default_permissions = ()

    @classmethod
    def get_session_store_class(cls) -> type["SessionStore"]:
        return SessionStore

    @cached_property
    def facts(self) -> dict[str, Any]:
        return self.get_decoded()

    @property
    def name(self) -> str:
        """A name of the session for pages. The key itself would be a credential."""
        return name_of(self.session_key)

    @property
    def started_at(self) -> datetime | None:
        return _instant(self.facts.get(STARTED_AT))

    @property
    def seen_at(self) -> datetime | None:
        return _instant(self.facts.get(SEEN_AT))

    @property
    def address(self) -> str:
        return str(self.facts.get(ADDRESS, ""))

    @property
    def browser(self) -> str:
        return str(self.facts.get(BROWSER, ""))

    def admits(self, user: "User") -> bool:
        """Return whether the session is a log-in of the user. A change of the password ends it."""
        known = self.facts.get(HASH_SESSION_KEY, "")
        hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
        return any(constant_time_compare(known, current) for current in hashes)


class SessionStore(DatabaseStore):
    """Django's store in the database, which fills the columns of the user and of the provider's log-in."""

    @classmethod
    def get_model_class(cls) -> type[UserSession]:
        return UserSession

    def create_model_instance(self, data: dict[str, Any]) -> UserSession:
        session: Any = super().create_model_instance(data)
        session.user_id = data.get(SESSION_KEY)
        session.provider_session_id = data.get(PROVIDER_SESSION)
        return session  # type: ignore[no-any-return]


def name_of(session_key: str | None) -> str:
    return hashlib.sha256((session_key or "").encode()).hexdigest()[:32]


def _instant(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


# Requests are counted and kept for so long.
WINDOW = timedelta(hours=1)
KEPT = timedelta(days=1)
# Requests within the window for one login or e-mail address, and from one network address.
MOST_PER_LOGIN = 5
MOST_PER_SOURCE = 30


class PasswordResetQuerySet(DueQuerySet):
    def recent(self) -> "PasswordResetQuerySet":
        return self.filter(created_at__gt=timezone.now() - WINDOW)

    def outdated(self) -> "PasswordResetQuerySet":
        return self.filter(created_at__lt=timezone.now() - KEPT)


class PasswordReset(DueMail):
    """A request for a new password, with the text that a stranger typed: a login, an e-mail address, or neither.

    A row is written in each case, and a worker looks for the user, so that neither the answer nor its time tells
    whether there is one.
    """

    waits = Q()
    delays = Retries.PASSWORD
    task = "signin.mail_reset"

    typed = models.CharField(_("login or e-mail address"), max_length=254)
    source = models.CharField(_("address"), max_length=50)
    site = models.CharField(max_length=300)
    language = models.CharField(max_length=10)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    objects = PasswordResetQuerySet.as_manager()

    class Meta:
        verbose_name = _("request for a new password")
        verbose_name_plural = _("requests for a new password")
        ordering = ["-id"]
        default_permissions = ()
        indexes = [
            models.Index(fields=["next_attempt_at"], condition=Q(next_attempt_at__isnull=False), name="reset_due"),
            models.Index(fields=["created_at"], name="reset_created_at"),
        ]

    def __str__(self) -> str:
        return str(self.pk)

    def given_up(self, error: str) -> dict[str, Any]:
        return {}
