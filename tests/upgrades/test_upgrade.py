"""Upgrades of databases with the demonstration's data: of 0.1.0, the last one before 1.0.0, and all releases since.

`.ci/release-dump` makes the dump of a release.
"""

import lzma
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings

from callcentre.environment import VAR
from callcentre.launch.postgres import programs_for
from tests.migrated import migrated_database, restore, url_of
from tests.processes import ROOT

pytestmark = [pytest.mark.slow("restores a dump and migrates it"), pytest.mark.django_db]

DUMP = Path(__file__).with_name("0.1.0.sql.xz")
RELEASES = sorted(Path(__file__).parent.glob("[1-9]*.sql.xz"))
# Sums that are made anew from their ledgers.
MADE_ANEW = {"reports_rollup", "reports_stalerollup"}
# Tickets whose level has other minutes or hours than their queue had, and the number of levels.
OTHER_TARGETS = """
WITH hours AS (
  SELECT calendar_id AS id, array_agg((weekday, opens_at, closes_at)::text ORDER BY weekday, opens_at) AS hours
  FROM tickets_calendarhours GROUP BY 1
), former AS (
  SELECT queue_id AS id, array_agg((weekday, opens_at, closes_at)::text ORDER BY weekday, opens_at) AS hours
  FROM tickets_ticketqueuehours GROUP BY 1
)
SELECT count(*), (SELECT count(*) FROM tickets_servicelevel) FROM tickets_ticket t
JOIN tickets_ticketqueue q ON q.id = t.queue_id LEFT JOIN former ON former.id = q.id
LEFT JOIN tickets_servicelevel l ON l.id = t.service_level_id LEFT JOIN hours ON hours.id = l.calendar_id
WHERE l.id IS NULL OR former.hours IS DISTINCT FROM hours.hours
  OR (q.first_response_minutes, q.first_response_minutes, q.resolution_minutes)
    IS DISTINCT FROM (l.first_response_minutes, l.next_response_minutes, l.resolution_minutes)
  OR (t.first_agent_responded_at IS NULL) <> (t.first_response_met IS NULL)
  OR (t.closed_at IS NULL) <> (t.resolution_met IS NULL)
"""
PROBE = "import django; django.setup(); from callcentre.monitoring.health import check_migrations as c; c()"
REFUSAL = "The database is older than 0.1.0, the last version before 1.0.0 (apps: {}): install 0.1.0, run its `migrate`"

# Table, column and type of each column; whether a row may leave it out, and whether it may be NULL.
COLUMNS = """
SELECT table_name, column_name, udt_name,
  is_nullable = 'YES' OR column_default IS NOT NULL OR is_identity = 'YES' OR is_generated = 'ALWAYS',
  is_nullable = 'YES'
FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
"""


@contextmanager
def copy_of(template: str) -> Iterator[str]:
    """Yield the name of a copy of a database."""
    name = f"upgrade_{uuid4().hex}"
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield name
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def dump() -> Iterator[str]:
    """The name of the database of 0.1.0, which no test changes."""
    with copy_of("template0") as name:
        restore(lzma.decompress(DUMP.read_bytes()), url_of(name))
        yield name


@pytest.fixture
def old(dump: str) -> Iterator[str]:
    with copy_of(dump) as name:
        yield name


