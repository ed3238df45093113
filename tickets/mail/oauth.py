"""OAuth 2 (RFC 6749) for mailboxes of Google and Microsoft 365: consent of a person, applications, service accounts.

A token is renewed ahead of its expiry, by a sweep and by each log-in. What a provider refuses is stored at the grant,
and ends with the next token. Two workers may renew one token at once: both tokens are good.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523.assertion import sign_jwt_bearer_assertion
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_noop as _
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from tickets.models import MailboxGrant, MailLogin, TicketQueue
from tickets.models.mail_login import SERVERS
from tickets.verbs.mailboxes import begin_grant, finish_grant, keep, waiting_grant

TIMEOUT_SECONDS = 10
# A token of which the provider does not say how long it is good.
USUAL_SECONDS = 3600
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"

# Reasons, in English: `tickets.reasons` translates the part before the colon.
NOT_CONNECTED = _("no person has connected the mailbox yet; use “Connect the mailbox” on the page of the queue")
WITHDRAWN = _(
    "the provider has ended the access (withdrawn, expired, or a new password); use “Connect the mailbox” on the page"
    " of the queue"
)
WRONG_APPLICATION = _(
    "the provider does not accept our application; check its id and secret in the settings, and what it is permitted"
)
NOT_DELEGATED = _(
    "Google does not let the service account read this mailbox; permit it in the admin console, under domain-wide"
    " delegation"
)
NO_CONSENT = _("the provider says that there is no consent")
NO_SETTINGS = _("settings of the provider are missing")
UNREACHABLE = _("the provider cannot be asked for a token; it is asked again")
REFUSED = _("the provider refuses a token")
ELSEWHERE = _("a token is sent to the servers of its provider only")
_OF_APPLICATION = ("invalid_client", "unauthorized_client", "invalid_scope")


class NoToken(Exception):
    """The provider gives no token. The text is one of the reasons above, with a detail after a colon."""


@dataclass(frozen=True, slots=True)
class _Provider:
    """The addresses and scopes of a provider. `{tenant}` is MICROSOFT_TENANT."""

    authorize_url: str
    token_url: str
    # Of a person's consent, and of an application or service account.
    scope: str
    own_scope: str
    parameters: Mapping[str, str]


PROVIDERS = {
    "google": _Provider(
        "https://accounts.google.com/o/oauth2/v2/auth",
        "https://oauth2.googleapis.com/token",
        "https://mail.google.com/",
        "https://mail.google.com/",
        # Without these Google gives no refresh token at the second consent.
        {"access_type": "offline", "prompt": "consent"},
    ),
    "microsoft": _Provider(
        "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/authorize",
        "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token",
        "https://outlook.office.com/IMAP.AccessAsUser.All https://outlook.office.com/SMTP.Send offline_access",
        "https://outlook.office365.com/.default",
        {},
    ),
}
_SETTINGS = {
    MailLogin.GOOGLE: ("GOOGLE_CLIENT_ID", "GOOGLE_CLIENT_SECRET"),
    MailLogin.GOOGLE_SERVICE: ("GOOGLE_SERVICE_ACCOUNT",),
    MailLogin.MICROSOFT: ("MICROSOFT_TENANT", "MICROSOFT_CLIENT_ID", "MICROSOFT_CLIENT_SECRET"),
    MailLogin.MICROSOFT_APP: ("MICROSOFT_TENANT", "MICROSOFT_CLIENT_ID", "MICROSOFT_CLIENT_SECRET"),
}


def missing_settings(login: MailLogin) -> list[str]:
    """Return the names of the settings that this log-in needs and that are empty."""
    return [name for name in _SETTINGS.get(login, ()) if not getattr(settings, name)]


def consent_url(queue: TicketQueue, actor_name: str, redirect_uri: str) -> str:
    """Begin a consent. Return the address of the provider where the person agrees. Raises NoToken."""
    session, provider = _session(queue.login, redirect_uri)
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(64)
    begin_grant(queue, actor_name, _checksum(state), verifier)
    url, _state = session.create_authorization_url(
        _of_tenant(provider.authorize_url),
        state=state,
        code_verifier=verifier,
        login_hint=queue.imap_user,
        **provider.parameters,
    )
    return str(url)


def consented(state: str, actor_name: str) -> MailboxGrant | None:
    """Return the grant for which this person went to the provider a short time ago, with its queue; None for none."""
    return waiting_grant(_checksum(state), actor_name) if state else None


def exchange(grant: MailboxGrant, code: str, redirect_uri: str) -> None:
    """Exchange the code that the person came back with for tokens, and keep them. Raises NoToken."""
    session, provider = _session(grant.queue.login, redirect_uri)
    token = _ask(session, provider, code=code, code_verifier=grant.verifier, grant_type="authorization_code")
    finish_grant(grant, **_columns(token))


def renew(queue_id: int) -> None:
    """Renew the token of a queue, if it is due. A refusal is stored."""
    if queue := TicketQueue.objects.with_tokens().filter(pk=queue_id).first():
        with suppress(NoToken):
            token_for(queue, queue.imap_host)


def token_for(queue: TicketQueue, host: str) -> str:
    """Return a token for the queue's account at this server of its provider. Raises NoToken."""
    servers = SERVERS[queue.login.provider]
    if host not in (servers.imap_host, servers.smtp_host):
        raise NoToken(ELSEWHERE)
    grant = MailboxGrant.objects.filter(pk=queue.pk).first() or MailboxGrant(queue=queue)
    if grant.is_due:
        try:
            _renew(queue, grant)
        except NoToken:
            if not grant.is_good_until(timezone.now() + timedelta(minutes=1)):
                raise
    return str(grant.access_token)


