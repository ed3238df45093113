"""The processes of the service that are missing: listener, dialler, workers, beat."""

from typing import Any

import redis
from django.utils import timezone

from callcentre.core import free_space
from callcentre.core.broker_queues import waiting_tasks
from callcentre.core.heartbeats import BEAT, DIALLER, LISTENER, SILENCES, missing
from callcentre.core.redis_client import client
from callcentre.core.statements import Statement, rows_of
from campaigns.monitoring import CAMPAIGNS
from telephony.leader_election import IS_CONNECTED

# Seconds after which a waiting task says that no worker takes it. Imports and exports may keep the last two busy.
LATE_SECONDS = {"calls": 15, "webhooks": 15, "mail": 60, "default": 300, "reports": 300}
_STATE = Statement("SELECT {is_connected}, to_dial, without FROM ({campaigns}) AS campaign (to_dial, without)").of(
    is_connected=IS_CONNECTED, campaigns=CAMPAIGNS
)


def read() -> dict[str, Any]:
    """Return the state of each kind of process."""
    dead = missing({kind: seconds for kind, seconds, _count in rows_of(SILENCES)})
    ((is_connected, to_dial, without_dialler),) = rows_of(_STATE.format(day=timezone.localdate().isoformat()))
    return {
        "has_listener": LISTENER not in dead,
        "is_connected": is_connected,
        "to_dial": to_dial,
        "without_dialler": without_dialler,
        "low_volumes": {name: volume.free for name, volume in free_space.volumes().items() if volume.is_low},
        "is_full": free_space.is_full(),
        "has_dialler": DIALLER not in dead,
        "has_beat": BEAT not in dead,
        "without_worker": [queue for queue in LATE_SECONDS if queue in dead],
        **_tasks(),
    }


def _tasks() -> dict[str, Any]:
    """Return the queues whose tasks wait too long."""
    try:
        waiting = waiting_tasks(client())
    except redis.RedisError:
        return {"has_broker": False, "late": {}}
    late = {
        queue: tasks.oldest_seconds for queue, tasks in waiting.items() if tasks.oldest_seconds > LATE_SECONDS[queue]
    }
    return {"has_broker": True, "late": late}
