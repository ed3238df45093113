"""Migrations outside a transaction can be repeated after an interruption."""

from typing import Any

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from callcentre.core.migration_steps import AddMissingField, AddMissingIndex

_INDEX = "recordchange_at"
_IS_VALID = f"SELECT indisvalid FROM pg_index WHERE indexrelid = '{_INDEX}'::regclass"
_SPOIL = f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{_INDEX}'::regclass"


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
        if any(isinstance(step, AddMissingField | AddMissingIndex) for step in migration.operations)
    ]

    for key in keys:
        repeat(loader, key)

    assert len(keys) >= 7


def test_an_index_whose_build_was_interrupted_is_built_again(loader: MigrationLoader) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_SPOIL)

    repeat(loader, ("campaigns", "0018_audit"))

    with connection.cursor() as cursor:
        cursor.execute(_IS_VALID)
        found: Any = cursor.fetchone()
    assert found == (True,)
