"""Delivering webhooks: rate beside a plain loop, latency, a long queue, a hanging receiver, cost of recording.

python -m benchmarks.webhooks
"""

import http.client
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from celery import Celery

from benchmarks.harness import ROOT, Service, Table, service, timed
from callcentre.launch.servers import choose_port

FILL = """
WITH events AS (
  INSERT INTO webhooks_event (event_id, action, subject, payload)
  SELECT gen_random_uuid(), 'OUTBOUND_RECORD_CREATED', 'record:' || n,
         jsonb_build_object('record_id', n, 'outbound_id', 'B0001', 'phone_number', '+48500000000',
                            'system_status', 'TO_CALL', 'status_id', 1, 'next_call_date', NULL, 'agent_login', NULL)
  FROM generate_series(1, %s) n RETURNING id
)
INSERT INTO webhooks_delivery (event_id, webhook_id, state, attempt_count, next_attempt_at)
SELECT id, %s, 'waiting', 0, now() FROM events
"""


class Receiver:
    def __init__(self, running: Service, folder: Path, name: str, *, hangs: bool = False) -> None:
        self.port = choose_port(folder / f"{name}.port")
        arguments = ["inf"] if hangs else []
        command = [sys.executable, "-m", "benchmarks.receiver", str(self.port), *arguments]
        self._process = subprocess.Popen(command, cwd=ROOT, env=running.environment)
        self.url = f"http://127.0.0.1:{self.port}/"
        for _ in range(100):
            try:
                self.times()
            except OSError:
                time.sleep(0.05)
            else:
                break

    def times(self) -> list[float]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        connection.request("GET", "/times")
        answer: list[float] = json.loads(connection.getresponse().read())
        connection.close()
        return answer

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


@contextmanager
def worker(running: Service) -> Iterator[None]:
    """Run the worker as `make run` does, and beat, which sweeps."""
    celery = [sys.executable, "-m", "celery", "-q", "-A", "callcentre"]
    quiet: dict[str, Any] = {"cwd": ROOT, "env": running.environment, "stdout": subprocess.DEVNULL}
    processes = [
        subprocess.Popen(
            [*celery, "worker", "--without-gossip", "--without-mingle", "-Q", "webhooks", "-P", "threads", "-c", "32"],
            stderr=subprocess.DEVNULL,
            **quiet,
        ),
        subprocess.Popen([*celery, "beat", "--pidfile="], stderr=subprocess.DEVNULL, **quiet),
    ]
    try:
        time.sleep(5)
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(30)


def register(running: Service, url: str, action: str = "OUTBOUND_RECORD_CREATED") -> int:
    body = {"actions": [action], "subscription_url": url}
    answer = json.loads(running.client().send("POST", "/api/webhooks", body, expect=201))
    return int(answer["id"])


def drain(running: Service, webhook_id: int, waiting: int, measured: int) -> float:
    """Return deliveries per second over the first `measured` waiting ones, from the first message to the stored
    results.
    """
    app = Celery(broker=running.environment["REDIS_URL"])
    app.conf.broker_transport_options = {"global_keyprefix": "cc:"}
    with running.connect() as connection:
        connection.execute("UPDATE webhooks_webhook SET is_active = false WHERE id = %s", [webhook_id])
        connection.execute("DELETE FROM webhooks_delivery WHERE webhook_id = %s", [webhook_id])
        connection.execute(FILL, [waiting, webhook_id])
        connection.execute("VACUUM ANALYZE webhooks_delivery")
        connection.execute("VACUUM ANALYZE webhooks_event")
        connection.execute("UPDATE webhooks_webhook SET is_active = true WHERE id = %s", [webhook_id])
        started = time.perf_counter()
        app.send_task("webhooks.deliver", args=[webhook_id], queue="webhooks")
        while True:
            row = connection.execute(
                "SELECT count(*) FROM webhooks_delivery WHERE webhook_id = %s AND state = 'succeeded'", [webhook_id]
            ).fetchone()
            assert row is not None
            if row[0] >= measured:
                seconds = time.perf_counter() - started
                connection.execute("DELETE FROM webhooks_delivery WHERE webhook_id = %s", [webhook_id])
                return float(row[0]) / seconds
            time.sleep(0.02)


