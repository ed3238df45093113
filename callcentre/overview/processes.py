"""The processes of the service that are missing: listener, dialler, workers, beat."""

import time
from typing import Any

import redis
from django.conf import settings
from django.utils import timezone

from callcentre.core import free_space
from callcentre.core.broker_queues import waiting_tasks
from callcentre.core.redis_client import client
from callcentre.core.statements import rows_of
from campaigns.monitoring import CAMPAIGNS
from telephony.leader_election import CONNECTED, HOLDERS, LEADER

# Seconds after which a waiting task says that no worker takes it. Imports and exports may keep the last two busy.
LATE_SECONDS = {"calls": 15, "webhooks": 15, "mail": 60, "default": 300, "reports": 300}
# Beat starts the watch of alarms every five seconds (callcentre.schedule).
WATCH_LATE_SECONDS = 20
WATCH_QUEUE = "calls"
_KEPT_SECONDS = 86_400


def watched_key() -> str:
    return f"cc:overview:{settings.REDIS_URL.rpartition('/')[2]}:watched"


def note_watch() -> None:
    """Store that beat and a worker have just run the watch of alarms. While Redis is away, nothing is stored."""
    try:
        client().set(watched_key(), time.time(), ex=_KEPT_SECONDS)
    except redis.RedisError:
        return


def read() -> dict[str, Any]:
    """Return the state of each kind of process."""
    locks = dict(rows_of(HOLDERS))
    ((to_dial, without_dialler),) = rows_of(CAMPAIGNS.format(day=timezone.localdate().isoformat()))
    return {
        "has_listener": LEADER in locks,
        "is_connected": CONNECTED in locks,
        "to_dial": to_dial,
        "without_dialler": without_dialler,
        "low_volumes": {name: volume.free for name, volume in free_space.volumes().items() if volume.is_low},
        "is_full": free_space.is_full(),
        **_tasks(),
    }


def _tasks() -> dict[str, Any]:
    """Return the queues whose tasks wait too long, and whether beat starts tasks.

    Without beat the watch of alarms does not run, although no task waits for the worker that would run it.
    """
    try:
        waiting, watched = waiting_tasks(client()), client().get(watched_key())
    except redis.RedisError:
        return {"has_broker": False, "late": {}, "has_beat": True}
    late = {
        queue: tasks.oldest_seconds for queue, tasks in waiting.items() if tasks.oldest_seconds > LATE_SECONDS[queue]
    }
    is_watched = watched is not None and time.time() - float(watched) < WATCH_LATE_SECONDS
    has_beat = is_watched or waiting[WATCH_QUEUE].count > 0
    return {"has_broker": True, "late": late, "has_beat": has_beat}
