"""Real embedded stores: every test starts servers of its own, and looks for leftovers."""

import json
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from callcentre.launch import postgres
from callcentre.launch.embedded import TEMPORARY, Stores, read_environment, temporary_stores
from tests.callcentre.launching import assert_all_gone, processes_of
from tests.processes import ROOT, wait_until

IS_ROOT = os.geteuid() == 0
NOBODY = pwd.getpwnam("nobody")
pytestmark = [pytest.mark.usefixtures("no_stores_given"), pytest.mark.slow("starts stores")]
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root can become another user or mount")


@pytest.fixture
def open_folder():
    """A folder that every account may pass through; pytest's own folders are closed."""
    folder = Path(tempfile.mkdtemp(prefix="callcentre-test-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def query(stores: Stores, statement: str) -> object:
    with psycopg.connect(stores.environment["DATABASE_URL"], autocommit=True) as connection:
        cursor = connection.execute(statement)
        row = cursor.fetchone() if cursor.description else None
    return row and row[0]


def execute(folder: Path, *command: str) -> subprocess.Popen[str]:
    """Start `embedded exec` with its temporary folder inside this one."""
    return subprocess.Popen(
        [sys.executable, "-m", "callcentre.embedded", "exec", "--", *command],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_command(folder: Path) -> None:
    """Wait until the stores run and the command, a `sleep`, has started."""
    assert wait_until(lambda: any(c.startswith("sleep ") for c in processes_of(folder).values()))


def test_durable_stores_wait_for_the_disk_and_keep_data_and_ports_over_a_crash_and_a_restart(tmp_path):
    with Stores(tmp_path / "var") as stores:
        valkey = redis.Redis.from_url(stores.environment["REDIS_URL"], decode_responses=True)
        names = ("fsync", "synchronous_commit", "full_page_writes", "shared_preload_libraries")
        assert [query(stores, f"SHOW {name}") for name in names] == ["on", "on", "on", "pg_stat_statements"]
        policy = {"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction"}
        assert valkey.config_get(*policy) == policy
        query(stores, "CREATE TABLE kept AS SELECT 42 AS answer")
        valkey.set("kept", "42")
        first = stores.environment
        pid_file = stores.var / "postgres" / "data" / "postmaster.pid"
        os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)
        assert wait_until(lambda: stores.revive() == ["PostgreSQL"])
        assert query(stores, "SELECT answer FROM kept") == 42

    with Stores(tmp_path / "var") as stores:
        valkey = redis.Redis.from_url(stores.environment["REDIS_URL"])
        kept = query(stores, "SELECT answer FROM kept"), valkey.get("kept")
        assert (*kept, stores.environment) == (42, b"42", first)


def test_strangers_cannot_read_the_addresses_of_running_stores_nor_log_in():
    with temporary_stores() as stores:
        stores.publish({"SECRET_KEY": "x"})
        running, var = read_environment(stores.var), stores.var
        mode = stat.S_IMODE((var / "run" / "stores.json").stat().st_mode)
        password = urlsplit(stores.environment["DATABASE_URL"]).password or ""

        assert mode == 0o600
        assert running == {**stores.environment, "SECRET_KEY": "x"}
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(stores.environment["DATABASE_URL"].replace(password, "guess"))
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(port=urlsplit(stores.environment["REDIS_URL"]).port or 0, retry=Retry(NoBackoff(), 0)).ping()

    assert read_environment(var) == {}


def test_the_file_of_a_killed_launcher_is_ignored(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "lock").write_text("1")
    (tmp_path / "run" / "stores.json").write_text(json.dumps({"DATABASE_URL": "x", "REDIS_URL": "y"}))

    assert read_environment(tmp_path) == {}


@pytest.mark.trial
@pytest.mark.parametrize(("given", "left"), [("DATABASE_URL", "valkey"), ("REDIS_URL", "postgres")])
def test_a_given_url_replaces_its_store(tmp_path, monkeypatch, given, left):
    monkeypatch.setenv(given, "elsewhere://host/1")

    with Stores(tmp_path / "var", durable=False) as stores:
        started = {"postgres", "valkey"} & {path.name for path in stores.var.iterdir()}

        assert (started, stores.environment[given]) == ({left}, "elsewhere://host/1")


@pytest.mark.trial
def test_a_taken_port_is_replaced(tmp_path):
    var = tmp_path / "var"
    (var / "run").mkdir(parents=True)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        for name in ("postgres", "valkey"):
            (var / "run" / f"{name}.port").write_text(str(taken))

        with Stores(var, durable=False) as stores:
            ports = [int((var / "run" / f"{name}.port").read_text()) for name in ("postgres", "valkey")]

            assert query(stores, "SELECT 1") == 1
            assert taken not in ports
            assert all(1024 < port < 32768 for port in ports)


@pytest.mark.trial
def test_two_checkouts_run_side_by_side(tmp_path):
    with (
        Stores(tmp_path / "one", durable=False) as one,
        Stores(tmp_path / "two", durable=False) as two,
    ):
        answers = [query(stores, "SELECT 1") for stores in (one, two)]

        assert (answers, one.environment["DATABASE_URL"] != two.environment["DATABASE_URL"]) == ([1, 1], True)


@pytest.mark.trial
def test_a_lock_file_with_the_number_of_another_process_does_not_stop_the_start(tmp_path):
    var = tmp_path / "var"
    with Stores(var, durable=False):
        pass
    lock = var / "postgres" / "data" / "postmaster.pid"
    lock.write_text(f"{os.getppid()}\n{lock.parent}\n1\n15000\n\n127.0.0.1\n 1 1\nready\n")

    with Stores(var, durable=False) as stores:
        assert query(stores, "SELECT 1") == 1


@pytest.mark.trial
def test_the_systems_postgresql_is_used_without_the_wheel(tmp_path, monkeypatch):
    monkeypatch.setattr(postgres, "wheel_folder", lambda _package: None)
    if not list(postgres.program_folders()):
        pytest.skip("this system has no PostgreSQL of its own")

    with Stores(tmp_path / "var", durable=False) as stores:
        query(stores, "CREATE EXTENSION pg_trgm; CREATE EXTENSION unaccent")

        assert query(stores, "SHOW server_encoding") == "UTF8"


@pytest.mark.walk("448")
@needs_root
@pytest.mark.parametrize("mode", [0o711, 0o700])
def test_root_runs_the_stores_unprivileged_wherever_the_folder_is(open_folder, mode):
    home = open_folder / "home"
    home.mkdir(mode=mode)

    with Stores(home / "var", durable=False) as stores:
        data = stores.var / "postgres" / "data"
        answer = query(stores, "SELECT 1")

    # Behind a closed folder the stores keep the owner's number, but in a user namespace of their own.
    owner = NOBODY.pw_uid if mode == 0o711 else 0
    assert (answer, data.stat().st_uid) == (1, owner)
    assert stat.S_IMODE(home.stat().st_mode) == mode


@pytest.mark.trial
@needs_root
def test_stores_move_between_open_and_closed_folders(open_folder):
    home = open_folder / "home"
    home.mkdir(mode=0o711)
    with Stores(home / "var", durable=False) as stores:
        query(stores, "CREATE TABLE kept AS SELECT 42 AS answer")
    home.chmod(0o700)

    with Stores(home / "var", durable=False) as stores:
        assert query(stores, "SELECT answer FROM kept") == 42


@pytest.mark.trial
@needs_root
def test_an_ordinary_user_runs_the_stores_in_a_closed_home(open_folder):
    python = next((path for path in (sys.executable, "/usr/bin/python3.11") if _others_may_run(path)), None)
    if python is None:
        pytest.skip("no Python 3.11 here that an ordinary user may run")
    home = open_folder / "home"
    home.mkdir(mode=0o700)
    os.chown(home, NOBODY.pw_uid, NOBODY.pw_gid)
    code = (
        "import os, psycopg; from pathlib import Path; from callcentre.launch.embedded import Stores\n"
        "with Stores(Path('var')) as stores:\n"
        "    psycopg.connect(stores.environment['DATABASE_URL']); print(os.geteuid())"
    )

    finished = subprocess.run(
        [python, "-c", code],
        cwd=home,
        user=NOBODY.pw_uid,
        group=NOBODY.pw_gid,
        extra_groups=[],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:{sysconfig.get_path('purelib')}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (finished.stdout, finished.stderr) == (f"{NOBODY.pw_uid}\n", "")


def _others_may_run(program: str) -> bool:
    path = Path(program).resolve()
    return path.exists() and all(parent.stat().st_mode & 0o001 for parent in [path, *path.parents])


def test_exec_gives_the_command_stores_and_returns_its_code(tmp_path):
    process = execute(tmp_path, "sh", "-c", 'echo "$DATABASE_URL $REDIS_URL"; exit 7')
    output, errors = process.communicate()

    assert (process.returncode, errors, output.split("://")[0]) == (7, "", "postgresql")
    assert (list(tmp_path.iterdir()), processes_of(tmp_path)) == ([], {})


@pytest.mark.walk("True")
@pytest.mark.parametrize("is_running", [True, False])
def test_exec_with_the_kept_stores_works_on_their_data(tmp_path, is_running):
    var = tmp_path / "var"
    statement = 'psql -qAt "$DATABASE_URL" -c "SELECT answer FROM kept"'
    command = [sys.executable, "-m", "callcentre.embedded", "exec", "--kept", "--", "sh", "-c", statement]
    environment = os.environ | {"CALLCENTRE_VAR": str(var)}

    with Stores(var, durable=False) as stores:
        query(stores, "CREATE TABLE kept AS SELECT 42 AS answer")
        if is_running:
            output = subprocess.check_output(command, cwd=ROOT, env=environment)
    if not is_running:
        output = subprocess.check_output(command, cwd=ROOT, env=environment)

    assert output == b"42\n"


def test_a_killed_launcher_leaves_no_process(tmp_path):
    process = execute(tmp_path, "sleep", "1000")
    wait_for_command(tmp_path)

    process.kill()
    process.communicate()

    assert_all_gone(tmp_path)


@pytest.mark.trial
def test_the_folder_of_a_killed_launcher_is_deleted_by_the_next_one(tmp_path):
    living = tmp_path / f"{TEMPORARY}living"
    with Stores(living, durable=False):
        (abandoned := tmp_path / f"{TEMPORARY}abandoned" / "run").mkdir(parents=True)
        (abandoned / "lock").write_text("1")
        for folder in (living / "run", abandoned):
            os.utime(folder / "lock", (0, 0))

        process = execute(tmp_path, "true")

        assert process.wait(60) == 0
        assert list(tmp_path.iterdir()) == [living]


@pytest.mark.trial
def test_the_stores_of_a_killed_launcher_hold_its_folder_until_they_have_ended(tmp_path):
    with Stores(tmp_path / "var", durable=False) as stores:
        lock = (stores.var / "run" / "lock").stat()
        server = next(pid for pid, command in processes_of(stores.var).items() if "postgres -D" in command)
        held = [handle.stat() for handle in Path(f"/proc/{server}/fd").iterdir() if handle.exists()]

        assert (lock.st_dev, lock.st_ino) in {(found.st_dev, found.st_ino) for found in held}


@pytest.mark.walk("the shell and all it started")
@pytest.mark.parametrize("killed", ["the shell", "the shell and all it started"])
def test_a_killed_parent_of_the_launcher_leaves_no_process(tmp_path, killed):
    line = f"setpriv --pdeathsig TERM {sys.executable} -m callcentre.embedded exec -- sleep 1000; :"
    shell = subprocess.Popen(
        ["sh", "-c", line],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        start_new_session=True,
    )
    wait_for_command(tmp_path)

    if killed == "the shell":
        shell.kill()
    else:
        os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()

    assert_all_gone(tmp_path)


# Reasons why stores cannot start, each one sentence for the person at the terminal


def failure(var: Path, **environment: str) -> str:
    """Return the sentence of a launcher that cannot start and exits with code 1."""
    code = (
        "import sys; from pathlib import Path\n"
        "from callcentre.launch.embedded import Stores\n"
        "from callcentre.launch.servers import StoreError\n"
        "try: Stores(Path(sys.argv[1])).__enter__()\n"
        "except StoreError as error: sys.exit(str(error))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code, var],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (finished.returncode, finished.stdout) == (1, "")
    return finished.stderr


def test_a_second_launcher_in_one_folder_is_refused_in_a_sentence(tmp_path):
    with Stores(tmp_path / "var", durable=False) as stores:
        errors = failure(tmp_path / "var")

        assert errors == (f"This checkout is running already, as process {os.getpid()}: its data is in {stores.var}.\n")


def test_a_missing_program_is_a_sentence(tmp_path):
    assert failure(tmp_path, EMBEDDED_POSTGRES_BIN="/nowhere").startswith("No PostgreSQL found: ")
    assert failure(tmp_path, EMBEDDED_VALKEY_BIN="/nowhere", DATABASE_URL="postgresql://elsewhere").startswith(
        "No Valkey found: "
    )


def test_data_of_another_major_version_is_a_sentence(tmp_path):
    data = tmp_path / "postgres" / "data"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("9\n")
    (data.parent / "password").write_text("x")

    assert failure(tmp_path).startswith(f"The data in {data} is of PostgreSQL 9, and only ")


def test_a_data_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")

    assert failure(tmp_path / "file" / "var") == (
        f"The data folder {tmp_path}/file/var cannot be used: Not a directory ({tmp_path}/file/var).\n"
    )


@pytest.mark.trial
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
@pytest.mark.parametrize("size", ["64k", "20m"])
def test_a_full_disk_is_a_sentence(tmp_path, size):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("mounting is forbidden here")
    try:
        errors = failure(disk / "var")
    finally:
        subprocess.run(["umount", disk], check=True)

    assert "no space left" in errors.lower()
    assert errors.count("\n") == 1