def xoauth2(user: str, token: str) -> str:
    """Return the first answer of the mechanism XOAUTH2, which the servers of both providers know."""
    return f"user={user}\1auth=Bearer {token}\1\1"


def _renew(queue: TicketQueue, grant: MailboxGrant) -> None:
    """Ask for a token and keep it. Raises NoToken; the reason is stored."""
    try:
        session, provider = _session(queue.login)
        token = _ask(session, provider, **_what_grants(queue, grant, provider))
    except NoToken as reason:
        keep(grant, error=str(reason)[:500])
        raise
    keep(grant, error="", **_columns(token))


def _what_grants(queue: TicketQueue, grant: MailboxGrant, provider: _Provider) -> dict[str, Any]:
    """Return the parameters of the request for a token. Raises NoToken."""
    match queue.login:
        case MailLogin.MICROSOFT_APP:
            return {"grant_type": "client_credentials", "scope": provider.own_scope}
        case MailLogin.GOOGLE_SERVICE:
            # It has neither id nor secret to send along: it signs.
            signed = {"grant_type": _JWT_BEARER, "assertion": _assertion(queue, provider)}
            return {**signed, "auth": lambda request: request}
    if not grant.refresh_token:
        raise NoToken(NOT_CONNECTED)
    return {"grant_type": "refresh_token", "refresh_token": grant.refresh_token}


def _assertion(queue: TicketQueue, provider: _Provider) -> str:
    """Return the signed statement that the service account acts for the mailbox (RFC 7523)."""
    try:
        account = json.loads(settings.GOOGLE_SERVICE_ACCOUNT)
        return str(
            sign_jwt_bearer_assertion(
                RSAKey.import_key(account["private_key"]),
                account["client_email"],
                provider.token_url,
                subject=queue.imap_user,
                claims={"scope": provider.own_scope},
                alg="RS256",
            )
        )
    except (ValueError, KeyError, TypeError, JoseError) as error:
        raise NoToken(f"{NO_SETTINGS}: GOOGLE_SERVICE_ACCOUNT") from error


def _session(login: MailLogin, redirect_uri: str | None = None) -> tuple[Any, _Provider]:
    if missing := missing_settings(login):
        raise NoToken(f"{NO_SETTINGS}: {', '.join(missing)}")
    provider = PROVIDERS[login.provider]
    name = login.provider.upper()
    session = OAuth2Session(
        getattr(settings, f"{name}_CLIENT_ID"),
        getattr(settings, f"{name}_CLIENT_SECRET"),
        token_endpoint_auth_method="client_secret_post",  # noqa: S106
        scope=provider.scope if redirect_uri else None,
        redirect_uri=redirect_uri,
        code_challenge_method="S256",
    )
    return session, provider


def _ask(session: Any, provider: _Provider, **parameters: Any) -> Mapping[str, Any]:
    """Return the provider's answer. Raises NoToken, with what a person has to do."""
    url = _of_tenant(provider.token_url)
    options = {"timeout": TIMEOUT_SECONDS, "allow_redirects": False}
    try:
        if refresh_token := parameters.get("refresh_token"):
            token = session.refresh_token(url, refresh_token, **options)
        else:
            token = session.fetch_token(url, **parameters, **options)
    except AuthlibBaseError as error:
        raise NoToken(_reason(error, parameters["grant_type"])) from error
    except (requests.RequestException, ValueError) as error:
        raise NoToken(f"{UNREACHABLE}: {type(error).__name__}") from error
    if not token.get("access_token"):
        raise NoToken(f"{UNREACHABLE}: {_('its answer has no token')}")
    return dict(token)


def _reason(error: Any, grant_type: str) -> str:
    # Microsoft adds lines with ids of the request.
    said = next(iter(str(error.description or "").splitlines()), "")[:300]
    detail = f"{error.error} {said}".strip()
    if grant_type == _JWT_BEARER and error.error in ("unauthorized_client", "invalid_grant", "access_denied"):
        return f"{NOT_DELEGATED}: {detail}"
    if error.error in _OF_APPLICATION:
        return f"{WRONG_APPLICATION}: {detail}"
    if error.error in ("invalid_grant", "interaction_required", "consent_required", "login_required"):
        return f"{WITHDRAWN if grant_type != 'client_credentials' else WRONG_APPLICATION}: {detail}"
    return f"{REFUSED}: {detail}"


def _columns(token: Mapping[str, Any]) -> dict[str, Any]:
    try:
        seconds = int(token.get("expires_in") or USUAL_SECONDS)
    except (TypeError, ValueError):
        seconds = USUAL_SECONDS
    columns = {
        "access_token": str(token["access_token"]),
        "expires_at": timezone.now() + timedelta(seconds=min(seconds, 10**7)),
    }
    # Microsoft gives a new refresh token each time, Google only with a consent.
    return columns | ({"refresh_token": str(token["refresh_token"])} if token.get("refresh_token") else {})


def _of_tenant(url: str) -> str:
    return url.format(tenant=settings.MICROSOFT_TENANT)


def _checksum(state: str) -> str:
    return hashlib.sha256(state.encode()).hexdigest()
