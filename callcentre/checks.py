"""System checks against settings that are unsafe in production.

`manage.py` runs them before its commands. Web processes, workers and beat run them at their start
(refuse_unsafe_settings) and end with one sentence instead of serving unsafely.
"""

import re
import sys
from base64 import urlsafe_b64decode
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from email.utils import parseaddr
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import psycopg
from cryptography.fernet import Fernet
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Doubt
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from django.utils.module_loading import import_string

from callcentre.core.direct_connection import fault_of_direct_connection
from callcentre.core.network import Network, is_in_networks
from callcentre.core.phone import is_region
from telephony.switch import BACKENDS
from tickets.addresses import is_address

# The IPv6 counterpart of 10.0.0.0/8.
UNIQUE_LOCAL = IPv6Network("fc00::/7")
LOOPBACK = ("127.0.0.0/8", "::1")
SECRET_KEY_LENGTH = 50
# A delivery is claimed for 60 seconds, which must cover 5 seconds of a batch, one request, and storing the result.
LONGEST_WEBHOOK_TIMEOUT_SECONDS = 30
Check = Callable[[], Iterator[CheckMessage]]
_CHECKS: list[Check] = []


def _check(check: Check) -> Check:
    """Let each process of the service make this check at its start."""
    _CHECKS.append(check)
    return check


def _fault(number: str, sentence: str, hint: str) -> CheckMessage:
    kind = Error if number[0] == "E" else Doubt
    return kind(sentence, hint=hint, id=f"callcentre.{number}")


