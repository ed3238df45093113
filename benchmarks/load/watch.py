"""The use of the machine, minute by minute: memory, connections, queues, due work, bloat; and its growth."""

import json
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import redis

from benchmarks.harness import manage
from benchmarks.launch import pss
from benchmarks.load.machine import STORES, Machine

QUEUES = ("calls", "mail", "webhooks", "default", "reports")
# The first minutes fill caches.
WARM_UP_MINUTES = 4
_DUE = """
import json
from django.apps import apps
from django.db import connection
from callcentre.core.due_work import DueWork
found = {}
for model in apps.get_models():
    if issubclass(model, DueWork):
        rows = model._base_manager.filter(model.waits).exclude(next_attempt_at=None).order_by()
        if model._meta.label == "webhooks.Delivery":
            rows = rows.filter(webhook_id=1)  # the good receiver
        sql, values = rows.values_list("next_attempt_at").query.sql_with_params()
        found[model._meta.label] = connection.ops.compose_sql(sql, values)
print(json.dumps(found))
"""
_LATE = """
SELECT count(*), COALESCE(extract(epoch FROM now() - min(at)), 0)::float8 FROM ({}) AS due(at) WHERE at < now()
"""
_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
_BLOAT = """
SELECT relname, n_live_tup, n_dead_tup, pg_table_size(relid) / 1024 FROM pg_stat_user_tables WHERE n_dead_tup > 1000
ORDER BY n_dead_tup DESC
"""


@dataclass
class Sample:
    memory: dict[str, float]
    # Cores that each unit and store has used since the last sample.
    cores: dict[str, float]
    connections: int
    queues: dict[str, int]
    # Kind of due work -> rows that are due, and the seconds since the first of them was.
    due: dict[str, tuple[int, float]]
    # Table -> live and dead rows, kilobytes.
    bloat: dict[str, tuple[int, int, int]]

    def dead(self, table: str) -> int:
        """Return how many more dead than live rows a table has."""
        live, dead, _size = self.bloat.get(table, (0, 0, 0))
        return dead - live

    def __str__(self) -> str:
        memory = " ".join(f"{unit} {amount:.0f}" for unit, amount in self.memory.items())
        cores = " ".join(f"{unit} {amount:.2f}" for unit, amount in self.cores.items() if amount >= 0.01)
        waits = [f"queue {queue}: {length}" for queue, length in self.queues.items() if length]
        waits += [f"{kind}: {count}, {seconds:.0f} s" for kind, (count, seconds) in self.due.items() if count]
        dead = [f"{table} {dead}/{live}" for table, (live, dead, _size) in list(self.bloat.items())[:3]]
        return (
            f"memory {sum(self.memory.values()):.0f} MB ({memory}); cores {sum(self.cores.values()):.2f} ({cores});"
            f" {self.connections} connections;"
            f" waiting: {', '.join(waits) or 'nothing'}; dead/live rows: {', '.join(dead) or 'few'}"
        )


@dataclass
class Watch:
    machine: Machine
    samples: list[Sample] = field(default_factory=list)

    def __post_init__(self) -> None:
        found = manage(self.machine.running.environment, "shell", "--verbosity=0", "-c", _DUE)
        self._due: dict[str, str] = json.loads(found.splitlines()[-1])
        self._used: dict[str, tuple[float, float]] = {}
        self._broker = redis.from_url(self.machine.stores.environment["REDIS_URL"])

    def cores(self) -> dict[str, float]:
        """Return the cores that each unit and store has used since this was asked before."""
        now, found = time.monotonic(), {}
        for unit in (*self.machine.commands, *STORES):
            seconds = self.machine.processor_seconds(unit)
            at, before = self._used.get(unit, (now, seconds))
            self._used[unit] = now, seconds
            found[unit] = max(seconds - before, 0.0) / max(now - at, 1.0)
        return found

    def due(self, connection: Any) -> dict[str, tuple[int, float]]:
        return {kind: connection.execute(_LATE.format(sql)).fetchone() for kind, sql in self._due.items()}

    def look(self) -> Sample:
        memory = {}
        for unit in self.machine.commands:
            with suppress(OSError):  # a process may end meanwhile
                memory[unit] = sum(map(pss, self.machine.pids(unit)))
        with self.machine.running.connect() as connection:
            (connections,) = connection.execute(_CONNECTIONS).fetchone() or (0,)
            bloat = {table: tuple(amounts) for table, *amounts in connection.execute(_BLOAT).fetchall()}
            queues = {queue: int(self._broker.llen(f"cc:{queue}")) for queue in QUEUES}
            return Sample(memory, self.cores(), connections, queues, self.due(connection), bloat)

    def take(self) -> None:
        self.samples.append(self.look())
        print(f"minute {len(self.samples)}: {self.samples[-1]}", file=sys.stderr, flush=True)

    def growth(self) -> list[str]:
        """Return what has grown: by the last three minutes against those after the warm-up."""
        if len(self.samples) < WARM_UP_MINUTES + 4:
            return []
        early, late = self.samples[WARM_UP_MINUTES : WARM_UP_MINUTES + 3], self.samples[-3:]
        found = []
        for unit in self.machine.commands:
            first, last = (
                max(each.memory.get(unit, 0) for each in early),
                min(each.memory.get(unit, 0) for each in late),
            )
            if last > first * 1.03 + 3:
                found.append(f"memory of {unit}: {first:.0f} to {last:.0f} MB")
        if (last := min(each.connections for each in late)) > max(each.connections for each in early) + 2:
            found.append(f"connections: {last}")
        # What waits or is dead may come and go, but not be more in each of four minutes.
        last_ones = self.samples[-4:]
        grown: dict[str, tuple[list[float], int]] = {
            **{f"queue {queue}": ([each.queues[queue] for each in last_ones], 100) for queue in QUEUES},
            **{f"seconds of {kind}": ([each.due[kind][1] for each in last_ones], 30) for kind in last_ones[0].due},
            **{f"dead rows of {table}": ([each.dead(table) for each in last_ones], 10_000) for table in late[-1].bloat},
        }
        for what, (amounts, many) in grown.items():
            if amounts[0] > many and amounts == sorted(set(amounts)):
                found.append(f"{what}: {amounts}")
        return found
