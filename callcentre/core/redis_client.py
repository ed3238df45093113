"""The Redis client of rate limits and pubsub. It answers within 100 ms, or the callers continue without it."""

from functools import lru_cache

import redis
from django.conf import settings


@lru_cache(maxsize=1)
def client() -> redis.Redis:
    """Return the client of this process, with its pool of connections. It never retries."""
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=0.1, socket_connect_timeout=0.1, retry=None)
