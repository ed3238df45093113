"""Limits of requests per API user and minute, and of wrong log-ins per address in five minutes.

Redis counts, but never decides about a credential. If it does not answer within 100 ms, requests pass, a metric counts
them, and for a second Redis is not asked again. Too many wrong log-ins write a Lockout into the database, which
authentication reads together with the credential.
"""

import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import redis
from django.conf import settings
from django.utils import timezone
from prometheus_client import Counter

from callcentre.core.hashing import FAILURE_WINDOW_SECONDS
from callcentre.core.network import parse_address
from callcentre.core.redis_client import client
from callcentre.models import Lockout

RATE_WINDOW_SECONDS = 60
PAUSE_AFTER_FAILURE_SECONDS = 1.0
# A process takes a share of a user's minute at a time, 1/200 of the limit, so that few requests ask Redis.
SHARES = 200

let_through = Counter("callcentre_limits_let_through", "Requests that no limit could be applied to: Redis was down")

# Take up to ARGV[2] of the ARGV[1] requests of the window; return the number taken and the number left.
_TAKE = """
local taken = tonumber(redis.call('GET', KEYS[1]) or 0)
local got = math.max(math.min(tonumber(ARGV[2]), tonumber(ARGV[1]) - taken), 0)
if got > 0 then
  redis.call('INCRBY', KEYS[1], got)
  redis.call('EXPIRE', KEYS[1], ARGV[3])
end
return {got, math.max(tonumber(ARGV[1]) - taken - got, 0)}
"""

# Count a failure under each key; return the counts.
_FAIL = """
local counts = {}
for i, key in ipairs(KEYS) do
  counts[i] = redis.call('INCR', key)
  if counts[i] == 1 then redis.call('EXPIRE', key, ARGV[1]) end
end
return counts
"""


class _Script:
    """A script in Redis. It returns None while Redis does not answer."""

    paused_until = 0.0

    def __init__(self, source: str) -> None:
        self.source = source
        self.sha = ""

    def __call__(self, keys: list[str], args: list[int]) -> Any:
        if time.monotonic() < _Script.paused_until:
            let_through.inc()
            return None
        try:
            try:
                if not self.sha:
                    self.sha = str(client().script_load(self.source))
                return client().evalsha(self.sha, len(keys), *keys, *args)
            except redis.exceptions.NoScriptError:  # the store was emptied or restarted
                return client().eval(self.source, len(keys), *keys, *args)
        except redis.RedisError:
            _Script.paused_until = time.monotonic() + PAUSE_AFTER_FAILURE_SECONDS
            let_through.inc()
            return None


_take, _fail = _Script(_TAKE), _Script(_FAIL)


@dataclass(frozen=True, slots=True)
class Admission:
    """The decision about a request. `retry_after` is 0 if it may proceed, else seconds; `limit` 0 is no limit."""

    limit: int
    remaining: int
    reset: int
    retry_after: int = 0


@dataclass(slots=True)
class _Share:
    window: int
    limit: int
    own: int = 0
    # Requests of the window that no process had taken at the last answer of Redis.
    untaken: int = 0


class RateLimiter:
    """Requests of each user in the current minute, counted over all processes.

    Never more requests than the limit pass. Shares that other processes took and did not use are at most 1/200 of the
    limit each, and so is the error of `remaining`. Limits up to 200 are counted one by one.
    """

    def __init__(self) -> None:
        self._shares: dict[int | str, _Share] = {}
        self._lock = threading.Lock()

    def admit(self, user_id: int | str, limit: int) -> Admission:
        """Count a request of this user, or of a user to one operation, and decide whether it may proceed."""
        window, elapsed = divmod(int(time.time()), RATE_WINDOW_SECONDS)
        reset = RATE_WINDOW_SECONDS - elapsed
        if not limit:
            return Admission(0, 0, reset)
        with self._lock:
            share = self._shares.get(user_id)
            if share is None or share.window != window or share.limit != limit:
                share = self._shares[user_id] = _Share(window, limit)
            if share.own > 0:
                share.own -= 1
                return Admission(limit, share.own + share.untaken, reset)
        return self._ask(user_id, share, reset)

    def _ask(self, user_id: int | str, share: _Share, reset: int) -> Admission:
        """Take another share. Redis is asked without the lock, so that a slow answer delays only this request."""
        wanted = max(share.limit // SHARES, 1)
        answer = _take([f"cc:rate:{user_id}:{share.window}"], [share.limit, wanted, 2 * RATE_WINDOW_SECONDS])
        if answer is None:
            return Admission(share.limit, share.limit, reset)
        got, untaken = answer
        with self._lock:
            share.untaken = untaken
            if got:
                share.own += got - 1
        if not got:
            return Admission(share.limit, 0, reset, retry_after=reset)
        return Admission(share.limit, share.own + untaken, reset)


rates = RateLimiter()


def source_of(address: str) -> str:
    """Return the network that a failure counts for: the address, or 64 bits of IPv6, which one customer usually has."""
    if ":" not in address or (parsed := parse_address(address)) is None:
        return address
    return str(ip_network((parsed, 64), strict=False)) if parsed.version == 6 else str(parsed)


def count_failure(realm: str, login: str, address: str) -> None:
    """Count a wrong log-in. At the limit, lock out the login from this address, or the whole address."""
    source = source_of(address)
    counts = _fail([f"cc:fail:{realm}:{source}:{login}", f"cc:fail:{realm}:{source}"], [FAILURE_WINDOW_SECONDS])
    if counts is None:
        return
    until = timezone.now() + timedelta(seconds=FAILURE_WINDOW_SECONDS)
    if counts[0] == settings.LOGIN_FAILURES_PER_LOGIN:
        Lockout.objects.lock(realm, source, login, until)
    if counts[1] == settings.LOGIN_FAILURES_PER_ADDRESS:
        Lockout.objects.lock(realm, source, "", until)


def locked_for(realm: str, login: str, address: str) -> int:
    """Return the seconds for which log-ins of this login from this address are refused; 0 if they are not."""
    until = Lockout.objects.until(realm, source_of(address), login)
    return max(int((until - timezone.now()).total_seconds()), 1) if until else 0


def forget_failures(lockout: Lockout) -> None:
    """End a lockout and reset its count."""
    key = f"cc:fail:{lockout.realm}:{lockout.source}" + (f":{lockout.login}" if lockout.login else "")
    lockout.delete()
    try:
        client().delete(key)
    except redis.RedisError:
        let_through.inc()
