"""`make run`: first with small programs in place of the service's, at the end with the real ones."""

import base64
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from callcentre.core.errors import ErrorCode
from callcentre.launch.servers import StoreError
from callcentre.launch.supervisor import RESTART_DELAYS_SECONDS, chosen_port, kept_secrets, programs
from tests.callcentre.launching import assert_all_gone, processes_of
from tests.processes import ROOT, wait_until
from tests.serving import WebServer, free_port

LAUNCHER = """
import os, sys
from pathlib import Path
from callcentre.launch import supervisor
from callcentre.launch.embedded import Stores, end_on_signals
# A process that ends within the test's time did not use up this time.
supervisor.PATIENCE_SECONDS = 1000
end_on_signals()
with Stores(Path(sys.argv[1])) as stores:
    programs = {}
    for name, code in zip(sys.argv[2::2], sys.argv[3::2]):
        file = stores.var / f"{name}.py"
        file.write_text(code)
        programs[name] = [str(file)]
    supervisor.supervise(stores, programs, os.environ)
"""
# Its stores wait for the file `written`, or for the request to stop.
REVIVER = """
import os, sys, time
from pathlib import Path
from callcentre.launch.embedded import Stores, end_on_signals
from callcentre.launch.supervisor import supervise
end_on_signals()
class SlowStores(Stores):
    def revive(self):
        print("reviving", flush=True)
        while not (self.var / "written").exists():
            time.sleep(0.02)
        (self.var / "written").unlink()
        return ["PostgreSQL"]
with SlowStores(Path(sys.argv[1])) as stores:
    file = stores.var / "web.py"
    file.write_text(sys.argv[2])
    supervise(stores, {"web": [str(file)]}, os.environ)
"""
SLEEPER = "import time; print('up', flush=True); time.sleep(1000)"
# A request to stop may arrive while it prints, when it cannot print again.
POLITE = """
import os, signal, sys, time
def leave(number, frame):
    os.write(1, b'leaving\\n')
    sys.exit()
signal.signal(signal.SIGTERM, leave)
print('up', flush=True)
time.sleep(1000)
"""
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{SLEEPER}"
PARENT = f"import subprocess; subprocess.Popen(['sleep', '1000'])\n{SLEEPER}"


PIPE_BYTES = 65_536
ELSEWHERE = {"DATABASE_URL": "postgresql://elsewhere/1", "REDIS_URL": "redis://elsewhere/1"}


