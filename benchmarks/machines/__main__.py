"""Two hosts of everything, and what is left when one of them dies: `python -m benchmarks.machines`.

PostgreSQL with a streaming replica (Debian's), PgBouncer in transaction mode, Valkey, a server of S3, nginx before two
hosts (127.0.0.2, 127.0.0.3), each with its own data folder, web server, worker, listener, dialler and beat. The files
of deploy/ configure PgBouncer and nginx. A campaign dials, clients read and write through nginx. Meanwhile every
process is restarted in the rolling order, one host is killed, Valkey and the replica go. Then the accounts are proven.
"""

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from base64 import urlsafe_b64encode
from contextlib import ExitStack
from http.server import ThreadingHTTPServer
from typing import Any

import psycopg

from benchmarks.endurance import FAULTS, OPEN, prepare
from benchmarks.harness import ROOT, SESSION, Service, manage, wait_until_up
from benchmarks.machines.clients import CLIENTS, Clients, Receiver
from benchmarks.machines.hosts import (
    HOSTS,
    LAG_SECONDS,
    NEEDED,
    POSTGRES,
    Host,
    Trial,
    ask,
    say,
    start_bucket,
    start_pooler,
    start_proxy,
    start_replica,
    wait,
)
from callcentre.launch.embedded import temporary_stores

AGENTS = 6
REPORT = "/admin/reports/export/work-report/?date_from=2026-01-01&date_to=2099-12-31&aggregate_by=year"
# Who leads: the backends that hold the locks of the listener, of beat and of the diallers' campaigns.
LEADERS = {"listener": (0x63616C73, "objid = 0"), "beat": (0x62656174, "true"), "dialler": (0x6469616C, "objid <> 0")}
EXPORT = """
from callcentre.models import User
from callcentre.lists.exports import ask_export
print(ask_export(User.objects.get(username="bench"), "campaigns.Record", "Records", "", "csv").pk)
"""
QUEUE = "from tickets.models import TicketQueue; TicketQueue.objects.create(name='Help')"
STATE = "SELECT state, row_count, file, read_at FROM lists_listexport WHERE id = %s"


