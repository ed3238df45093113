"""Subscriptions while Redis is away."""

import threading

import redis

from callcentre.core import pubsub


def test_a_subscription_says_once_that_redis_is_away(monkeypatch, caplog):
    stopping, tries = threading.Event(), list[str]()

    def refuse(url, **options):
        tries.append(url)
        if len(tries) == 3:
            stopping.set()
        raise redis.ConnectionError("refused")

    monkeypatch.setattr(redis.Redis, "from_url", refuse)
    monkeypatch.setattr(pubsub, "PAUSE_AFTER_FAILURE_SECONDS", 0.001)

    pubsub.subscribe("calls", lambda: None, stopping).join(10)

    assert (len(tries), caplog.messages) == (3, ["no subscription"])
