"""Messages between processes through Redis, sent after commit.

A message carries nothing but its topic. Subscribers then look at the rows, as they do at each of their ticks, so a lost
message costs the time to the next tick. While Redis is down, nothing is sent and nothing fails.
"""

import logging
import threading
import time
from collections.abc import Callable

import redis
from django.conf import settings
from django.db import transaction

from callcentre.core.redis_client import client

logger = logging.getLogger(__name__)

PAUSE_AFTER_FAILURE_SECONDS = 1.0

_paused_until = 0.0


def publish(topic: str) -> None:
    """Send a message to the subscribers of the topic once the surrounding transaction has committed. Never raises."""
    transaction.on_commit(lambda: _publish(topic), robust=True)


def _publish(topic: str) -> None:
    global _paused_until  # noqa: PLW0603  (while Redis is down, few requests of this process wait for it)
    if time.monotonic() < _paused_until:
        return
    try:
        client().publish(_channel(topic), b"")
    except redis.RedisError:
        _paused_until = time.monotonic() + PAUSE_AFTER_FAILURE_SECONDS


def _channel(topic: str) -> str:
    # All databases of one Redis share its channels, so the name contains the database.
    return f"cc:pubsub:{settings.REDIS_URL.rpartition('/')[2]}:{topic}"


def subscribe(topic: str, act: Callable[[], object], stopping: threading.Event) -> threading.Thread:
    """Call `act` in a thread at each message and at each new subscription, until `stopping` is set."""
    thread = threading.Thread(target=_listen, args=(topic, act, stopping), name=f"subscription to {topic}", daemon=True)
    thread.start()
    return thread


def _listen(topic: str, act: Callable[[], object], stopping: threading.Event) -> None:
    is_logged = False
    while not stopping.is_set():
        try:
            # By default the client gives up after 5 s and tries ten times.
            store = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=None, socket_connect_timeout=2, retry=None)
            with store, store.pubsub(ignore_subscribe_messages=True) as subscription:  # type: ignore[no-untyped-call]
                subscription.subscribe(_channel(topic))
                is_logged = False
                act()
                while not stopping.is_set():
                    if subscription.get_message(timeout=1.0) is not None:
                        act()
        except redis.RedisError as error:
            # Once, not at each try while Redis is away.
            if not is_logged:
                logger.warning("no subscription", extra={"topic": topic, "error": type(error).__name__})
            is_logged = True
            stopping.wait(PAUSE_AFTER_FAILURE_SECONDS)
