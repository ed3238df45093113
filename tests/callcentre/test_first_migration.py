"""The launcher migrates a new database faster than Django does, and makes the same tables."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.conf import settings

from callcentre.environment import VAR
from callcentre.launch.postgres import programs_for
from tests.migrated import migrated_database, url_of
from tests.processes import ROOT

pytestmark = pytest.mark.slow("migrates from nothing")

MIGRATE = "import django; django.setup(); from callcentre.launch.service import migrate; migrate()"


@pytest.fixture
def empty_database() -> Iterator[str]:
    name = f"first_{os.getpid()}"
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield name
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def schema(name: str) -> list[str]:
    command: list[Any] = [programs_for(VAR / "postgres" / "data") / "pg_dump", "--schema-only", url_of(name)]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    # The keys of these commands differ in each dump.
    return [line for line in lines if not line.startswith(("\\restrict ", "\\unrestrict "))]


@pytest.mark.django_db
def test_the_launcher_makes_the_tables_that_django_makes(empty_database: str) -> None:
    variables = {**os.environ, "DATABASE_URL": url_of(empty_database), "PYTHONWARNINGS": "ignore"}
    subprocess.run([sys.executable, "-c", MIGRATE], env=variables, cwd=ROOT, check=True)

    with migrated_database() as migrated:
        assert schema(empty_database) == schema(migrated)
