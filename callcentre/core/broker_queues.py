"""The tasks that wait in the broker, by queue."""

import time
from dataclasses import dataclass

import orjson
import redis
from django.conf import settings


@dataclass(frozen=True, slots=True)
class WaitingTasks:
    """The tasks of a queue: their count, and the age of the one that has waited longest; 0 for none."""

    count: int
    oldest_seconds: float


def waiting_tasks(broker: redis.Redis) -> dict[str, WaitingTasks]:
    """Read the queues as kombu keeps them: a list per queue, new messages on the left."""
    prefix = settings.CELERY_BROKER_TRANSPORT_OPTIONS.get("global_keyprefix", "")
    queues = settings.CELERY_TASK_QUEUE_NAMES
    with broker.pipeline(transaction=False) as pipeline:
        for queue in queues:
            pipeline.llen(f"{prefix}{queue}")
            pipeline.lindex(f"{prefix}{queue}", -1)
        answers = pipeline.execute()
    now = time.time()
    return {
        queue: WaitingTasks(count, _age(oldest, now))
        for queue, count, oldest in zip(queues, answers[::2], answers[1::2], strict=True)
    }


def _age(message: bytes | None, now: float) -> float:
    if message is None:
        return 0.0
    try:
        return max(now - float(orjson.loads(message)["headers"]["published_at"]), 0)
    except (ValueError, KeyError, TypeError):  # a message that another program published
        return 0.0
