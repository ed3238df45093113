"""Calls through the stand-in of Asterisk: thirty at once, the time until a phone rings, and events per second.

python -m benchmarks.calls
"""

import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from benchmarks.flood import MESSAGES_PER_CALL
from benchmarks.harness import ROOT, Client, Service, Table, medians, service
from callcentre.launch.servers import choose_port
from tests.telephony.switch.ari_server import PASSWORD, USER

CALLS = 30
# Of each phone: the agent's, then the customer's.
PICK_UP_SECONDS = 0.5
FLOOD_CALLS = 300
RUNS = 5
# The number of single requests, and the pause after each, in which the web server sends its task.
ASKED, SENDING_SECONDS = 1000, 0.01

_ADD_AGENTS = """
INSERT INTO telephony_agent (login, name, surname, email, is_active, number, outbound_mode, updated_at)
SELECT 'bench' || n, 'Bench', '', '', true, (200 + n)::text, false, now() FROM generate_series(0, %s - 1) AS n
ON CONFLICT DO NOTHING
"""
# Calls whose agents' phones are about to answer.
_ADD_CALLS = """
WITH calls AS (
  INSERT INTO telephony_connection (direction, state, src, dst, src_number, dst_number, agent_id, caller_id, created_at,
    disposition, hung_up_by, ring_seconds, wait_seconds, is_on_hold, join_count, request_id)
  SELECT 'OUTBOUND', 'originating', a.number, '+48600100200', a.number, '+48600100200', a.id, '',
    date_trunc('second', now()), '', '', 0, 0, false, 0, ''
  FROM generate_series(0, %s - 1) AS n JOIN telephony_agent a ON a.login = 'bench' || n %% %s
  RETURNING id, agent_id, src
)
INSERT INTO telephony_leg (connection_id, role, agent_id, number, channel_id, state, asked_at, tech_cause)
SELECT id, 'agent', agent_id, src, 'callcentre-' || id || '-1', 'asked', now(), '' FROM calls RETURNING connection_id
"""
_BOUND = """
INSERT INTO telephony_connection (direction, state, src, dst, src_number, dst_number, agent_id, caller_id, created_at,
  disposition, hung_up_by, ring_seconds, wait_seconds, is_on_hold, join_count, request_id, place_until)
SELECT 'OUTBOUND', 'queued', '200', '+48 600 100 200', '200', '+48600100200', id, '', date_trunc('second', now()), '',
  '', 0, 0, false, 0, '', now() + interval '1 minute'
FROM telephony_agent WHERE number = '200' AND is_active RETURNING id, agent_id
"""


@contextmanager
def processes(running: Service, *commands: list[str]) -> Iterator[None]:
    with (Path(running.environment["CALLCENTRE_VAR"]) / "log" / "calls.log").open("ab") as log:
        children = [
            subprocess.Popen([sys.executable, *command], cwd=ROOT, env=running.environment, stdout=log, stderr=log)
            for command in commands
        ]
        try:
            yield
        finally:
            for child in children:
                child.terminate()
            for child in children:
                child.wait(30)


@contextmanager
def calls_service() -> Iterator[tuple[Service, str]]:
    """Run the service with a listener and the worker of calls; yield the address for an Asterisk that starts later."""
    with service(0) as running:
        port = choose_port(Path(running.environment["CALLCENTRE_VAR"]) / "run" / "ari.port")
        url = f"http://127.0.0.1:{port}/ari"
        running.environment |= {
            "SWITCH_BACKEND": "asterisk",
            "ARI_URL": url,
            "ARI_USER": USER,
            "ARI_PASSWORD": PASSWORD,
        }
        with running.connect() as connection:
            connection.execute(_ADD_AGENTS, [CALLS])
        celery = ["-m", "celery", "-q", "-A", "callcentre"]
        worker = "worker --without-gossip --without-mingle -Q calls,webhooks -P threads -c 16"
        beat = "beat --pidfile="
        with processes(
            running, [*celery, *worker.split()], [*celery, *beat.split()], ["manage.py", "listen_to_switch"]
        ):
            yield running, url


@contextmanager
def asterisk(running: Service, url: str, *program: str) -> Iterator[requests.Session]:
    port = str(urlsplit(url).port)
    session = requests.Session()
    session.auth = (USER, PASSWORD)
    with processes(running, ["-m", program[0], port, *program[1:]]):
        _wait(lambda: is_heard(running), 60)
        yield session


def is_heard(running: Service) -> bool:
    with running.connect() as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objid = 1", [0x63616C73]
        ).fetchone()
    return bool(row and row[0])


def _wait(condition: Callable[[], Any], seconds: float, step: float = 0.01) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(step)
    raise RuntimeError(f"not within {seconds} s")


def _talking(connection: Any) -> list[int]:
    """Return the calls that were asked for and talk; those of a dialler do not count."""
    rows = connection.execute("SELECT id FROM telephony_connection WHERE state = 'talking' AND campaign_code = ''")
    return [row[0] for row in rows.fetchall()]


def _unfinished(connection: Any, calls: list[int]) -> int:
    """Return how many recordings of these calls are not fetched yet."""
    rows = connection.execute(
        "SELECT count(*) FROM telephony_recording WHERE state IN ('expected', 'fetching') AND connection_id = ANY(%s)",
        [calls],
    )
    return int(rows.fetchone()[0])