def plain_loop(receiver: Receiver, count: int) -> float:
    """Return requests per second of the standard library's client on one connection, which stores nothing."""
    body = json.dumps({"action": "OUTBOUND_RECORD_CREATED", "filler": "x" * 220}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=15)
    started = time.perf_counter()
    for _ in range(count):
        connection.request("POST", "/", body, {"Content-Type": "application/json"})
        connection.getresponse().read()
    connection.close()
    return count / (time.perf_counter() - started)


numbers = (f"+48{number}" for number in itertools.count(700_000_000))


def latency(running: Service, receiver: Receiver, turns: int) -> float:
    """Return the median seconds from the start of a change's transaction to the receiver, one change at a time."""
    client = running.client()
    with running.connect() as connection:
        row = connection.execute("SELECT max(id) FROM webhooks_event").fetchone()
        # Deliveries of an earlier measurement must not count as answers to the changes below.
        while receiver.times():
            time.sleep(0.5)
        for _ in range(turns):
            client.send("POST", "/api/outbounds/B0001/records", {"phone_number": next(numbers)}, expect=201)
            time.sleep(0.06)
        arrived: list[float] = []
        while len(arrived) < turns:
            time.sleep(0.1)
            arrived += receiver.times()
        changed = connection.execute(
            "SELECT extract(epoch FROM created_at)::float FROM webhooks_event WHERE id > %s ORDER BY id", row
        ).fetchall()
    return statistics.median([there - float(here) for (here,), there in zip(changed, arrived, strict=True)])


def cost(running: Service, webhook_id: int, rounds: int, in_a_row: int, rest: float) -> tuple[float, float]:
    """Measure the median request that adds a record, in turns with an inactive and an active webhook.

    The inactive webhook gets no deliveries, while the event is recorded. A pause after each series of requests lets the
    worker finish its deliveries.
    """
    client = running.client()
    times: dict[bool, list[float]] = {False: [], True: []}

    def post() -> None:
        client.send("POST", "/api/outbounds/B0001/records", {"phone_number": next(numbers)}, expect=201)

    with running.connect() as connection:
        for _ in range(rounds):
            for is_active in (False, True):
                connection.execute("UPDATE webhooks_webhook SET is_active = %s WHERE id = %s", [is_active, webhook_id])
                times[is_active] += [timed(post) for _ in range(in_a_row)]
                time.sleep(rest)
    return statistics.median(times[False]), statistics.median(times[True])


def measure(running: Service) -> None:
    table = Table("Webhooks")
    table.head()
    folder = Path(running.environment["CALLCENTRE_VAR"]) / "run"
    receiver, hanging = Receiver(running, folder, "receiver"), Receiver(running, folder, "hanging", hangs=True)
    webhook_id = register(running, receiver.url)
    try:
        with worker(running):
            rates = [(plain_loop(receiver, 5000), drain(running, webhook_id, 5000, 5000)) for _ in range(3)]
            loop, ours = (statistics.median(column) for column in zip(*rates, strict=True))
            table.add_rate(
                "deliver 5,000 webhooks, store each attempt", "a keep-alive loop of http.client", loop, ours, 0.4
            )
            few = statistics.median(drain(running, webhook_id, 1000, 1000) for _ in range(3))
            many = drain(running, webhook_id, 100_000, 5000)
            table.add_rate("the same with 100,000 waiting", "ours with 1,000 waiting", few, many, 0.8)
            idle = latency(running, receiver, 200)
            table.add_time("change to receiver, idle", idle, 0.015)
            without, recording = cost(running, webhook_id, rounds=300, in_a_row=1, rest=0.03)
            table.add("POST record with a delivery", "the same with no webhook", without, recording, 1.2)
            without, recording = cost(running, webhook_id, rounds=12, in_a_row=100, rest=0.5)
            table.add(
                "the same without a rest, with the worker on the same cores", "no webhook", without, recording, 1.5
            )
            register(running, hanging.url)
            table.add("change to receiver while another hangs", "idle", idle, latency(running, receiver, 400), 2)
    finally:
        receiver.stop()
        hanging.stop()


def main() -> None:
    with service(20_000) as running:
        measure(running)


if __name__ == "__main__":
    main()
