"""Migrations outside a transaction can be repeated after an interruption."""

from typing import Any

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from callcentre.core.migration_steps import AddMissingField, AddMissingIndex, RemovePresentIndex

STEPS = (AddMissingField, AddMissingIndex, RemovePresentIndex)


@pytest.fixture
def loader(committed_db: None) -> MigrationLoader:
    return MigrationLoader(connection)


def repeat(loader: MigrationLoader, key: tuple[str, str]) -> None:
    migration = loader.get_migration(*key)
    assert not migration.atomic
    with connection.schema_editor(atomic=False) as editor:
        migration.apply(loader.project_state(migration.dependencies), editor)


def test_each_of_these_migrations_can_be_applied_again(loader: MigrationLoader) -> None:
    keys = [
        key
        for key, migration in loader.disk_migrations.items()
        if any(isinstance(step, STEPS) for step in migration.operations)
    ]

    for key in keys:
        repeat(loader, key)

    assert len(keys) >= 12


def test_each_index_that_is_built_during_writes_can_be_built_again(loader: MigrationLoader) -> None:
    """An interrupted build leaves an index that is not valid, over which Django's own steps stumble."""
    plain = [
        (key, step)
        for key, migration in loader.disk_migrations.items()
        for step in migration.operations
        if (isinstance(step, AddIndexConcurrently | RemoveIndexConcurrently) and not isinstance(step, STEPS))
        or "CONCURRENTLY" in str(getattr(step, "sql", ""))
    ]

    assert plain == []


@pytest.mark.parametrize(
    ("key", "index"),
    [
        (("campaigns", "0018_audit"), "recordchange_at"),
        (("tickets", "0023_indexes_of_timelines"), "chat_in_timeline"),
        (("telephony", "0024_endings_of_numbers"), "connection_ending"),
    ],
)
def test_an_index_whose_build_was_interrupted_is_built_again(
    loader: MigrationLoader, key: tuple[str, str], index: str
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass(%s)", [index])

    repeat(loader, key)

    with connection.cursor() as cursor:
        cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [index])
        found: Any = cursor.fetchone()
    assert found == (True,)
