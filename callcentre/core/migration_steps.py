"""Steps of migrations outside a transaction, which can be repeated: `migrate` begins an interrupted one again."""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import ProjectState

_IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"


class AddMissingField(migrations.AddField):
    """Adds a column unless the table has it."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        model: Any = to_state.apps.get_model(app_label, self.model_name)
        connection = schema_editor.connection
        with connection.cursor() as cursor:
            there = {
                column.name for column in connection.introspection.get_table_description(cursor, model._meta.db_table)
            }
        if model._meta.get_field(self.name).column not in there:
            super().database_forwards(app_label, schema_editor, from_state, to_state)


class AddMissingIndex(AddIndexConcurrently):
    """Builds an index unless there is one. An interrupted build leaves one that is not valid: it is built again."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(_IS_VALID, [self.index.name])
            found = cursor.fetchone()
        if found == (True,):
            return
        if found:
            schema_editor.execute(f'DROP INDEX CONCURRENTLY "{self.index.name}"')
        super().database_forwards(app_label, schema_editor, from_state, to_state)


class RemovePresentIndex(RemoveIndexConcurrently):
    """Removes an index if there is one. An interrupted removal leaves one that is not valid: it is removed too."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        schema_editor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{self.name}"')
