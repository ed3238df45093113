"""Migrations of a service that runs: they wait for no lock for long, hold none for long, and rewrite no table."""

import re
import threading
import time
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.core.management.commands import migrate as of_django
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from callcentre.management.commands import migrate
from tests.test_architecture import LAYERS

# What rewrites a table, reads all of it under a lock, or builds an index while writes wait.
SLOW = re.compile(
    r"ALTER COLUMN \S+ (?:SET DATA )?TYPE|SET NOT NULL|GENERATED|\bSERIAL"
    # A default that is another value for each row; those of one value for all rewrite nothing.
    r"|ADD COLUMN [^;]*DEFAULT \(?(?!STATEMENT_TIMESTAMP|now)\w+\("
    r"|ADD CONSTRAINT (?!.*NOT VALID)|ADD (?:PRIMARY KEY|UNIQUE)"
    r"|CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)|REINDEX (?!.*CONCURRENTLY)|VACUUM FULL|^CLUSTER|LOCK TABLE",
    re.IGNORECASE,
)
TABLE = re.compile(r"(?:ALTER TABLE|CREATE TABLE|\bON) (?:ONLY )?\"?(\w+)", re.IGNORECASE)
# (migration, table) -> why its statement takes no time.
ALLOWED = {
    ("signin.0002_provider", "signin_usersession"): "a row for each open log-in",
    ("telephony.0003_voices", "telephony_pause"): "a dozen rows",
    ("tickets.0010_teams", "tickets_ticketqueue"): "dozens of rows",
}


def slow_statements(migration, statements):
    """Yield the slow statements, and their tables, of tables that the migration has not made itself."""
    made = {TABLE.findall(each)[0] for each in statements if each.startswith("CREATE TABLE")}
    for statement in statements:
        table = TABLE.search(statement)
        if not statement.startswith("--") and SLOW.search(statement) and not (table and table[1] in made):
            yield (f"{migration.app_label}.{migration.name}", table[1] if table else ""), statement


@pytest.mark.trial
@pytest.mark.slow("renders the models of all migrations")
@pytest.mark.django_db(transaction=True)
def test_no_migration_after_the_first_rewrites_a_table_or_holds_a_lock_for_long():
    executor, found = MigrationExecutor(connection), {}
    state: Any = executor._create_project_state()  # type: ignore[attr-defined]
    for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes(), clean_start=True):
        if migration.app_label not in LAYERS or migration.name == "0001_initial":
            state = migration.mutate_state(state, preserve=False)
            continue
        with connection.schema_editor(collect_sql=True, atomic=migration.atomic) as editor:
            state = migration.apply(state, editor, collect_sql=True)
        found.update(slow_statements(migration, editor.collected_sql))

    assert {key: statement for key, statement in found.items() if key not in ALLOWED} == {}
    assert ALLOWED.keys() <= found.keys()


@pytest.mark.parametrize(
    "statement",
    [
        'ALTER TABLE "t" ALTER COLUMN "a" TYPE bigint USING "a"::bigint;',
        'ALTER TABLE "t" ADD COLUMN "a" uuid DEFAULT gen_random_uuid() NOT NULL;',
        'ALTER TABLE "t" ALTER COLUMN "a" SET NOT NULL;',
        'ALTER TABLE "t" ADD CONSTRAINT "c" CHECK ("a" > 0);',
        'CREATE INDEX "i" ON "t" ("a");',
    ],
)
def test_the_check_finds_slow_statements(statement):
    assert SLOW.search(statement)
    assert TABLE.findall(statement)[0] == "t"


@pytest.mark.parametrize(
    "statement",
    [
        'ALTER TABLE "t" ADD COLUMN "a" timestamptz DEFAULT (STATEMENT_TIMESTAMP()) NOT NULL;',
        'ALTER TABLE "t" ADD CONSTRAINT "c" CHECK ("a" > 0) NOT VALID;',
        'ALTER TABLE "t" VALIDATE CONSTRAINT "c";',
        'CREATE INDEX CONCURRENTLY "i" ON "t" ("a");',
    ],
)
def test_the_check_lets_quick_statements_through(statement):
    assert not SLOW.search(statement)


@pytest.mark.usefixtures("committed_db")
def test_migrate_waits_for_no_lock_for_long_but_for_old_transactions_while_it_builds_an_index(monkeypatch):
    monkeypatch.setattr(migrate, "_LIMIT", "SET lock_timeout = '100ms'")

    def run(statement):
        monkeypatch.setattr(of_django.Command, "handle", lambda *args, **options: execute(statement))
        call_command("migrate", skip_checks=True)

    def execute(statement):
        with connection.cursor() as cursor:
            cursor.execute(statement)

    def limit():
        with connection.cursor() as cursor:
            cursor.execute("SHOW lock_timeout")
            return cursor.fetchone()

    before = limit()
    with psycopg.connect(**connection.get_connection_params()) as other:
        # It has a snapshot until its end, and a lock of the table.
        other.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        other.execute("SELECT count(*) FROM callcentre_heartbeat")
        with pytest.raises(CommandError, match="Repeat `migrate`"):
            run("ALTER TABLE callcentre_heartbeat ADD COLUMN more int")
        began = time.monotonic()
        rollback = threading.Timer(0.5, other.rollback)
        rollback.start()
        run("CREATE INDEX CONCURRENTLY more ON callcentre_heartbeat (name)")
        rollback.join()
        assert time.monotonic() - began > 0.4
    execute("DROP INDEX more")
    assert limit() == before
