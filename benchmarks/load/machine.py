"""The service as deploy/systemd runs it, on durable stores, with the world outside; and links that can be broken."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.harness import ROOT, Service, manage, service_environment, wait_until_up
from benchmarks.launch import family, processor_seconds
from callcentre.launch.children import bury, spawn, stop
from callcentre.launch.embedded import Stores, temporary_stores
from callcentre.launch.servers import StoreError, choose_port
from tests.migrated import restore
from tests.telephony.switch.ari_server import PASSWORD, USER

# The units of deploy/systemd.
UNITS = ("web", "threads", "mail", "webhooks", "processes", "listener", "standby", "dialler", "mailboxes", "beat")
STORES = ("postgres", "valkey")
# RestartSec of the units.
RESTART_SECONDS = 2.0
TALK_SECONDS = 8.0
# The logs of the last trial stay. Metrics are here too: mapped files on a full disk would end their processes.
LOGS = Path("/tmp") / f"callcentre-load-{os.getpid()}"


def arguments_of(unit: str, port: int, web: int) -> list[str]:
    """Return the arguments of Python in a unit of systemd, for this port and number of web workers."""
    text = (ROOT / "deploy" / "systemd" / f"callcentre-{unit}.service").read_text()
    (command,) = re.findall(r"^ExecStart=\S+ (.*)$", text, re.MULTILINE)
    replaced = {"--port 8000": f"--port {port}", "--workers 2": f"--workers {web}", "%%": "%"}
    for old, new in replaced.items():
        command = command.replace(old, new)
    return str(command).split()


class Talker:
    """A helper process that answers each line of JSON with one line."""

    def __init__(self, module: str, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module], env=environment, cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._lock = threading.Lock()

    def say(self, command: Any) -> str:
        assert self._process.stdin
        with self._lock:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
            return self.listen()

    def listen(self) -> str:
        assert self._process.stdout
        line: str = self._process.stdout.readline()
        return line.strip()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@dataclass
class Machine:
    """The running service. A process that ends is started again two seconds later, a store at once."""

    running: Service
    stores: Stores
    commands: dict[str, list[str]]
    outside: Talker
    links: Talker
    # The ports of the world outside, without the links.
    ports: dict[str, int]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    # Of the processes; not on the disk of the service, as with journald.
    logs: Path = Path()
    # Units and stores that are not started again.
    kept_down: set[str] = field(default_factory=set)
    restarts: dict[str, int] = field(default_factory=dict)
    is_over: threading.Event = field(default_factory=threading.Event)
    # What is special about it: a disk, a pair of servers, a clock (places.py).
    place: Any = None

    def link(self, name: str, **changes: Any) -> None:
        self.links.say({"link": name, **changes})

    def pids(self, unit: str) -> list[int]:
        """Return the processes of a unit or a store, its main process first."""
        store = self.stores._servers.get({"postgres": "DATABASE_URL", "valkey": "REDIS_URL"}.get(unit, ""))
        process = store.process if store else self.processes.get(unit)
        return list(family(process.pid)) if process and process.poll() is None else []

    def processor_seconds(self, *units: str) -> float:
        """Return the processor time of all processes of these units and stores."""
        total = 0.0
        for unit in units:
            for pid in self.pids(unit):
                with suppress(OSError):  # it may end meanwhile
                    total += processor_seconds(pid)
        return total

    def signal(self, unit: str, number: signal.Signals) -> None:
        """Send a signal to all processes of a unit or store, as an operator would to its control group."""
        for pid in self.pids(unit):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def start(self, unit: str) -> None:
        with (self.logs / f"{unit}.log").open("ab") as log:
            self.processes[unit] = spawn(
                [sys.executable, *self.commands[unit]], env=self.running.environment, cwd=ROOT, stdout=log, stderr=log
            )

    def supervise(self) -> None:
        """Do what systemd does. It starts all processes, as they end with the thread that started them."""
        due = dict.fromkeys(self.commands, 0.0)
        while not self.is_over.wait(0.1):
            for unit in self.commands:
                process = self.processes.get(unit)
                if process and process.poll() is not None:
                    bury(process)
                    del self.processes[unit]
                    due[unit] = time.monotonic() + RESTART_SECONDS
                    self.restarts[unit] = self.restarts.get(unit, 0) + 1
                elif not process and unit not in self.kept_down and time.monotonic() > due[unit]:
                    self.start(unit)
            for name, server in self.stores._servers.items():
                if {"DATABASE_URL": "postgres", "REDIS_URL": "valkey"}[name] not in self.kept_down:
                    with suppress(StoreError, OSError):
                        server.revive()

    def end(self, supervisor: threading.Thread) -> None:
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        self.kept_down |= set(self.commands)
        deadline = time.monotonic() + 20
        while self.processes and time.monotonic() < deadline:
            time.sleep(0.1)
        self.is_over.set()
        supervisor.join()
        for process in self.processes.values():
            stop(process)


@contextmanager
def machine(
    *, web: int = 2, linked: bool = False, asterisk: bool = False
) -> Iterator[Machine]:  # fmt: skip
    """Run the service. `linked`: stores, switch and world outside are reached by links. `asterisk`: the switch is the
    stand-in of the tests, a process of its own (unit `switch`).
    """
    with ExitStack() as stack:
        stores = stack.enter_context(temporary_stores(durable=True))
        for folder in LOGS.parent.glob("callcentre-load-*"):
            pid = folder.name.rpartition("-")[2]
            if folder == LOGS or not Path("/proc", pid).exists():
                shutil.rmtree(folder, ignore_errors=True)
        metrics = LOGS / "metrics"
        metrics.mkdir(mode=0o700, parents=True)
        environment = service_environment(stores) | {
            "PROMETHEUS_MULTIPROC_DIR": str(metrics),
            "RECORD_CALLS": "1",
            "MAILBOX_ALLOWED_NETWORKS": "127.0.0.0/8",
            "SUPERVISOR_EMAILS": "boss@us.example",
        }
        direct = stores.environment["DATABASE_URL"]
        run = stores.var / "run"
        links = Talker("benchmarks.load.proxy", environment)
        stack.callback(links.end)
        outside = Talker("benchmarks.load.outside", environment)
        stack.callback(outside.end)
        ports: dict[str, int] = json.loads(outside.listen())
        ports["dead"] = choose_port(run / "dead.port")
        commands = {}
        port = choose_port(run / "web.port")
        if asterisk:
            ports["switch"] = choose_port(run / "switch.port")
            stand_in = f"-m tests.telephony.switch.ari_server {ports['switch']} --pick-up 1 --talk {TALK_SECONDS}"
            commands["switch"] = stand_in.split()
        reached = dict(ports)
        if linked:
            targets = {
                "database": urlsplit(direct).port,
                "broker": urlsplit(stores.environment["REDIS_URL"]).port,
                **ports,
            }
            for name, target in targets.items():
                reached[name] = choose_port(run / f"{name}.link")
                links.say({"link": name, "port": reached[name], "target": target})
            for variable, name in (("DATABASE_URL", "database"), ("REDIS_URL", "broker")):
                url = environment[variable]
                environment[variable] = url.replace(f":{urlsplit(url).port}/", f":{reached[name]}/")
        environment |= {"EMAIL_HOST": "127.0.0.1", "EMAIL_PORT": str(reached["smtp"])}
        if asterisk:
            environment |= {
                "SWITCH_BACKEND": "asterisk",
                "ARI_URL": f"http://127.0.0.1:{reached['switch']}/ari",
                "ARI_USER": USER,
                "ARI_PASSWORD": PASSWORD,
            }
        if dump := os.environ.get("MIGRATED_DUMP"):  # of tests, which have migrated already
            restore(Path(dump).read_bytes(), direct)
        else:
            manage(environment | {"DATABASE_URL": direct}, "migrate", "--verbosity=0")
        manage(environment, "collectstatic", "--no-input", "--verbosity=0")
        secret = manage(environment, "create_api_user", "load", "--right", "*").strip()
        running = Service(port, direct, environment, "load", secret)
        commands |= {unit: arguments_of(unit, port, web) for unit in UNITS}
        made = Machine(running, stores, commands, outside, links, reached, logs=LOGS)
        supervisor = threading.Thread(target=made.supervise, name="supervisor", daemon=True)
        supervisor.start()
        stack.callback(made.end, supervisor)
        wait_until_up(running)
        yield made
