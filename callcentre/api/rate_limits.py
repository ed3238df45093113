"""Limits: how many requests an API user may send in a minute, how many wrong log-ins an address may send in five.

Redis counts. It is a courtesy to the service, never the truth about a credential: where it does not answer within
100 ms, requests are let through, a metric counts them, and for a second nobody asks again. What guessing leads to, a
Lockout, is a row of the database: authentication reads it together with the credential.
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
# A process takes a share of a user's minute at a time, so that few requests ask Redis: 1/200 of the limit.
SHARES = 200

let_through = Counter("callcentre_limits_let_through", "Requests that no limit could be applied to: Redis was down")

# Takes up to ARGV[2] of the ARGV[1] requests of the window; says how many it got and how many nobody has taken.
_TAKE = """
local taken = tonumber(redis.call('GET', KEYS[1]) or 0)
local got = math.max(math.min(tonumber(ARGV[2]), tonumber(ARGV[1]) - taken), 0)
if got > 0 then
  redis.call('INCRBY', KEYS[1], got)
  redis.call('EXPIRE', KEYS[1], ARGV[3])
end
return {got, math.max(tonumber(ARGV[1]) - taken - got, 0)}
"""

# Counts a failure under each key; says how many there are.
_FAIL = """
local counts = {}
for i, key in ipairs(KEYS) do
  counts[i] = redis.call('INCR', key)
  if counts[i] == 1 then redis.call('EXPIRE', key, ARGV[1]) end
end
return counts
"""


class _Script:
    """A script of ours in Redis; None while Redis does not answer."""

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
    """Whether a request may go on: `retry_after` is 0 if it may. Seconds; `limit` 0 where there is none."""

    limit: int
    remaining: int
    reset: int
    retry_after: int = 0


@dataclass(slots=True)
class _Share:
    window: int
    limit: int
    own: int = 0
    # Requests of the window that no process has taken, when we last asked.
    untaken: int = 0


class RateLimiter:
    """Requests of each user in the current minute, exact to the limit over all processes.

    No more than the limit is ever let through; a share that another process took and did not use is at most 1/200 of
    it, and so is the error of `remaining`. Limits up to 200 are counted one by one.
    """

    def __init__(self) -> None:
        self._shares: dict[int, _Share] = {}
        self._lock = threading.Lock()

    def admit(self, user_id: int, limit: int) -> Admission:
        """Count a request of this user, and say whether it may go on."""
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

    def _ask(self, user_id: int, share: _Share, reset: int) -> Admission:
        """Take another share. Without the lock: a Redis that hangs holds up those who ask it, nobody else."""
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
    """Whom a failure is counted for: of IPv6 the network of 64 bits, for one customer has all its addresses."""
    if ":" not in address or (parsed := parse_address(address)) is None:
        return address
    return str(ip_network((parsed, 64), strict=False)) if parsed.version == 6 else str(parsed)


def count_failure(realm: str, login: str, address: str) -> None:
    """Count a wrong log-in; the one that makes it too many locks out the login from the address, or the address."""
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
    """Seconds for which no log-in of this login from this address is looked at; 0 if it is."""
    until = Lockout.objects.until(realm, source_of(address), login)
    return max(int((until - timezone.now()).total_seconds()), 1) if until else 0


def forget_failures(lockout: Lockout) -> None:
    """End a lockout and the count that led to it."""
    key = f"cc:fail:{lockout.realm}:{lockout.source}" + (f":{lockout.login}" if lockout.login else "")
    lockout.delete()
    try:
        client().delete(key)
    except redis.RedisError:
        let_through.inc()
