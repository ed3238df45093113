"""Recovery as docs/operations.md describes it: back-up and restore, a point in time, PostgreSQL's next major version.

The service has the demonstration's data, made with the system's PostgreSQL if there is one.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callcentre.launch.postgres import program_folders
from tests.processes import ROOT

pytestmark = [pytest.mark.slow("makes the demonstration's data and starts stores"), pytest.mark.trial]

OPERATIONS = " ".join((ROOT / "docs" / "operations.md").read_text().split())
FOLDERS = list(program_folders()) or [Path()]
NEW, OLD = FOLDERS[0], FOLDERS[-1]
MAIL = b"From: jan@client.example\nTo: help@callcentre.example\nMessage-ID: <%s@client.example>\nSubject: %s\n\nHello\n"
needs_two = pytest.mark.skipif(NEW == OLD, reason="there is only one PostgreSQL (apt install postgresql)")


def run(command: list[str], var: Path, *, data: bytes = b"", code: int = 0, **variables: Any) -> str:
    """Run a command with the kept stores of this folder, which start and stop around it. Return its output."""
    kept = [sys.executable, "-m", "callcentre.embedded", "exec", "--kept", "--", *command]
    environment = {**os.environ, "CALLCENTRE_VAR": str(var), "ALLOWED_HOSTS": "127.0.0.1", **variables}
    for given in ("DATABASE_URL", "REDIS_URL"):
        environment.pop(given, None)
    done = subprocess.run(kept, cwd=ROOT, env=environment, input=data, capture_output=True, check=False)
    said = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == code, said
    return said


def documented(script: str, var: Path, **variables: Any) -> str:
    """Run a line of the document, with its file in the folder of the data."""
    assert script in OPERATIONS
    return run(["sh", "-c", script.replace("callcentre.dump", f"{var}/callcentre.dump")], var, **variables)


def manage(var: Path, *arguments: str, data: bytes = b"", code: int = 0, **variables: Any) -> str:
    return run([sys.executable, "manage.py", *arguments], var, data=data, code=code, **variables)


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """The data folder of a service of the old PostgreSQL."""
    folder = Path(tempfile.mkdtemp(prefix="callcentre-recovery-"))
    folder.chmod(0o755)
    manage(folder / "var", "migrate", EMBEDDED_POSTGRES_BIN=str(OLD))
    manage(folder / "var", "demo", EMBEDDED_POSTGRES_BIN=str(OLD))
    yield folder / "var"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def var(made: Path) -> Iterator[Path]:
    """A copy of it."""
    copy = made.with_name("copy")
    shutil.copytree(made, copy, symlinks=True, ignore=shutil.ignore_patterns("run"))
    subprocess.run(["cp", "-a", "--no-target-directory", made / "postgres", copy / "postgres"], check=True)
    yield copy
    shutil.rmtree(copy)


def wrong(var: Path, **variables: Any) -> set[str]:
    """Return the accounts that `verify` finds wrong, but that of due work: no worker runs here."""
    said = run(["sh", "-c", f"{sys.executable} manage.py verify --json || true"], var, **variables)
    found = [json.loads(line) for line in said.splitlines() if line.startswith('{"account"')]
    assert len(found) > 10, said
    return {each["account"] for each in found if each["wrong"]} - {"due work"}


def test_a_back_up_is_restored_into_an_empty_service_of_a_newer_postgresql(var):
    """The documented way to PostgreSQL's next major version is that of a back-up."""
    dump = """sh -c 'pg_dump --format=custom --file=callcentre.dump "$DATABASE_URL"'"""
    restore = """sh -c 'pg_restore --no-owner --exit-on-error --dbname="$DATABASE_URL" callcentre.dump'"""
    before = wrong(var, EMBEDDED_POSTGRES_BIN=str(OLD))
    documented(dump, var, EMBEDDED_POSTGRES_BIN=str(OLD))
    (var / "postgres" / "data").rename(var / "postgres" / "data.old")

    documented(restore, var)

    manage(var, "migrate", "--check")
    assert wrong(var) == before
    secret = (
        "from webhooks.models import Webhook as W; print(all(w.secret.startswith('whsec_') for w in W.objects.all()))"
    )
    assert "True" in manage(var, "shell", "-c", secret)