def thirty_at_once(running: Service, session: requests.Session, url: str) -> float:
    """Return the seconds from the first request until all calls are bridged, less the ringing time of the phones."""
    clients = [running.client() for _ in range(CALLS)]
    for client in clients:
        client.send("GET", "/api/ping", expect=204)
    barrier = threading.Barrier(CALLS + 1)

    def call(number: int, client: Client) -> None:
        barrier.wait()
        body = {"sip": str(200 + number), "phone_number": "+48 600 100 200"}
        client.send("POST", "/api/connections/call", body, expect=204)

    threads = [threading.Thread(target=call, args=pair) for pair in enumerate(clients)]
    for thread in threads:
        thread.start()
    with running.connect() as connection:
        barrier.wait()
        started = time.perf_counter()
        time.sleep(2 * PICK_UP_SECONDS)
        pks = _wait(lambda: found if len(found := _talking(connection)) == CALLS else None, 30, step=0.005)
        _wait(lambda: all(len(session.get(f"{url}/bridges/callcentre-{pk}").json()["channels"]) == 2 for pk in pks), 30)
        seconds = time.perf_counter() - started
        for pk in pks:
            for number in (1, 2):
                session.delete(f"{url}/channels/callcentre-{pk}-{number}")
        _wait(lambda: not _talking(connection), 30)
        _wait(lambda: not _unfinished(connection, pks), 60)
    for thread in threads:
        thread.join()
    return seconds - 2 * PICK_UP_SECONDS


def until_it_rings(running: Service, session: requests.Session, url: str, turns: int) -> float:
    """Return the median seconds from the answer of a request until the switch has the channel of the agent's phone."""
    client, times = running.client(), []
    for _ in range(turns):
        client.send("POST", "/api/connections/call", {"sip": "200", "phone_number": "+48600100200"}, expect=204)
        answered = time.perf_counter()
        channels = _wait(lambda: session.get(f"{url}/channels").json(), 5, step=0.001)
        times.append(time.perf_counter() - answered)
        session.delete(f"{url}/channels/{channels[0]['id']}")
        time.sleep(0.1)
    return statistics.median(times)


def flood(running: Service, session: requests.Session, url: str, first: int) -> float:
    """Return events per second, from the first event until the rows say that all calls are over."""
    with running.connect() as connection:
        started = time.perf_counter()
        session.post(
            f"{url}/channels", json={"endpoint": "PJSIP/100", "app": "callcentre", "channelId": "callcentre-0-1"}
        )
        _wait(lambda: not _open_legs(connection), 120, step=0.05)
        seconds = time.perf_counter() - started
        answered = connection.execute(
            "SELECT count(*) FROM telephony_connection WHERE id >= %s AND disposition = 'ANSWERED'", [first]
        ).fetchone()
        assert answered == (FLOOD_CALLS,), answered
    return FLOOD_CALLS * MESSAGES_PER_CALL / seconds


def _open_legs(connection: Any) -> int:
    return int(connection.execute("SELECT count(*) FROM telephony_leg WHERE ended_at IS NULL").fetchone()[0])


def measure(table: Table, running: Service, url: str) -> None:
    with running.connect() as connection:
        with asterisk(running, url, "tests.telephony.switch.ari_server", "--pick-up", str(PICK_UP_SECONDS)) as session:
            thirty_at_once(running, session, url)  # so that all have their connections
            shares = [thirty_at_once(running, session, url) for _ in range(RUNS)]
            table.add_time("30 calls at once, our share of the time", statistics.median(shares), 0.3)
            table.add_time("from the answer to the channel, idle", until_it_rings(running, session, url, 30), 0.05)
        rates = []
        for _ in range(RUNS):
            rows = connection.execute(_ADD_CALLS, [FLOOD_CALLS, CALLS]).fetchall()
            first = min(row[0] for row in rows)
            with asterisk(running, url, "benchmarks.flood", str(first), str(FLOOD_CALLS)) as session:
                rates.append(flood(running, session, url, first))
            # The switch does not have these calls: the next run must not look for them.
            connection.execute("DELETE FROM telephony_recording")
        table.add_speed("events of one listener", statistics.median(rates), 1500)


def asking(table: Table) -> None:
    """Measure POST /connections/call against its one statement, which finds the agent and inserts the call, in turns.

    No worker runs, since it would take processor time from all. After each request the benchmark waits until the web
    server has sent its task. The first request after this pause is slower and is not counted.
    """
    with service(0) as running, running.connect() as connection:
        connection.execute(_ADD_AGENTS, [1])
        client = running.client()
        body = json.dumps({"sip": "200", "phone_number": "+48 600 100 200"}).encode()
        bound_is = "the agent and INSERT, in one statement with its commit"

        def ping() -> None:
            client.send("GET", "/api/ping", expect=204)

        _, inserted, pinged, posted, _ = medians(
            ASKED,
            ping,
            lambda: connection.execute(_BOUND),
            ping,
            lambda: client.send("POST", "/api/connections/call", body, expect=204),
            lambda: time.sleep(SENDING_SECONDS),
        )
    table.add("POST /connections/call", bound_is, inserted, posted, ping=pinged, goal_above_ping=2)


def main() -> None:
    table = Table("Calls")
    table.head()
    with calls_service() as (running, url):
        measure(table, running, url)
    # Last: these calls are never placed, and the next service may use the same stores.
    asking(table)


if __name__ == "__main__":
    main()
