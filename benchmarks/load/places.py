"""Where faults happen that need a machine of their own: a small disk, a pair of PostgreSQL servers, a clock."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.launch import family
from benchmarks.load.machine import Machine, machine
from callcentre.launch.children import spawn, stop
from callcentre.launch.servers import UNPRIVILEGED, choose_port

FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
# Version 0.9.10 of it lets Python's sleep fail: this goes to the kernel directly.
SLEEP = """
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_nanosleep(clockid_t id, int flags, const struct timespec *t, struct timespec *rest) {
    return syscall(SYS_clock_nanosleep, id, flags, t, rest) ? errno : 0;
}
"""
DISK = "900m"
POSTGRES = Path("/usr/lib/postgresql/15/bin")
ACCOUNT: dict[str, Any] = {"user": UNPRIVILEGED, "group": "nogroup", "extra_groups": []}
_SETTINGS = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200"]
# An asynchronous standby is behind by so much when its primary is killed.
LAG_SECONDS = 1.0
DETECTION_SECONDS = 3.0


class Missing(Exception):
    """This machine has not what the place needs."""


def _need(what: str, *, is_here: object) -> None:
    if not is_here:
        raise Missing(what)


@contextmanager
def _variables(**values: str) -> Iterator[None]:
    """Set variables of the environment, for all processes that are started."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


@dataclass
class Disk:
    """A volume for CALLCENTRE_VAR: stores, files and mails."""

    folder: Path

    def fill(self, free: float) -> None:
        """Leave this part of the volume free. Others write meanwhile, so the last bytes go in small pieces."""
        with (self.folder / "filler").open("ab") as filler:
            piece = 1 << 40
            while piece >= 4096:
                total, _used, left = shutil.disk_usage(self.folder)
                piece = min(piece, left - int(free * total))
                try:
                    os.posix_fallocate(filler.fileno(), os.fstat(filler.fileno()).st_size, max(piece, 1))
                except OSError:
                    piece //= 2

    def clear(self) -> None:
        (self.folder / "filler").unlink(missing_ok=True)


@contextmanager
def full_disk() -> Iterator[Machine]:
    _need("root, to mount a disk in memory", is_here=os.geteuid() == 0)
    folder = Path(tempfile.mkdtemp(prefix="callcentre-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0711", "callcentre", folder], check=True)
    tempfile.tempdir = str(folder)
    try:
        with machine(linked=True, asterisk=True) as made:
            made.place = Disk(folder)
            yield made
    finally:
        tempfile.tempdir = None
        subprocess.run(["umount", "--lazy", folder], check=False)
        folder.rmdir()


@contextmanager
def clock_at(moment: str) -> Iterator[Machine]:
    """Run service and stores by a clock of their own, which goes on from this moment (UTC; "": now)."""
    _need("libfaketime and a compiler of C", is_here=FAKETIME.exists() and shutil.which("cc"))
    with tempfile.TemporaryDirectory(prefix="callcentre-clock-") as folder:
        Path(folder).chmod(0o755)
        clock = Clock(Path(folder) / "clock")
        clock.first = round(
            (datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp() - time.time()) if moment else 0
        )
        clock.step(0)
        sleep = Path(folder) / "sleep.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", sleep], input=SLEEP.encode(), check=True)
        with (
            _variables(
                LD_PRELOAD=f"{sleep} {FAKETIME}",
                FAKETIME_TIMESTAMP_FILE=str(clock.file),
                FAKETIME_CACHE_DURATION="1",
                FAKETIME_DONT_FAKE_MONOTONIC="1",
            ),
            machine(linked=True, asterisk=True) as made,
        ):
            made.place = clock
            yield made


@dataclass
class Clock:
    file: Path
    first: int = 0

    def step(self, seconds: int) -> None:
        """Set the clock to so many seconds beside the one that it began with."""
        draft = self.file.with_suffix(".new")
        draft.write_text(f"{self.first + seconds:+d}\n")
        draft.chmod(0o644)
        draft.replace(self.file)