def test_a_table_dropped_at_a_time_is_back_as_of_before(var):
    """A mail that came after the last back-up is there, and `verify` misses a file that was removed after that time."""
    archive = var / "archive"
    archive.mkdir()
    archive.chmod(0o777)
    old: dict[str, Any] = {"EMBEDDED_POSTGRES_BIN": str(OLD)}
    settings = "archive_mode=on 'archive_command=test ! -f /archive/%f && cp %p /archive/%f'"
    base = 'pg_basebackup --checkpoint=fast --dbname="$DATABASE_URL" --pgdata='
    restoring = "recovery_target_action=promote 'restore_command=cp /archive/%f %p'"
    assert settings in OPERATIONS
    assert base in OPERATIONS
    assert restoring in OPERATIONS
    archiving: dict[str, Any] = {**old, "EMBEDDED_POSTGRES_SETTINGS": settings.replace("/archive", str(archive))}
    run(["sh", "-c", f"{base}{var}/base"], var, **archiving)
    manage(var, "receive_mail", data=MAIL % (b"after", b"After the back-up"), **archiving)
    at = run(["sh", "-c", 'psql -Atc "SELECT now()" "$DATABASE_URL"'], var, **archiving).split("\n")[0]
    drop = 'psql -c "DROP TABLE tickets_receivedmail CASCADE" -c "SELECT pg_switch_wal()" "$DATABASE_URL"'
    run(["sh", "-c", drop], var, **archiving)
    removed = max(
        (path for path in (var / "files").rglob("*") if path.is_file()), key=lambda path: path.stat().st_mtime
    )
    content = removed.read_bytes()
    removed.unlink()

    (var / "postgres" / "data").rename(var / "postgres" / "data.lost")
    (var / "base").rename(var / "postgres" / "data")
    (var / "postgres" / "data" / "recovery.signal").touch()
    target = f"'recovery_target_time={at}' {restoring.replace('/archive', str(archive))}"
    recovering: dict[str, Any] = {**old, "EMBEDDED_POSTGRES_SETTINGS": target}
    wait = 'until [ "$(psql -Atc "SELECT pg_is_in_recovery()" "$DATABASE_URL")" = f ]; do sleep 0.2; done'
    run(["sh", "-c", wait], var, **recovering)

    found = run(
        ["sh", "-c", 'psql -Atc "SELECT subject FROM tickets_receivedmail ORDER BY id" "$DATABASE_URL"'], var, **old
    )
    assert "After the back-up" in found
    assert "files of mails" in wrong(var, **old)
    removed.write_bytes(content)
    assert "files of mails" not in wrong(var, **old)


@needs_two
def test_pg_upgrade_keeps_the_data_of_a_postgresql_of_your_own(var):
    before = wrong(var, EMBEDDED_POSTGRES_BIN=str(OLD))
    data = var / "postgres" / "data"
    data.rename(data.with_name("data.old"))
    # An empty cluster of the new version.
    run(["sh", "-c", 'psql -c "DROP DATABASE callcentre" "${DATABASE_URL%/*}/postgres"'], var)
    account: dict[str, Any] = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
    work = var / "work"
    work.mkdir()
    work.chmod(0o777)
    trust = "local all all trust\nhost all all 127.0.0.1/32 trust\n"
    for folder in (data, data.with_name("data.old")):
        (folder / "pg_hba.conf").write_text(trust)
    command: list[Any] = [
        *(NEW / "pg_upgrade", f"--old-bindir={OLD}", f"--new-bindir={NEW}", f"--old-datadir={data}.old"),
        *(f"--new-datadir={data}", "--username=callcentre", f"--socketdir={work}"),
    ]
    subprocess.run(command, cwd=work, check=True, **account)

    assert wrong(var) == before