def run(database: str, *arguments: str) -> tuple[int, str]:
    """Run Python on a database. Return the exit code and the output."""
    environment = {
        **os.environ,
        "DATABASE_URL": url_of(database),
        "ALLOWED_HOSTS": "localhost",
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def execute(database: str, sql: str) -> list[Any]:
    with psycopg.connect(url_of(database)) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def rows(database: str, columns: list[Any]) -> dict[str, Counter[Any]]:
    """Return the rows of each table, as they are in these columns."""
    of_each: dict[str, list[str]] = defaultdict(list)
    for table, column, *_ in columns:
        of_each[table].append(f'"{column}"')
    return {
        table: Counter(execute(database, f"SELECT t::text FROM (SELECT {', '.join(names)} FROM {table}) t"))
        for table, names in of_each.items()
        if table not in MADE_ANEW
    }


def schema(database: str) -> list[str]:
    """Return the schema, once restored: PostgreSQL writes a condition differently after it has read its own text."""
    with copy_of("template0") as restored:
        restore("\n".join(content(database, "--schema-only")).encode(), url_of(restored))
        return content(restored, "--schema-only")


def content(database: str, *options: str) -> list[str]:
    command: list[Any] = [programs_for(VAR / "postgres" / "data") / "pg_dump", "--no-owner", *options, url_of(database)]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    # The keys of these commands differ in each dump.
    return [line for line in lines if not line.startswith(("\\restrict ", "\\unrestrict "))]


def recorded(database: str) -> list[Any]:
    return execute(database, "SELECT app, name FROM django_migrations ORDER BY app, name")


@pytest.mark.parametrize(
    "release",
    [pytest.param(DUMP, id="0.1.0", marks=pytest.mark.trial), *(pytest.param(path, id=path.name) for path in RELEASES)],
)
def test_an_upgrade_changes_no_row_and_leads_to_the_tables_of_a_new_database(release: Path) -> None:
    with copy_of("template0") as name:
        restore(lzma.decompress(release.read_bytes()), url_of(name))
        columns = execute(name, COLUMNS)
        before = rows(name, columns)
        code, output = run(name, "manage.py", "migrate")
        assert code == 0, output
        after = rows(name, columns)
        # New rows are right, changed ones are not.
        assert {table: changed for table in before if (changed := before[table] - after[table])} == {}
        assert execute(name, OTHER_TARGETS) == [(0, 2)]
        if release != DUMP:
            assert_old_code_runs(columns, execute(name, COLUMNS))
        with migrated_database() as new:
            assert schema(name) == schema(new)
            assert recorded(name) == recorded(new)


def assert_old_code_runs(before: list[Any], after: list[Any]) -> None:
    """Code of the release reads its columns, writes NULL where it could, and leaves out those it does not know."""
    old, new = ({row[:2]: row[2:] for row in rows} for rows in (before, after))
    tables = {table for table, _ in old}
    broken = [key for key in old if key not in new or new[key][0] != old[key][0] or old[key][2] > new[key][2]]
    needed = [key for key in new.keys() - old.keys() if key[0] in tables and not new[key][1]]
    assert (broken, needed) == ([], [])


@pytest.mark.walk("campaigns-name < '0028'")
@pytest.mark.parametrize(
    ("app", "kept"),
    [
        ("campaigns", "name < '0028'"),
        ("tickets", "name < '0002'"),
        ("knowledgebase", "name < '0003'"),
        ("lists", "name <> '0003_address_and_unchanged_rows'"),
    ],
)
def test_a_database_with_a_part_of_the_former_migrations_is_refused(old: str, app: str, kept: str) -> None:
    execute(old, f"DELETE FROM django_migrations WHERE app = '{app}' AND NOT {kept}")
    before = recorded(old)

    code, output = run(old, "manage.py", "migrate")

    assert (code, REFUSAL.format(app) in output, "Traceback" in output) == (1, True, False), output
    assert recorded(old) == before


@pytest.mark.trial
def test_the_service_does_not_start_on_such_a_database(old: str) -> None:
    execute(old, "DELETE FROM django_migrations WHERE app = 'tickets' AND name > '0031'")

    code, output = run(old, "-m", "callcentre.supervisor")

    assert code != 0
    assert REFUSAL.format("tickets") in output
    assert "Traceback" not in output


def test_the_probe_names_a_migration_of_which_a_part_is_applied(old: str) -> None:
    execute(old, "DELETE FROM django_migrations WHERE app = 'tickets' AND name > '0031'")

    code, output = run(old, "-c", PROBE)

    assert (code, "tickets.0001_initial" in output) == (1, True)
