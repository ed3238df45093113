"""HTTP Basic for API users (RFC 7617), with one round trip to PostgreSQL per request and no repeated slow hash.

The user's row is read on every request, so that a disabled user or a changed secret or right takes effect at once in
every process. All wrong credentials cost the same work. See docs/decisions/0002.
"""

import base64
import hmac
import logging
import secrets
import threading
from binascii import Error as Base64Error
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from django.conf import settings
from django.contrib.auth.hashers import check_password
from django.db import InterfaceError, OperationalError, connection
from django.db.backends.utils import CursorWrapper
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from callcentre import rate_limits
from callcentre.api.exceptions import TooMany
from callcentre.core.actor import Actor
from callcentre.core.errors import ErrorCode
from callcentre.core.hashing import RETRY_AFTER_SECONDS, Busy, HashGate
from callcentre.core.network import client_address, is_in_networks
from callcentre.models import ApiUser, hash_secret

logger = logging.getLogger(__name__)

REALM = "api"
# The key of request.META for a look-up that was made before the body was read.
KNOWN = "callcentre.known"
# As long as the column.
MAX_LOGIN = 150
# Keys of request.META for the results of authentication, read by the middleware.
ADMISSION, PRINCIPAL = "callcentre.admission", "callcentre.principal"
# The query always returns one row: the remaining seconds of a lockout of the address, and the user if there is one.
# Times are compared by the database's clock. Plain types only: each column and type costs microseconds.
_SELECT = """
SELECT (SELECT ceil(extract(epoch FROM max(until) - now()))::int FROM callcentre_lockout
        WHERE source = %s AND realm = 'api' AND login IN ('', %s) AND until > now()),
       u.id::int, array_to_string(u.rights, ' '), array_to_string(u.allowed_networks, ' '), u.rate_limit,
       u.is_active AND COALESCE(u.expires_at > now(), true), u.secret_hash::text,
       CASE WHEN u.previous_secret_expires_at > now() THEN u.previous_secret_hash ELSE '' END::text, u.password::text,
       COALESCE(u.last_used_at < now() - interval '1 minute', true)
FROM (SELECT) AS always LEFT JOIN callcentre_apiuser u ON u.login = %s
"""


@dataclass(frozen=True, slots=True)
class Principal:
    """The API user behind a request, as read when the request came in."""

    id: int
    login: str
    rights: frozenset[str]
    is_authenticated: bool = True

    @property
    def pk(self) -> int:
        return self.id

    def has_right(self, right: str) -> bool:
        access = right.rpartition(":")[2]
        return not self.rights.isdisjoint(("*", f"*:{access}", right))

    @property
    def actor(self) -> Actor:
        return Actor("api_user", self.id, self.login)


class Row(NamedTuple):
    """The database's facts about a login and its sender; `id` is None for an unknown login."""

    locked_seconds: int | None
    id: int | None
    rights: str
    allowed_networks: str
    rate_limit: int | None
    is_open: bool
    secret_hash: str
    previous_secret_hash: str
    password: str
    last_use_is_old: bool


class _VerifiedPasswords:
    """Passwords that a slow hash has accepted, kept under a key that only this process knows.

    The stored hash is part of the key, so a changed password is a new entry and no entry must be removed for safety.
    Simultaneous requests with the same credential share one hash. The login is part of that credential: otherwise the
    sharing would reveal which logins have no password.
    """

    def __init__(self, size: int = 1024) -> None:
        self._key = secrets.token_bytes(32)
        self._size = size
        self._entries: OrderedDict[bytes, None] = OrderedDict()
        self._running: dict[bytes, Future[bool]] = {}
        self._lock = threading.Lock()
        self._gate = HashGate()

    def check(self, login: str, password: str, encoded: str, source: str) -> bool:
        """Return whether the password is right. An empty stored hash ("") costs a hash too. Raise Busy."""
        entry = hmac.digest(self._key, f"{login}\0{encoded}\0{password}".encode(), "sha256")
        with self._lock:
            if entry in self._entries:
                self._entries.move_to_end(entry)
                return True
            running = self._running.get(entry)
            if running is None:
                self._running[entry] = Future()
        return running.result() if running else self._compute(entry, password, encoded, source)

    def _compute(self, entry: bytes, password: str, encoded: str, source: str) -> bool:
        """Compute the hash that this thread has announced, and give the result to the threads that wait for it."""
        try:
            is_right = self._gate.run(source, lambda: check_password(password, encoded))
        except BaseException as error:
            self._end(entry).set_exception(error)
            raise
        self._end(entry, is_right=is_right).set_result(is_right)
        return is_right

    def _end(self, entry: bytes, *, is_right: bool = False) -> Future[bool]:
        with self._lock:
            if is_right:
                self._entries[entry] = None
                if len(self._entries) > self._size:
                    self._entries.popitem(last=False)
            return self._running.pop(entry)


verified_passwords = _VerifiedPasswords()


