"""The Redis client of rate limits and pubsub: it answers within 100 ms, or they go without it."""

from functools import lru_cache

import redis
from django.conf import settings


@lru_cache(maxsize=1)
def client() -> redis.Redis:
    """One of this process, with its pool of connections. Never tries twice."""
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=0.1, socket_connect_timeout=0.1, retry=None)