class Machines:
    """The steps of the trial. A step that does not hold adds a fault."""

    def __init__(self, trial: Trial) -> None:
        self.trial, self.faults = trial, list[str]()
        environment = trial.environment
        start_pooler(trial)
        start_bucket(trial)
        self.replica = start_replica(trial)
        environment |= {
            "REDIS_URL": trial.stores.environment["REDIS_URL"],
            "CALLCENTRE_VAR": str(trial.folder),
            "SECRET_KEY": secrets.token_urlsafe(64),
            "FIELD_ENCRYPTION_KEYS": urlsafe_b64encode(os.urandom(32)).decode(),
            "ALLOWED_HOSTS": ",".join(("127.0.0.1", *HOSTS)),
            "TRUSTED_PROXIES": "127.0.0.1/32",
            "SECURE_COOKIES": "0",
            "API_RATE_LIMIT": "0",
            "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
            "SWITCH_BACKEND": "simulated",
            "RECORD_CALLS": "0",
            "TIME_ZONE": "UTC",
            "PYTHONWARNINGS": "ignore",
            "DATABASE_REPLICA_LAG_SECONDS": str(LAG_SECONDS),
        }
        self.variables = {**os.environ, **environment}
        trial.environment = self.variables
        manage(self.variables, "migrate", "--verbosity=0")
        manage(self.variables, "collectstatic", "--no-input", "--verbosity=0")
        secret = manage(self.variables, "create_api_user", "bench", "--right", "*").strip()
        port = trial.port("web")
        self.proxy = Service(
            start_proxy(trial, port), trial.stores.environment["DATABASE_URL"], self.variables, "bench", secret
        )
        self.hosts = [Host(trial, address, port) for address in HOSTS]
        self.database = trial.connect()

    def check(self, what: str, is_true: Any) -> None:
        say(f"{'ok   ' if is_true else 'WRONG'} {what}")
        if not is_true:
            self.faults.append(what)

    def one(self, statement: str, *values: Any) -> Any:
        row = self.database.execute(statement.encode(), values or None).fetchone()
        return row and row[0]

    def leaders(self, name: str) -> set[int]:
        space, which = LEADERS[name]
        held = f"SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = {space} AND granted AND {which}"
        return {pid for (pid,) in self.database.execute(held.encode())}

    def begin(self) -> None:
        """Start the first host, which leads, and then the second."""
        first, second = self.hosts
        first.start()
        say(f"the first host is ready after {first.wait_until_ready():.1f} s")
        second.start()
        say(f"the second host is ready after {second.wait_until_ready():.1f} s")
        wait_until_up(self.proxy)
        self.session = {"Cookie": f"sessionid={manage(self.variables, 'shell', '-v0', '-c', SESSION).split()[-1]}"}
        prepare(self.proxy, AGENTS)
        receiver = ThreadingHTTPServer(("127.0.0.1", self.trial.port("receiver")), Receiver)
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        hook = {"actions": ["TICKET_CREATED"], "subscription_url": f"http://127.0.0.1:{receiver.server_port}/"}
        self.proxy.client().send("POST", "/api/webhooks", hook, expect=201)
        manage(self.variables, "shell", "-v0", "-c", QUEUE)
        self.database.execute("UPDATE campaigns_campaign SET is_dialling = true")

    def share(self) -> None:
        """Move a file, a session and an export from host to host."""
        first, second = self.hosts
        content, login = os.urandom(300_000), self.proxy.client()._headers
        path, headers = "/api/temporary_files?filename=a.bin", {**login, "Content-Type": "application/octet-stream"}
        status, answer = first.ask(path, headers, content)
        is_same = status == 201 and second.ask(f"/api/files/{json.loads(answer)['token']}", login)[1] == content
        self.check("a file that one host has stored is read by the other", is_same)
        pages = [host.ask("/admin/", self.session)[0] for host in (first, second, first)]
        self.check(f"a session moves between hosts: {pages}", pages == [200, 200, 200])
        self.export()

    def reads_of_replica(self) -> int:
        scans = "SELECT seq_scan + idx_scan FROM pg_stat_user_tables WHERE relname = 'campaigns_record'"
        with psycopg.connect(self.variables["DATABASE_REPLICA_URL"]) as connection:
            return int(connection.execute(scans).fetchone()[0])  # type: ignore[index]

    def export(self, what: str = "an export is read from the replica", *, of_replica: bool = True) -> None:
        before = self.reads_of_replica() if of_replica else 0
        pk = int(manage(self.variables, "shell", "-v0", "-c", EXPORT))
        wait("the export", lambda: self.database.execute(STATE, [pk]).fetchone()[0] in ("finished", "failed"))  # type: ignore[index]
        row = self.database.execute(STATE, [pk]).fetchone()
        is_read, until = not of_replica, time.monotonic() + 15
        # A session of PostgreSQL writes its statistics once a second, and else after ten seconds of rest.
        while not is_read and time.monotonic() < until:
            time.sleep(0.5)
            is_read = self.reads_of_replica() > before
        self.check(f"{what}: {row}", row and row[0] == "finished" and row[1] and is_read)

    def shown(self) -> float:
        """Return the seconds since the instant as of which the report is."""
        now = time.gmtime()
        page = ask("127.0.0.1", self.proxy.port, REPORT, self.session)[1].decode()
        found = re.search(r"as of (\d+):(\d+):(\d+)", page)
        if not found:
            raise RuntimeError(f"no report: {page[:300]}")
        hour, minute, second = map(int, found.groups())
        return (now.tm_hour - hour) * 3600 + (now.tm_min - minute) * 60 + now.tm_sec - second

    def lag(self) -> None:
        """Let the replica fall behind: the page says so, then the primary answers."""
        with psycopg.connect(self.variables["DATABASE_REPLICA_URL"], autocommit=True) as connection:
            connection.execute("SELECT pg_wal_replay_pause()")
            time.sleep(3)
            age = self.shown()
            self.check(f"a report of a replica that is 3 s behind says so: {age} s", 2 <= age <= LAG_SECONDS)
            time.sleep(LAG_SECONDS)
            age = self.shown()
            self.check(f"a report of a replica that is too far behind is the primary's: {age} s", age < 2)
            metric = re.compile(rb"^callcentre_replica_lag_seconds (\S+)", re.MULTILINE)
            wait("the metric", lambda: float(metric.findall(self.hosts[1].ask("/metrics")[1])[0]) > LAG_SECONDS)
            self.check("health/replica is 503", self.hosts[1].ask("/health/replica")[0] == 503)
            self.export("an export does not wait for the replica", of_replica=False)
            connection.execute("SELECT pg_wal_replay_resume()")

    def kill_host(self, host: Host) -> None:
        """Kill the host that leads. Print when the other one has taken over."""
        before = {name: self.leaders(name) for name in LEADERS}
        missing = [name for name, pids in before.items() if not pids]
        self.check(f"leaders before the kill: {before}", not missing)
        host.kill()
        started = time.monotonic()
        waiting = dict(before)
        while waiting:
            for name, old in list(waiting.items()):
                if (now := self.leaders(name)) and not now & old:
                    say(f"    the other {name} leads after {time.monotonic() - started:.1f} s")
                    del waiting[name]
            if time.monotonic() - started > 60:
                break
            time.sleep(0.05)
        self.check(f"all of a killed host is taken over; not: {list(waiting)}", not waiting)
        time.sleep(5)

    def restart(self) -> None:
        for host in self.hosts:
            host.restart()

    def stop_valkey(self) -> None:
        server = self.trial.stores._servers["REDIS_URL"]
        assert server.process
        server.process.kill()
        server.process.wait()
        time.sleep(5)
        server.revive()
        time.sleep(3)

    def stop_replica(self) -> None:
        self.replica.send_signal(signal.SIGINT)
        self.replica.wait()
        age = self.shown()
        self.check(f"without the replica the primary answers: {age} s", age < 2)
        self.export("an export without the replica", of_replica=False)
        self.replica = start_replica(self.trial)
        self.export("an export from the replica that is back")

    def end(self) -> None:
        self.database.execute("UPDATE campaigns_campaign SET is_dialling = false")
        wait("all calls are over", lambda: not self.one(OPEN), 180)
        due = "SELECT count(*) FROM webhooks_delivery WHERE state = 'waiting'"
        wait("all deliveries are made", lambda: not self.one(due), 180)
        time.sleep(12)
        for what, statement in FAULTS.items():
            if count := self.one(statement):
                self.check(f"{what}: {count}", False)
        events = [
            str(pk)
            for (pk,) in self.database.execute("SELECT event_id FROM webhooks_event WHERE action = 'TICKET_CREATED'")
        ]
        lost, twice = set(events) - set(Receiver.events), [pk for pk, n in Receiver.events.items() if n > 1]
        self.check(f"{len(events)} events: {len(lost)} lost, {len(twice)} came twice", events and not lost)
        logs = "".join(path.read_text() for path in (self.trial.folder / "log").glob("127.*.log"))
        say(f"{logs.count('repeated on the primary')} reads of the replica were repeated on the primary")
        calls = self.one("SELECT count(*) FROM campaigns_attempt")
        self.check(f"{calls} calls were dialled", calls > 10)
        found = subprocess.run(
            [sys.executable, "manage.py", "verify"], check=False, env=self.variables, cwd=ROOT, capture_output=True
        )
        wrong = [line for line in found.stdout.decode().splitlines() if not line.startswith("ok")]
        self.check(f"verify is clean {wrong}", found.returncode == 0)


