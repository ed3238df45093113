"""`make run`: the time of a first and of a later start, then the memory and processor time of all processes when idle.

python -m benchmarks.launch

A start ends with the first answer of `GET /api/ping` to the demonstration's login, and again when the worker is ready.
Memory is the sum of PSS (/proc/PID/smaps_rollup) of the launcher and its descendants: a
page that several processes share counts once.
"""

import base64
import http.client
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.harness import ROOT, Table
from callcentre.launch.servers import choose_port

PASSWORD = "the-password-of-the-benchmark"
SETTLE_SECONDS, IDLE_SECONDS = 20, 60
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Launched:
    process: subprocess.Popen[bytes]
    ping: float = 0.0
    # The worker is ready. It has as much to import as the others.
    ready: float = 0.0
    # The launcher has printed its address: the demonstration data is complete.
    announced: threading.Event = field(default_factory=threading.Event)


@contextmanager
def launched(var: Path, port: int) -> Iterator[Launched]:
    """Run the launcher in this data folder until everything is ready."""
    environment = {name: value for name, value in os.environ.items() if name not in _GIVEN}
    environment |= {"CALLCENTRE_VAR": str(var), "PORT": str(port), "DEMO_API_PASSWORD": PASSWORD}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "callcentre.supervisor"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    launch = Launched(process)
    reader = threading.Thread(target=_read, args=(launch, started), daemon=True)
    reader.start()
    try:
        while not _answers(port):
            time.sleep(0.02)
        launch.ping = time.perf_counter() - started
        while not launch.ready:
            time.sleep(0.02)
        # A launcher that is stopped before leaves the rest of the demonstration data to the next one.
        launch.announced.wait(300)
        yield launch
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        reader.join()


_GIVEN = ("DATABASE_URL", "REDIS_URL", "PYTHONDONTWRITEBYTECODE", "PROMETHEUS_MULTIPROC_DIR")


def _read(launch: Launched, started: float) -> None:
    """Note when each program says that it is ready."""
    assert launch.process.stdout is not None
    for raw in launch.process.stdout:
        line = raw.decode(errors="replace")
        if "-v" in sys.argv:
            print(f"{time.perf_counter() - started:7.2f} {line.rstrip()[:160]}", file=sys.stderr)
        if "The service is at" in line:
            launch.announced.set()
        if re.match(r"worker .* ready\.", line):
            launch.ready = time.perf_counter() - started


def _answers(port: int) -> bool:
    token = base64.b64encode(f"demo:{PASSWORD}".encode()).decode()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/api/ping", headers={"Authorization": f"Basic {token}"})
        return connection.getresponse().status == 204
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def family(root: int) -> dict[int, str]:
    """Return the process and its descendants, each with its command line."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text(errors="replace")
        except OSError:
            continue
        parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    lines = {}
    for pid in found:
        # It may have ended meanwhile.
        with suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
            lines[pid] = line.replace("\0", " ").strip()
    return lines


def pss(pid: int) -> float:
    """Return megabytes."""
    match = re.search(r"^Pss: +(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(match[1]) / 1024 if match else 0.0


def processor_seconds(pid: int) -> float:
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / TICKS


def main() -> None:
    table = Table("make run")
    table.head()
    with tempfile.TemporaryDirectory(prefix="callcentre-") as folder:
        Path(folder).chmod(0o711)
        var = Path(folder) / "var"
        port = choose_port(Path(folder) / "web.port")
        with launched(var, port) as first:
            table.add_time("first start, to the first answer", first.ping, 15)
            table.add_time("first start, to all ready", first.ready, 15)
        with launched(var, port) as later:
            table.add_time("later start, to the first answer", later.ping, 8)
            table.add_time("later start, to all ready", later.ready, 8)
            time.sleep(SETTLE_SECONDS)
            _idle(table, later.process.pid)


def _idle(table: Table, launcher: int) -> None:
    before = {pid: processor_seconds(pid) for pid in family(launcher)}
    time.sleep(IDLE_SECONDS)
    memory = dict(sorted(((pid, pss(pid)) for pid in family(launcher)), key=lambda pair: -pair[1]))
    shares = {}
    names = family(launcher)
    for pid in names:
        shares[pid] = (processor_seconds(pid) - before.get(pid, 0)) / IDLE_SECONDS * 100
    beat = next(share for pid, share in shares.items() if " beat " in names[pid])
    table.add_amount("memory of all processes when idle", sum(memory.values()), 800, "MB")
    table.add_amount("processor time of beat when idle", beat, 0.5, "% of a core")
    print(f"\n| processes: {len(memory)} | PSS, MB | % of a core |\n|---|---|---|")
    for pid, amount in memory.items():
        print(f"| {names[pid][-60:]} | {amount:.1f} | {shares[pid]:.2f} |")


if __name__ == "__main__":
    main()