class Launch:
    """Start a supervisor in a process of its own, with its output in a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "output"

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env=os.environ | {"LAUNCHED_IN": str(self.folder)} | environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self.process

    def run(self, **codes: str) -> subprocess.Popen[bytes]:
        """Supervise programs, given as Python code, beside stores that run elsewhere."""
        pairs = [word for pair in codes.items() for word in pair]
        return self.start("-c", LAUNCHER, str(self.folder / "var"), *pairs, **ELSEWHERE)

    def run_reviver(self, code: str, **environment: str) -> subprocess.Popen[bytes]:
        return self.start("-c", REVIVER, str(self.folder / "var"), code, **(ELSEWHERE | environment))

    def said(self, *lines: str) -> bool:
        return wait_until(lambda: all(line in self.log.read_text() for line in lines), 250)


@pytest.fixture
def launch(tmp_path):
    launch = Launch(tmp_path)
    yield launch
    launch.process.kill()
    launch.process.wait()
    assert_all_gone(tmp_path)


def test_lines_have_the_name_of_their_process_and_a_crashed_one_restarts(launch):
    # While a process is away, no record is dialled and no call is answered.
    assert max(RESTART_DELAYS_SECONDS) <= 5
    launch.run(one="print('up'); exit(3)", two=SLEEPER)

    assert launch.said(
        "one       | ended with 3; starts again in 1 s\n",
        "one       | ended with 3; starts again in 2 s\n",
        "two       | up\n",
    )
    assert launch.log.read_text().count("one       | up\n") == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_all_with_their_children_and_prints_their_last_lines(launch, number):
    process = launch.run(one=POLITE, two=POLITE, three=PARENT)
    assert launch.said("one       | up\n", "two       | up\n", "three     | up\n")

    process.send_signal(number)

    assert process.wait(60) == 0
    assert launch.said("one       | leaving\n", "two       | leaving\n")
    assert processes_of(launch.folder) == {}


def test_children_can_log_while_a_store_restarts(launch):
    written = launch.folder / "var" / "written"
    lines = f"print('x' * 1000 + '\\n' * 1000 + 'all', flush=True); open({str(written)!r}, 'w')"

    launch.run_reviver(f"for _ in range(100): print('x' * 10_000, flush=True)\n{lines}\n{SLEEPER}")

    assert launch.said("reviving", "web       | all", "PostgreSQL had ended and was started again")


def test_requests_are_answered_while_a_store_restarts(launch):
    port = free_port()
    web = programs(port)["web"]
    process = launch.run_reviver(
        f"import os, sys; os.execv(sys.executable, [sys.executable, *{web!r}])",
        DATABASE_URL="postgresql://user:password@127.0.0.1:1/stopped",
        REDIS_URL="redis://127.0.0.1:1/0",
        ALLOWED_HOSTS="127.0.0.1",
        CALLCENTRE_VAR=str(launch.folder / "var"),
    )
    assert launch.said("reviving", "Started worker-1")
    server = WebServer(port, process)
    server.wait()

    # Their log lines are more than a pipe holds.
    answers = [server.request("GET", "/api/outbounds", auth="user:password") for _ in range(40)]

    # No program has waited for the store, which starts only now.
    assert "was started again" not in launch.log.read_text()
    (launch.folder / "var" / "written").touch()
    assert launch.said("PostgreSQL had ended and was started again")
    codes = [(answer.status, error["code"]) for answer in answers for error in answer.json()["errors"]]
    assert codes == [(503, ErrorCode.UNAVAILABLE.number)] * 40
    logged = [line for line in launch.log.read_text().splitlines() if '"event":"the database does not answer"' in line]
    assert len(logged) == 40
    assert sum(map(len, logged)) > 2 * PIPE_BYTES


def test_a_signal_is_handled_while_a_store_restarts(launch):
    process = launch.run_reviver(SLEEPER)
    assert launch.said("reviving", "web       | up")

    process.send_signal(signal.SIGTERM)

    assert process.wait(100) == 0


def test_a_second_signal_kills_processes_that_ignore_the_first(launch):
    process = launch.run(one=STUBBORN)
    assert launch.said("one       | up\n")

    process.send_signal(signal.SIGINT)
    assert launch.said("Ctrl-C again ends them now")
    process.send_signal(signal.SIGINT)

    assert process.wait(60) == 0


def test_a_killed_supervisor_leaves_no_children(launch):
    process = launch.run(one=STUBBORN, two=SLEEPER)
    assert launch.said("one       | up\n", "two       | up\n")

    process.kill()
    process.wait()

    assert_all_gone(launch.folder)


def test_a_taken_port_is_a_sentence_before_anything_starts(launch):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])

        process = launch.start("-m", "callcentre.supervisor", PORT=port, CALLCENTRE_VAR=str(launch.folder / "var"))

        assert process.wait(60) == 1
        assert launch.log.read_text() == (
            f"Port {port} of 127.0.0.1 is taken: choose another one, as in `PORT=8001 make run`.\n"
        )
        assert not (launch.folder / "var").exists()


@pytest.mark.parametrize("port", ["http", "0", "65536", "-1"])
def test_a_port_that_is_none_is_a_sentence(monkeypatch, port):
    monkeypatch.setenv("PORT", port)

    with pytest.raises(StoreError, match=f"PORT is '{port}', which is no port number"):
        chosen_port()


def test_secrets_are_kept_for_their_owner_and_given_ones_win(tmp_path, monkeypatch):
    for name in ("SECRET_KEY", "FIELD_ENCRYPTION_KEYS"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)
    first = kept_secrets(tmp_path)
    monkeypatch.setenv("SECRET_KEY", "given")
    second = kept_secrets(tmp_path)
    monkeypatch.delenv("SECRET_KEY")

    assert second == first | {"SECRET_KEY": "given"}
    assert kept_secrets(tmp_path) == first
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def open_to_others(var: Path) -> dict[str, str]:
    """Yield path and mode of files that others than the owner may use. The stores keep their data private."""
    of_stores = {var / "postgres" / "data", var / "valkey" / "data"}
    found = {}
    for folder, folders, files in os.walk(var):
        folders[:] = [name for name in folders if Path(folder, name) not in of_stores]
        for path in (Path(folder, name) for name in [*folders, *files]):
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & 0o077:
                found[str(path.relative_to(var))] = oct(mode)
    return found


def first_report(port: int) -> list[dict[str, Any]]:
    """Ask for the agents work report until the service answers at all."""
    today = timezone.localdate()
    agents = "".join(f"&agent_logins[]=agent{number}" for number in range(1, 6))
    query = f"date_from={today - timedelta(days=40)}&date_to={today}&aggregate_by=month{agents}"
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/agents_work_report?{query}")
    request.add_header("Authorization", f"Basic {base64.b64encode(b'demo:secret').decode()}")
    while True:
        try:
            with urllib.request.urlopen(request) as answer:
                return list(json.load(answer))
        except urllib.error.HTTPError:
            raise
        except OSError:
            time.sleep(0.01)


def test_the_service_answers_keeps_its_files_to_itself_and_stops_in_good_order(launch):
    """Then it starts again with its data. A killed launcher leaves no process of it."""
    port = free_port()
    own = {"DATABASE_URL": "", "REDIS_URL": "", "PORT": str(port), "CALLCENTRE_VAR": str(launch.folder / "var")}
    process = launch.start("-m", "callcentre.supervisor", **own, DEMO_API_PASSWORD="secret")
    report = first_report(port)
    assert launch.said(f"The service is at http://localhost:{port}\n", "Admin user: admin", "worker@")

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready") as answer:
        status = answer.status
    seen = open_to_others(launch.folder / "var")
    process.send_signal(signal.SIGINT)

    assert (status, process.wait(100)) == (200, 0)
    # The demonstration closes 86 chats.
    assert sum(row["chat"]["closed"] for row in report) == 86
    passed_through = {"postgres": "0o711", "valkey": "0o711"}
    assert {name: mode for name, mode in seen.items() if name.split("/")[0] != "static"} == passed_through
    assert set((launch.folder / "var" / "files" / "recordings").rglob("*.wav"))
    log = launch.log.read_text()
    assert "starts again" not in log
    assert [line for line in log.splitlines() if line.startswith("web ") and '"level":"info"' not in line] == []
    assert processes_of(launch.folder) == {}

    again = launch.start("-m", "callcentre.supervisor", **own)
    assert launch.said("The service is at ", "worker@", "beat leads", "leading")
    running = " ".join(processes_of(launch.folder).values())
    assert all(
        word in running for word in ("granian", "worker", "listen_to", "run_dialer", "beat", "postgres", "valkey")
    )
    again.kill()
    again.wait()
    assert_all_gone(launch.folder)
