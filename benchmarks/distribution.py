"""One search of the distribution for 200 callers among 500 agents of all queues, in the best and the worst cases.

python -m benchmarks.distribution [QUEUES] [plan]

All queues require two skills. The bound is the same search without skills, in turns with ours. `plan` prints the plans.
"""

import os
import sys
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any

from benchmarks.harness import Table, medians, service

AGENTS, CALLERS, EARLIER, TURNS = 500, 200, 20_000, 25

_REST = """
INSERT INTO telephony_offer (connection_id, queue_id, agent_id, offered_at, ended_at, outcome)
SELECT first.id, first.queue_id, a.id, now() - interval '3 s', now() - interval '1 s', '{}'
FROM telephony_agent a, (
  SELECT id, queue_id FROM telephony_connection WHERE state = 'waiting' ORDER BY id LIMIT 1
) AS first
"""
_TALK = "UPDATE telephony_agentstate SET kind = 'talking'"
# What is changed in a transaction that is undone.
CASES = {
    "all are free": "",
    "one is free": f"{_TALK} WHERE agent_id <> (SELECT max(id) FROM telephony_agent)",
    "none is free": _TALK,
    "all are free, each has one of two skills": "UPDATE telephony_agentskill SET level = 1 WHERE skill_id % 2 = 0",
    "all are free, none has the required level": "UPDATE telephony_requiredskill SET level = 9",
    "all rest, their phones failed": _REST.format("failed"),
    "all rest from one call": _REST.format("not_answered"),
}


def fill(queues: int) -> None:
    from django.utils import timezone  # noqa: PLC0415  (the settings name the stores)

    from telephony import models  # noqa: PLC0415

    def add(model: Any, rows: Iterable[dict[str, Any]]) -> list[Any]:
        found: list[Any] = model.objects.bulk_create([model(**row) for row in rows])
        return found

    now = timezone.now()
    places = add(models.Queue, ({"name": f"Q{n}", "number": f"4822{n}", "priority": 50 + n} for n in range(queues)))
    agents = add(
        models.Agent, ({"login": f"bench{n}", "name": "Bench", "number": f"{1000 + n}"} for n in range(AGENTS))
    )
    add(models.QueueMember, ({"queue": queue, "agent": agent} for queue in places for agent in agents))
    add(models.AgentSession, ({"agent": agent, "started_at": now - timedelta(hours=2)} for agent in agents))
    states = (
        {"agent": agent, "kind": "free", "started_at": now - timedelta(seconds=agent.pk % 100)} for agent in agents
    )
    add(models.AgentState, states)
    skills = add(models.Skill, ({"name": name} for name in ("Polish", "Billing")))
    add(models.AgentSkill, ({"agent": agent, "skill": skill, "level": 5} for agent in agents for skill in skills))
    add(models.RequiredSkill, ({"queue": queue, "skill": skill, "level": 3} for queue in places for skill in skills))
    inbound = {"direction": "INBOUND", "src_number": "+48600100200"}
    since = [now - timedelta(seconds=n) for n in range(CALLERS)]
    waiting = {**inbound, "state": "waiting"}
    times = ({"queue": places[n % queues], "created_at": at, "waiting_since": at} for n, at in enumerate(since))
    add(models.Connection, (waiting | some for some in times))
    # Calls of the days before, each offered to an agent.
    day = now - timedelta(days=1)
    over = {
        **inbound,
        "state": "ended",
        "queue": places[0],
        "created_at": day,
        "ended_at": day,
        "disposition": "ANSWERED",
    }
    calls = add(models.Connection, (over for _ in range(EARLIER)))
    offer = {"queue": places[0], "offered_at": day, "answered_at": day, "ended_at": day, "outcome": "answered"}
    add(models.Offer, (offer | {"connection": call, "agent": agents[call.pk % AGENTS]} for call in calls))


def measure(table: Table, queues: int, *, is_explained: bool) -> None:
    import django  # noqa: PLC0415  (its settings name the stores)

    django.setup()
    from django.db import connection, transaction  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from callcentre.core.statements import row_of  # noqa: PLC0415
    from telephony.calls.candidates import values_at  # noqa: PLC0415
    from telephony.calls.distribution import _NEXT  # noqa: PLC0415
    from telephony.models.skill import IS_ABLE, SKILLS_OF_MEMBER  # noqa: PLC0415

    without = _NEXT.replace(SKILLS_OF_MEMBER, "").replace(IS_ABLE, "true").replace("held.levels", "NULL AS levels")
    fill(queues)
    cursor: Any = connection.cursor()
    cursor.execute("VACUUM ANALYZE")
    for case, change in CASES.items():
        with transaction.atomic():
            if change:
                cursor.execute(change)
            values = values_at(timezone.now())
            bound, ours = medians(TURNS, *(partial(row_of, one, values) for one in (without, _NEXT)), warm_up=2)
            table.add(f"{case}, {queues} queues", "without skills", bound, ours, 1.3)
            if is_explained:
                cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {_NEXT}", values)
                print("\n".join(line for (line,) in cursor.fetchall()))
            transaction.set_rollback(True)


def main() -> None:
    queues = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    table = Table(f"Distribution: {AGENTS} agents, {CALLERS} callers")
    table.head()
    with service(0) as running:
        os.environ.update(running.environment)
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "callcentre.settings")
        measure(table, queues, is_explained="plan" in sys.argv)


if __name__ == "__main__":
    main()