@dataclass
class Pair:
    """A primary and a standby of Debian's PostgreSQL, by streaming replication."""

    folder: Path
    ports: list[int]
    servers: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    made: Machine | None = None
    # What the standby lacked when it was promoted.
    lag_bytes: int = 0

    def url(self, number: int) -> str:
        return f"postgresql://callcentre:none@127.0.0.1:{self.ports[number]}/callcentre"

    def run(self, program: str, *arguments: str | Path) -> None:
        subprocess.run([POSTGRES / program, *arguments], cwd="/", check=True, stdout=subprocess.DEVNULL, **ACCOUNT)

    def serve(self, number: int, *settings: str) -> None:
        data = self.folder / str(number)
        command: list[str | Path] = [
            POSTGRES / "postgres",
            "-D",
            data,
            "-p",
            str(self.ports[number]),
            *_SETTINGS,
            *settings,
        ]
        with (self.folder / f"{number}.log").open("ab") as log:
            self.servers.append(spawn(command, orphaned=signal.SIGQUIT, cwd="/", stdout=log, stderr=log, **ACCOUNT))
        for _ in range(300):
            try:
                psycopg.connect(self.url(number), dbname="postgres", connect_timeout=2).close()
            except psycopg.OperationalError:
                time.sleep(0.1)
            else:
                return
        raise RuntimeError(f"PostgreSQL does not answer: {self.folder}")

    def fail_over(self) -> None:
        """Kill the primary, and promote the standby. An asynchronous one is behind by a second at that moment."""
        assert self.made
        with psycopg.connect(self.url(0), autocommit=True) as primary:
            (state,) = primary.execute("SELECT sync_state FROM pg_stat_replication").fetchone() or ("",)
            if state == "async":
                senders = [pid for pid, line in family(self.servers[0].pid).items() if "walsender" in line]
                os.kill(senders[0], signal.SIGSTOP)
                time.sleep(LAG_SECONDS)
            (self.lag_bytes,) = primary.execute(
                "SELECT (pg_current_wal_flush_lsn() - flush_lsn)::bigint FROM pg_stat_replication"
            ).fetchone() or (0,)
        for pid in family(self.servers[0].pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(DETECTION_SECONDS)
        self.run("pg_ctl", "promote", "-D", self.folder / "1")
        self.made.running.database_url = self.url(1)
        self.made.link("database", target=self.ports[1])

    def end(self) -> None:
        for server in reversed(self.servers):
            stop(server, signal.SIGQUIT)


@contextmanager
def pair(*, is_synchronous: bool) -> Iterator[Machine]:
    _need(f"PostgreSQL in {POSTGRES}, and root", is_here=POSTGRES.exists() and os.geteuid() == 0)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="callcentre-pair-")))
        shutil.chown(folder, UNPRIVILEGED, "nogroup")
        servers = Pair(folder, [choose_port(folder / f"{number}.port") for number in range(2)])
        first, second = folder / "0", folder / "1"
        servers.run("initdb", "-D", first, "--auth=trust", "-U", "callcentre", "--encoding=UTF8", "--locale=C.UTF-8")
        stack.callback(servers.end)
        servers.serve(0)
        with psycopg.connect(servers.url(0), dbname="postgres", autocommit=True) as connection:
            connection.execute("CREATE DATABASE callcentre")
            where = ["-h", "127.0.0.1", "-p", str(servers.ports[0]), "-U", "callcentre"]
            servers.run("pg_basebackup", *where, "-D", second, "-R", "-X", "stream", "-c", "fast")
            servers.serve(1)
            if is_synchronous:
                connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                connection.execute("SELECT pg_reload_conf()")
        stack.enter_context(_variables(DATABASE_URL=servers.url(0)))
        made = stack.enter_context(machine(linked=True, asterisk=True))
        made.place, servers.made = servers, made
        yield made
