"""Operations of migrations."""

from collections.abc import Iterator, Sequence

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import (
    AddConstraint,
    AddField,
    AddIndex,
    AlterField,
    AlterModelOptions,
    CreateModel,
    RemoveConstraint,
)
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

_KINDS = (AddConstraint, AddField, AddIndex, AlterField, AlterModelOptions, CreateModel, RemoveConstraint)


class Together(Operation):
    """Several operations, for which the models are rendered once: Django renders related models anew for each.

    Each sees the models as they are after all of them; so the table of a new model is made with all its columns and
    constraints, and no two operations may alter one column. Raises TypeError for an operation that is none of _KINDS.
    """

    reduces_to_sql = True

    def __init__(self, operations: Sequence[Operation]) -> None:
        if others := [operation for operation in operations if type(operation) not in _KINDS]:
            raise TypeError(f"Together takes no {type(others[0]).__name__}: it stands beside it.")
        self.operations = operations

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        # The next one who needs the models renders them.
        state.__dict__.pop("apps", None)
        for operation in self.operations:
            operation.state_forwards(app_label, state)

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        for operation in self._of_tables():
            operation.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        for operation in reversed(list(self._of_tables())):
            # The condition of a constraint may name a column that is new, too.
            is_constraint = isinstance(operation, AddConstraint)
            operation.database_backwards(
                app_label, schema_editor, from_state, from_state if is_constraint else to_state
            )

    def describe(self) -> str:
        return "; ".join(operation.describe() for operation in self.operations)

    def _of_tables(self) -> Iterator[Operation]:
        """Return the operations without those on a model that another one of them makes."""
        made = {operation.name_lower for operation in self.operations if isinstance(operation, CreateModel)}
        for operation in self.operations:
            if getattr(operation, "model_name", "").lower() not in made:
                yield operation