@register(Tags.database)
def check_direct_connection(databases: Collection[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse a pooler where locks need PostgreSQL itself. `migrate` and `check --database default` ask."""
    with suppress(OperationalError, psycopg.OperationalError):
        if databases and (fault := fault_of_direct_connection()):
            return [Error(fault, id="callcentre.E060")]
    return []


@register(Tags.security)
def check_settings(**kwargs: Any) -> list[CheckMessage]:
    return [message for check in _CHECKS for message in check()]


@register(Tags.security, deploy=True)
def check_deployment(**kwargs: Any) -> Iterator[CheckMessage]:
    """Find settings that suit a demonstration and not a service for customers."""
    if settings.DEBUG:
        sentence = "DEBUG is on: failures show settings and source to every visitor."
        yield _fault("E001", sentence, "Unset DEBUG in production.")
    if not (settings.TRUSTED_PROXIES or all(_is_loopback(host) for host in settings.ALLOWED_HOSTS)):
        yield _fault(
            "W041",
            "TRUSTED_PROXIES is empty: behind a proxy all clients have its address, one's failed log-ins lock out all,"
            " and HSTS is never sent.",
            "Name the address by which the proxy reaches the service.",
        )
    if not settings.EMAIL_HOST:
        sentence = "EMAIL_HOST is not set: replies become files in CALLCENTRE_VAR/mail, and customers get none."
        yield _fault("W030", sentence, "Name the server that takes mail.")
        return
    if not settings.PUBLIC_URL:
        yield _fault(
            "W033",
            "PUBLIC_URL is not set: a link to a new password has the host of the request for it, with any port and,"
            " for a host such as .callcentre.example, any subdomain.",
            "Give the address that people use, as https://callcentre.example.",
        )
    if settings.EMAIL_HOST_USER and not (settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL):
        sentence = "EMAIL_HOST_USER is sent without TLS: the password can be read on the way."
        yield _fault("W031", sentence, "Set EMAIL_USE_TLS=1 (STARTTLS) or EMAIL_USE_SSL=1.")
    if parseaddr(settings.DEFAULT_FROM_EMAIL)[1].endswith("@localhost"):
        sentence = "DEFAULT_FROM_EMAIL is an address at localhost: mail servers refuse what comes from there."
        yield _fault("W032", sentence, "Give an address of your own, as callcentre@callcentre.example.")


def refuse_unsafe_settings() -> None:
    """End this process with one sentence if the settings are unsafe."""
    errors = [message for message in check_settings() if message.is_serious()]
    if errors:
        sys.exit("Refused to start: " + " ".join(f"{error.msg} {error.hint} ({error.id})" for error in errors))


# With DEBUG on, the default secrets are public: only the developer's machine may be served.


@_check
def check_hosts() -> Iterator[CheckMessage]:
    if settings.DEBUG:
        return
    hint = "Name the hosts that the service is reached by, separated by commas."
    if not settings.ALLOWED_HOSTS:
        yield _fault("E002", "ALLOWED_HOSTS is empty: every request would be refused.", hint)
    elif "*" in settings.ALLOWED_HOSTS:
        sentence = "ALLOWED_HOSTS allows any host: links in mails and log-ins could be sent elsewhere."
        yield _fault("E002", sentence, hint)


@_check
def check_secret_key() -> Iterator[CheckMessage]:
    if settings.DEBUG:
        return
    try:
        key = settings.SECRET_KEY
    except ImproperlyConfigured:  # Django's answer to an empty one
        key = ""
    if len(key) < SECRET_KEY_LENGTH or len(set(key)) < 5 or key.startswith("insecure"):
        yield _fault(
            "E003",
            f"SECRET_KEY is missing, or shorter than {SECRET_KEY_LENGTH} characters.",
            "Make one: python -c 'import secrets; print(secrets.token_urlsafe(64))'.",
        )


def _decoded(key: str) -> bytes:
    """Return the bytes of a key in any of its spellings; b"" for a text that is no key."""
    with suppress(ValueError):
        return urlsafe_b64decode(key)
    return b""


@_check
def check_encryption_keys() -> Iterator[CheckMessage]:
    hint = "Make one: python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'."
    if not settings.FIELD_ENCRYPTION_KEYS:
        yield _fault("E004", "FIELD_ENCRYPTION_KEYS is missing: credentials could not be stored.", hint)
    if _decoded(settings.PUBLISHED_FIELD_KEY) in map(_decoded, settings.FIELD_ENCRYPTION_KEYS) and not settings.DEBUG:
        yield _fault(
            "E040",
            "FIELD_ENCRYPTION_KEYS has the key of debugging sessions, which is published with the source: every reader"
            " of the source could read stored credentials.",
            hint,
        )
    for position, key in enumerate(settings.FIELD_ENCRYPTION_KEYS, start=1):
        try:
            Fernet(key)
        except (ValueError, TypeError):
            yield _fault(
                "E004",
                f"FIELD_ENCRYPTION_KEYS: number {position} is no Fernet key (32 bytes in URL-safe Base64).",
                hint,
            )


@_check
def check_cookies() -> Iterator[CheckMessage]:
    for name in ("SESSION_COOKIE_HTTPONLY", "CSRF_COOKIE_HTTPONLY", "LANGUAGE_COOKIE_HTTPONLY"):
        if not getattr(settings, name):
            yield _fault("E005", f"{name} is off: scripts could read the cookie.", "Leave it on.")
    if settings.DEBUG or all(_is_loopback(host) for host in settings.ALLOWED_HOSTS):
        return
    for name in ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "LANGUAGE_COOKIE_SECURE"):
        if not getattr(settings, name):
            yield _fault(
                "E006",
                f"{name} is off, and the service is reached by more than this machine: cookies could be read on the"
                " way.",
                "Serve by HTTPS and unset SECURE_COOKIES.",
            )


def _is_loopback(host: str) -> bool:
    return host in ("localhost", ".localhost") or is_in_networks(host.strip("[]"), LOOPBACK)


@_check
def check_networks() -> Iterator[CheckMessage]:
    for name, malformed, wide, danger in (
        ("TRUSTED_PROXIES", "E007", "E041", "clients could choose the address that they are known by"),
        ("METRICS_ALLOWED_NETWORKS", "E008", "E042", "strangers could read the metrics"),
        ("WEBHOOK_ALLOWED_NETWORKS", "E013", "E043", "webhooks could reach every address inside"),
        ("MAILBOX_ALLOWED_NETWORKS", "E033", "E047", "mailboxes could be at every address inside"),
    ):
        networks: list[Network] = []
        for text in getattr(settings, name):
            try:
                networks.append(ip_network(text))
            except ValueError:
                yield _fault(
                    malformed,
                    f"{name}: {text!r} is no network.",
                    "Write 192.0.2.0/24 or one address, separated by commas.",
                )
        if found := _wide(networks):
            yield _fault(
                wide,
                f"{name} covers {found}: {danger}.",
                "Name the networks that are meant, none larger than 10.0.0.0/8.",
            )


def _wide(networks: list[Network]) -> Network | None:
    """Return a part of the Internet that these networks cover together; None if each can be a private network."""
    for network in collapse_addresses([each for each in networks if isinstance(each, IPv4Network)]):
        if network.prefixlen < 8:
            return network
    for wide in collapse_addresses([each for each in networks if isinstance(each, IPv6Network)]):
        if wide.prefixlen <= 16 and not wide.subnet_of(UNIQUE_LOCAL):
            return wide
    return None


@_check
def check_proxy_headers() -> Iterator[CheckMessage]:
    if settings.MIDDLEWARE[:1] != ["callcentre.web.middleware.RequestMiddleware"]:
        yield _fault(
            "E044",
            "MIDDLEWARE does not begin with callcentre.web.middleware.RequestMiddleware: headers that only our"
            " proxies may set would be believed from every client.",
            "Put it first.",
        )
    if settings.SECURE_PROXY_SSL_HEADER != ("HTTP_X_FORWARDED_PROTO", "https"):
        yield _fault(
            "E045",
            "SECURE_PROXY_SSL_HEADER is not X-Forwarded-Proto: requests that came by TLS would be taken for plain ones,"
            " sent to TLS again and again, and HSTS never sent.",
            "Leave it as it is.",
        )
    if settings.SECURE_SSL_REDIRECT and not settings.TRUSTED_PROXIES:
        yield _fault(
            "E046",
            "SECURE_SSL_REDIRECT is on and TRUSTED_PROXIES is empty: every request would be sent to TLS again and"
            " again.",
            "Name the proxy at which TLS ends in TRUSTED_PROXIES.",
        )


@_check
def check_webhooks() -> Iterator[CheckMessage]:
    if settings.WEBHOOK_TIMEOUT_SECONDS > LONGEST_WEBHOOK_TIMEOUT_SECONDS:
        yield _fault(
            "E014",
            f"WEBHOOK_TIMEOUT_SECONDS is above {LONGEST_WEBHOOK_TIMEOUT_SECONDS}: deliveries would be taken for lost,"
            " and sent twice, while they are under way.",
            "Receivers are to answer at once and do their work afterwards.",
        )


@_check
def check_region() -> Iterator[CheckMessage]:
    if not is_region(settings.DEFAULT_REGION):
        yield _fault(
            "E009",
            f"DEFAULT_REGION: {settings.DEFAULT_REGION!r} is no region that has telephone numbers.",
            "Give its two letters, for example PL.",
        )


@_check
def check_broker() -> Iterator[CheckMessage]:
    if urlsplit(settings.CELERY_BROKER_URL).scheme not in ("redis", "rediss"):
        yield _fault(
            "E010",
            "REDIS_URL is no address of a Redis: tasks and limits need one.",
            "It starts redis:// or rediss://. Instead of sentinels, give the address of the primary server.",
        )
    limit = settings.CELERY_TASK_TIME_LIMIT
    options: dict[str, Any] = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    if options.get("visibility_timeout", 0) <= limit:
        yield _fault(
            "E011",
            f"visibility_timeout is not above CELERY_TASK_TIME_LIMIT ({limit} s): long tasks would run twice.",
            "Make it twice as long.",
        )


@_check
def check_time_zone() -> Iterator[CheckMessage]:
    try:
        ZoneInfo(settings.TIME_ZONE)
    except (LookupError, ValueError, OSError):
        is_known = False
    else:
        is_known = True
    if not (is_known and settings.USE_TZ and settings.CELERY_TIMEZONE == "UTC"):
        yield _fault(
            "E012",
            "TIME_ZONE is unknown, or USE_TZ is off, or CELERY_TIMEZONE is not UTC.",
            "Name one zone of the IANA database, for example Europe/Warsaw, and leave the other two as they are.",
        )


@_check
def check_mail() -> Iterator[CheckMessage]:
    if settings.EMAIL_USE_TLS and settings.EMAIL_USE_SSL:
        yield _fault(
            "E030",
            "EMAIL_USE_TLS and EMAIL_USE_SSL are both on: no mail could be sent.",
            "The first is STARTTLS, usually on port 587; the second is TLS from the start, usually on 465.",
        )
    if not is_address(parseaddr(settings.DEFAULT_FROM_EMAIL)[1]):
        yield _fault(
            "E031",
            f"DEFAULT_FROM_EMAIL: {settings.DEFAULT_FROM_EMAIL!r} is no e-mail address.",
            "Give an address, or a name and an address: Help <help@callcentre.example>.",
        )
    address = urlsplit(settings.PUBLIC_URL)
    is_whole = address.scheme in ("http", "https") and address.hostname and not (address.query or address.fragment)
    if settings.PUBLIC_URL and not is_whole:
        yield _fault(
            "E032",
            f"PUBLIC_URL: {settings.PUBLIC_URL!r} is no address of a web site.",
            "Give it as https://callcentre.example.",
        )


@_check
def check_switch() -> Iterator[CheckMessage]:
    try:
        import_string(BACKENDS.get(settings.SWITCH_BACKEND, settings.SWITCH_BACKEND))
    except ImportError:
        yield _fault(
            "E015",
            f"SWITCH_BACKEND: {settings.SWITCH_BACKEND!r} is no switch.",
            "Name simulated, asterisk, or a class by its dotted path.",
        )
    if settings.SWITCH_BACKEND != "asterisk":
        return
    address = urlsplit(settings.ARI_URL)
    if address.scheme not in ("http", "https") or not address.hostname:
        yield _fault(
            "E016",
            f"ARI_URL: {settings.ARI_URL!r} is no address of Asterisk's REST interface.",
            "Give it as http://pbx.example:8088/ari.",
        )
    if not (settings.ARI_USER and settings.ARI_PASSWORD):
        yield _fault(
            "E017",
            "ARI_USER or ARI_PASSWORD is missing: Asterisk would refuse us.",
            "Give those of a user in its ari.conf.",
        )
    if settings.TURN_URLS and not settings.TURN_SECRET:
        yield Error(
            "TURN_URLS is set and TURN_SECRET is not: the TURN server would refuse browsers.",
            hint="Give the static-auth-secret of the TURN server.",
            id="callcentre.E019",
        )
    for name in ("ARI_APP", "TRUNK", "PHONE_TRANSPORT", "PHONE_CONTEXT"):
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,40}", getattr(settings, name)):
            yield _fault(
                "E018",
                f"{name}: {getattr(settings, name)!r} is no name of Asterisk's configuration.",
                "It has letters, digits and _ . - only.",
            )
