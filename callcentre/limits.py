"""Counters in Redis: requests of an API user in a minute, failed log-ins in five.

All of it is a courtesy to the service, never the truth about a credential: where Redis does not answer within 100 ms,
requests are let through, a metric counts them, and for a second nobody asks again.
"""

import time
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_network
from typing import Any

import redis
from django.conf import settings
from prometheus_client import Counter

from callcentre.network import parse_address

RATE_WINDOW_SECONDS = 60
FAILURE_WINDOW_SECONDS = 300
PAUSE_AFTER_FAILURE_SECONDS = 1.0

let_through = Counter("callcentre_limits_let_through", "Requests that no limit could be applied to: Redis was down")

# Keys: failures of login and address, failures of the address, requests in the window. One round trip says whether
# guessing has gone too far and, if it has not, counts the request.
_ADMIT = """
local login, address = tonumber(redis.call('GET', KEYS[1]) or 0), tonumber(redis.call('GET', KEYS[2]) or 0)
if login >= tonumber(ARGV[1]) then return {-1, redis.call('TTL', KEYS[1])} end
if address >= tonumber(ARGV[2]) then return {-1, redis.call('TTL', KEYS[2])} end
if KEYS[3] == nil then return {0, 0} end
local count = redis.call('INCR', KEYS[3])
if count == 1 then redis.call('EXPIRE', KEYS[3], 120) end
return {count, 0}
"""

# Counts a failure for the login and the address unless guessing has already gone too far.
_FAIL = """
local login, address = tonumber(redis.call('GET', KEYS[1]) or 0), tonumber(redis.call('GET', KEYS[2]) or 0)
if login >= tonumber(ARGV[1]) then return redis.call('TTL', KEYS[1]) end
if address >= tonumber(ARGV[2]) then return redis.call('TTL', KEYS[2]) end
for i = 1, 2 do
  if redis.call('INCR', KEYS[i]) == 1 then redis.call('EXPIRE', KEYS[i], ARGV[3]) end
end
return 0
"""


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a request may go on. `retry_after` in seconds, 0 if it may; `limit` 0 where there is none."""

    limit: int
    remaining: int
    reset: int
    retry_after: int = 0
    is_guessing: bool = False


@lru_cache(maxsize=1)
def client() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=0.1,
        socket_connect_timeout=0.1,
        retry=None,
        decode_responses=False,
    )


class _Script:
    """A script that answers None while Redis does not."""

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


_admit, _fail = _Script(_ADMIT), _Script(_FAIL)


def _failure_keys(realm: str, login: str, address: str) -> list[str]:
    if ":" in address and (parsed := parse_address(address)) is not None and parsed.version == 6:
        # One customer of an IPv6 provider has 2**64 addresses: his network is what counts.
        address = str(ip_network((parsed, 64), strict=False))
    return [f"cc:fail:{realm}:{address}:{login}", f"cc:fail:{realm}:{address}"]


def _failure_limits() -> list[int]:
    return [settings.LOGIN_FAILURES_PER_LOGIN, settings.LOGIN_FAILURES_PER_ADDRESS]


def admit(realm: str, login: str, address: str, user_id: int, limit: int) -> Admission:
    """Count a request of an API user whose credential is right, and say whether it may go on."""
    now = time.time()
    window, elapsed = divmod(int(now), RATE_WINDOW_SECONDS)
    reset = RATE_WINDOW_SECONDS - elapsed
    keys = _failure_keys(realm, login, address)
    if limit:
        keys.append(f"cc:rate:{user_id}:{window}")
    answer = _admit(keys, _failure_limits())
    if answer is None:
        return Admission(limit, limit, reset)
    count, ttl = answer
    if count < 0:
        return Admission(limit, 0, reset, retry_after=max(ttl, 1), is_guessing=True)
    if limit and count > limit:
        return Admission(limit, 0, reset, retry_after=reset)
    return Admission(limit, max(limit - count, 0), reset)


def locked_for(realm: str, login: str, address: str) -> int:
    """Seconds for which no log-in of this login from this address is looked at; 0 if it is."""
    answer = _admit(_failure_keys(realm, login, address), _failure_limits())
    if answer is None:
        return 0
    count, ttl = answer
    return max(ttl, 1) if count < 0 else 0


def count_failure(realm: str, login: str, address: str) -> int:
    """Count a failed log-in; seconds to wait where there were too many already, else 0."""
    answer = _fail(_failure_keys(realm, login, address), [*_failure_limits(), FAILURE_WINDOW_SECONDS])
    return max(int(answer), 0) if isinstance(answer, int) else 0
