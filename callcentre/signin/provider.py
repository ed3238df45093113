"""The client of the provider of OpenID Connect (Core 1.0, Discovery 1.0, Back-Channel Logout 1.0), by Authlib."""

import time
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from typing import Any

from authlib.integrations.base_client import OAuthError
from authlib.integrations.django_client.apps import DjangoOAuth2App
from authlib.integrations.django_client.integration import DjangoIntegration
from django.conf import settings
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry
from requests import RequestException

TIMEOUT_SECONDS = 10
# The clocks of the provider and of this machine may differ by this.
CLOCK_SKEW_SECONDS = 120
KEYS_PAUSE_SECONDS = 60
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
# The errors of OAuth 2 that say something of the person. Others speak of the provider, or of our settings there.
_REFUSALS = (
    *("invalid_grant", "access_denied", "mismatching_state"),
    *("login_required", "interaction_required", "consent_required"),
)
_REFUSED_STATUS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
# Signatures that need the provider's own key.
_ALGORITHMS = [f"{family}{bits}" for family in ("RS", "ES", "PS") for bits in (256, 384, 512)] + ["EdDSA"]


class ProviderError(Exception):
    """The provider gave no answer, or one that makes no sense."""


class ProviderRefusal(Exception):
    """The provider refused: the person has no log-in there any more, or gave up."""


