"""The migrated database of a test run: the first process makes it, and all copy it.

The migrations take some seconds, and a copy takes less than half a second.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connections

from callcentre.environment import VAR, database
from callcentre.launch.embedded import Stores
from callcentre.launch.postgres import programs_for

LOCK = 4_711


@contextmanager
def default_database(url: str) -> Iterator[None]:
    """Make this the default database."""
    usual = connections["default"]
    ours = usual.copy()
    ours.settings_dict = {**usual.settings_dict, **database(url)}
    connections["default"] = ours
    try:
        yield
    finally:
        ours.close()
        connections["default"] = usual


@contextmanager
def migrated_database() -> Iterator[str]:
    """Yield the name of the migrated database. Make it if no other process of the run has.

    The processes copy it one after another: PostgreSQL copies no database that another session uses.
    """
    name = os.environ["MIGRATED_DATABASE"]
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as server:
        server.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        if not server.execute("SELECT FROM pg_database WHERE datname = %s", [name]).fetchall():
            _make(name, server)
        yield name


def _make(name: str, server: psycopg.Connection) -> None:
    """Migrate under another name, so that no process copies a half-made database."""
    draft = f"{name}_draft"
    server.execute(f"DROP DATABASE IF EXISTS {draft}")
    server.execute(f"CREATE DATABASE {draft}")
    with default_database(url_of(draft)):
        call_command("migrate", verbosity=0)
    server.execute(f"ALTER DATABASE {draft} RENAME TO {name}")


def copy_into(stores: Stores) -> None:
    """Copy the migrated database into the empty one of other stores."""
    restore(dump_of_migrated(), stores.environment["DATABASE_URL"])


def restore(dump: bytes, url: str) -> None:
    quietly = ["--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--output=/dev/null"]
    psql: list[Any] = [programs_for(VAR / "postgres" / "data") / "psql", *quietly, url]
    subprocess.run(psql, input=dump, check=True)


def dump_of_migrated() -> bytes:
    with migrated_database() as name:
        command: list[Any] = [programs_for(VAR / "postgres" / "data") / "pg_dump", url_of(name)]
        return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def url_of(name: str) -> str:
    return urlsplit(settings.DATABASE_URL)._replace(path=f"/{name}").geturl()