def _fetch(login: str, source: str) -> Row:
    """Read the user's row. As the first query of a request it replaces a connection that died while idle, once."""
    try:
        return _fetch_once(login, source)
    except (OperationalError, InterfaceError):
        if connection.in_atomic_block:
            raise
        connection.close()
        return _fetch_once(login, source)


def _fetch_once(login: str, source: str) -> Row:
    cursor = _cursor()
    cursor.execute(_SELECT, [source, login, login])
    return Row._make(cursor.fetchone())


_kept = threading.local()


def _cursor() -> CursorWrapper:
    """Return a cursor that stays open with its connection: a new cursor costs a fifth of this query."""
    raw = connection.connection
    if raw is None or connection.queries_logged:
        return connection.cursor()
    if getattr(_kept, "connection", None) is not raw:
        _kept.connection, _kept.cursor = raw, connection.cursor()
    kept: CursorWrapper = _kept.cursor
    return kept


def _credentials(header: str) -> tuple[str, str] | None:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        login, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (Base64Error, ValueError):
        return None
    return (login, secret) if colon and "\0" not in login and len(login) <= MAX_LOGIN else None


def _is_right(login: str, secret: str, row: Row, source: str) -> bool:
    """Return whether this secret is valid now. Every wrong secret costs one slow hash, for any login."""
    digest = hash_secret(secret)
    if row.secret_hash and hmac.compare_digest(digest, row.secret_hash):
        return True
    if row.previous_secret_hash and hmac.compare_digest(digest, row.previous_secret_hash):
        return True
    # The password is compared first, so that logins without a password cost a hash too.
    return verified_passwords.check(login, secret, row.password or "", source) and bool(row.password)


@dataclass(frozen=True, slots=True)
class Known:
    """A credential, with the database's facts about it."""

    login: str
    address: str
    row: Row
    is_right: bool
    # Too many log-ins waited for a slow hash, so the secret was not compared.
    is_busy: bool = False

    @property
    def is_welcome(self) -> bool:
        return self.is_right and not _refusal(self.row, self.address)


def has_credential(meta: Mapping[str, Any]) -> bool:
    """Return whether the request has a credential, right or wrong. An empty header is none."""
    return bool(meta.get("HTTP_AUTHORIZATION", "").strip())


def look_up(meta: Mapping[str, Any]) -> Known | None:
    """Return the facts about the credential in these headers, or None without one. Changes and counts nothing."""
    credentials = _credentials(meta.get("HTTP_AUTHORIZATION", ""))
    if credentials is None:
        return None
    login, secret = credentials
    address = client_address(meta)
    source = rate_limits.source_of(address)
    row = _fetch(login, source)
    try:
        # During a lockout the secret is not compared.
        is_right = not row.locked_seconds and _is_right(login, secret, row, source)
    except Busy:
        return Known(login, address, row, is_right=False, is_busy=True)
    return Known(login, address, row, is_right)


class ApiUserAuthentication(BaseAuthentication):
    """Login and secret of an API user in the Authorization header."""

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        if not has_credential(request.META):
            return None
        known = request.META.pop(KNOWN, None) or look_up(request.META)
        if known is None:
            raise NotAuthenticated
        row, login, address = known.row, known.login, known.address
        if row.locked_seconds:  # before any comparison: even a right secret is refused
            raise TooMany(row.locked_seconds, ErrorCode.TOO_MANY_FAILURES)
        if known.is_busy:
            raise TooMany(RETRY_AFTER_SECONDS)
        if not known.is_right:
            rate_limits.count_failure(REALM, login, address)
            logger.warning("wrong login or secret", extra={"login": login, "address": address})
            raise NotAuthenticated
        if reason := _refusal(row, address):
            logger.warning("API user refused", extra={"login": login, "address": address, "reason": reason})
            raise NotAuthenticated
        principal = Principal(cast("int", row.id), login, frozenset(row.rights.split()))
        request.META[PRINCIPAL] = principal
        limit = settings.API_RATE_LIMIT if row.rate_limit is None else row.rate_limit
        request.META[ADMISSION] = admission = rate_limits.rates.admit(principal.id, limit)
        if admission.retry_after:
            raise TooMany(admission.retry_after)
        if row.last_use_is_old:
            ApiUser.objects.filter(pk=principal.id).update(last_used_at=timezone.now())
        return principal, None

    def authenticate_header(self, request: Request) -> str:
        return 'Basic realm="api", charset="UTF-8"'


def _refusal(row: Row, address: str) -> str:
    if not row.is_open:
        return "not active or expired"
    if row.allowed_networks and not is_in_networks(address, row.allowed_networks.split()):
        return "address not allowed"
    return ""


class BackOfficeAuthentication(SessionAuthentication):
    """A back-office user's session in the admin, valid for the documents of the API only."""

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        found = super().authenticate(request)
        return found if found and found[0].is_staff else None