class Provider(DjangoOAuth2App):
    """The provider. Its documents of discovery and its keys are read once, and its keys again for an unknown one."""

    _keys_again_at = 0.0

    def load_server_metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = super().load_server_metadata()
        if str(metadata.get("issuer", "")).rstrip("/") != settings.OIDC_ISSUER:
            metadata.pop("_loaded_at", None)
            raise ProviderError(f"the issuer is {metadata.get('issuer')}, not {settings.OIDC_ISSUER}")
        metadata["id_token_signing_alg_values_supported"] = _ALGORITHMS
        return metadata

    def lead(self, request: Any, back: str, **further: Any) -> Any:
        """Return the redirect to the provider, which leads back to this address. Raise ProviderError."""
        return _call(lambda: self.authorize_redirect(request, back, **further))

    def log_out_address(self, back: str, id_token: str) -> str:
        """Return the address of the provider's log-out. Raise ProviderError if it is away or has none."""
        options = {"post_logout_redirect_uri": back, "id_token_hint": id_token, "client_id": settings.OIDC_CLIENT_ID}
        return str(_call(lambda: self.create_logout_url(**options))["url"])

    def log_in(self, request: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the token and the claims of a person who comes back. Raise ProviderRefusal, ProviderError."""
        issuer = _call(self.load_server_metadata)["issuer"]
        options = {"iss": {"values": [issuer]}, "aud": {"value": settings.OIDC_CLIENT_ID}}
        token = _call(lambda: self.authorize_access_token(request, claims_options=options, leeway=CLOCK_SKEW_SECONDS))
        if "userinfo" not in token:
            raise ProviderError("there is no ID token")
        return token, self._completed(dict(token["userinfo"]), token)

    def renew(self, refresh_token: str) -> dict[str, Any]:
        """Return a new token. The provider may take the refresh token only once: store the new one at once.

        Raise ProviderRefusal, ProviderError.
        """
        token = _call(lambda: self.fetch_access_token(grant_type="refresh_token", refresh_token=refresh_token))
        if "access_token" not in token:
            raise ProviderError("there is no token in the answer")
        return dict(token)

    def claims_of(self, token: dict[str, Any]) -> dict[str, Any]:
        """Return the claims of a person who is logged in. Raise ProviderRefusal, ProviderError."""
        claims = {}
        if "id_token" in token:
            claims = dict(_call(lambda: self.parse_id_token(token, nonce=None, leeway=CLOCK_SKEW_SECONDS)))
        return self._completed(claims, token)

    def read_logout(self, logout_token: str) -> tuple[str, str]:
        """Return the subject and the session that the provider ends; one of them may be "". Raise ProviderError."""
        claims = _call(lambda: self._decode(logout_token))
        audience, events, issued = claims.get("aud"), claims.get("events"), claims.get("iat")
        is_ours = settings.OIDC_CLIENT_ID in (audience if isinstance(audience, list) else [audience])
        is_now = isinstance(issued, int | float) and abs(time.time() - issued) < CLOCK_SKEW_SECONDS
        subject, sid = str(claims.get("sub") or ""), str(claims.get("sid") or "")
        if (
            claims.get("iss") != self.load_server_metadata()["issuer"]
            or not (is_ours and is_now and (subject or sid))
            or not (isinstance(events, dict) and LOGOUT_EVENT in events)
            or "nonce" in claims
        ):
            raise ProviderError("this is no logout token for us")
        return subject, sid

    def _completed(self, claims: dict[str, Any], token: dict[str, Any]) -> dict[str, Any]:
        """Return the claims with those that only the endpoint of user information tells."""
        if "userinfo_endpoint" not in self.load_server_metadata():
            return claims
        # Without its end the token is not renewed on the way.
        bare = {"access_token": token["access_token"], "token_type": "Bearer"}
        told = dict(_call(lambda: self.userinfo(token=bare), refusals=_REFUSED_STATUS))
        if claims and told.get("sub") != claims.get("sub"):
            raise ProviderError("two answers are about two people")
        return {**told, **claims}

    def _decode(self, token: str) -> dict[str, Any]:
        """Return the claims of a token from any sender. An unknown key makes us read the keys, but once a minute."""
        if known := self.server_metadata.get("jwks"):
            with suppress(InvalidKeyIdError):
                return _checked(token, known)
        if time.monotonic() < self._keys_again_at:
            raise ProviderError("the key of the token is unknown")
        keys = self.fetch_jwk_set(force=True)
        self._keys_again_at = time.monotonic() + KEYS_PAUSE_SECONDS
        return _checked(token, keys)


def _checked(token: str, keys: Any) -> dict[str, Any]:
    registry = JWSRegistry(algorithms=_ALGORITHMS, strict_check_header=False)
    return jwt.decode(token, KeySet.import_key_set(keys), registry=registry).claims


def _call(call: Any, refusals: Collection[int] = ()) -> Any:
    """Return the answer of the provider. Its errors become ours; `refusals` are statuses that speak of the person."""
    try:
        return call()
    except OAuthError as error:
        kind = ProviderRefusal if error.error in _REFUSALS else ProviderError
        raise kind(f"{error.error}: {error.description}") from error
    except RequestException as error:
        is_refused = error.response is not None and error.response.status_code in refusals
        raise (ProviderRefusal if is_refused else ProviderError)(str(error)) from error
    except (JoseError, ValueError, KeyError, RuntimeError, TypeError) as error:
        raise ProviderError(f"{type(error).__name__}: {error}") from error


def claim(claims: dict[str, Any], name: str) -> Any:
    """Return a claim; a dot leads into it (realm_access.roles)."""
    found: Any = claims.get(name)
    if found is None and "." in name:
        first, _dot, rest = name.partition(".")
        inner = claims.get(first)
        return claim(inner, rest) if isinstance(inner, dict) else None
    return found


def text_of(value: Any, longest: int = 150) -> str:
    """Return a claim as a text that the database can store."""
    return str(value or "").encode(errors="ignore").decode().replace("\0", "")[:longest]


def groups_in(claims: dict[str, Any]) -> list[str]:
    """Return the names of the person's groups at the provider."""
    found = claim(claims, settings.OIDC_GROUPS_CLAIM)
    return [text_of(name, 200) for name in (found if isinstance(found, list) else [found] if found else [])]


@cache
def provider() -> Provider:
    """Return the client of this process."""
    return Provider(
        DjangoIntegration("provider"),
        "provider",
        client_id=settings.OIDC_CLIENT_ID,
        client_secret=settings.OIDC_CLIENT_SECRET,
        server_metadata_url=f"{settings.OIDC_ISSUER}/.well-known/openid-configuration",
        client_kwargs={
            "scope": settings.OIDC_SCOPES,
            "code_challenge_method": "S256",
            "default_timeout": TIMEOUT_SECONDS,
        },
    )