def main() -> int:
    if missing := [name for name, is_there in NEEDED.items() if not is_there]:
        print(f"skipped: {', '.join(missing)} is not installed (apt install postgresql-15 pgbouncer nginx)")
        return 0
    os.environ["EMBEDDED_POSTGRES_BIN"] = str(POSTGRES)
    with temporary_stores(durable=True) as stores, ExitStack() as stack:
        machines = Machines(Trial(stack, stores))
        first, _second = machines.hosts
        machines.begin()
        with Clients(machines.proxy) as clients:
            clients.during("both hosts", machines.share)
            clients.during("the replica lags", machines.lag)
            failed = clients.during("rolling restart", machines.restart)
            machines.check("no request fails in a rolling restart", not failed)
            failed = clients.during("a host is killed", lambda: machines.kill_host(first))
            machines.check("a killed host costs the requests that it had, and no more", failed <= CLIENTS)
            clients.during("one host alone", machines.export)
            first.start()
            clients.during("the host is back", first.wait_until_ready)
            failed = clients.during("Valkey is away for five seconds", machines.stop_valkey)
            machines.check("no request fails without Valkey", not failed)
            failed = clients.during("the replica is away", machines.stop_replica)
            machines.check("no request fails without the replica", not failed)
        machines.end()
    print("\n".join(["all holds"] if not machines.faults else ["WRONG:", *machines.faults]))
    return bool(machines.faults)


if __name__ == "__main__":
    sys.exit(main())
