import pytest
from django.db import connection, migrations, models, transaction
from django.db.migrations.state import ProjectState

from callcentre.core.schema_operations import Together

FIRST = models.Q(is_first=True)
BEFORE = [
    migrations.CreateModel("Shelf", [("id", models.BigAutoField(primary_key=True)), ("name", models.TextField())]),
]
CHANGES = [
    migrations.CreateModel("Book", [("id", models.BigAutoField(primary_key=True)), ("title", models.TextField())]),
    migrations.AddField("Book", "shelf", models.ForeignKey("library.Shelf", models.CASCADE)),
    migrations.AddField("Book", "pages", models.IntegerField()),
    migrations.AddConstraint("Book", models.UniqueConstraint(fields=["title", "shelf"], name="book_is_unique")),
    migrations.AddField("Shelf", "newest", models.ForeignKey("library.Book", models.SET_NULL, null=True)),
    migrations.AlterField("Shelf", "name", models.CharField(max_length=20)),
    migrations.AddIndex("Shelf", models.Index(fields=["name"], name="shelf_name")),
    migrations.AddField("Shelf", "is_first", models.BooleanField(default=False, db_default=False)),
    migrations.AddConstraint("Shelf", models.UniqueConstraint("is_first", condition=FIRST, name="shelf_one_first")),
]


def migration(operations):
    return type("Migration", (migrations.Migration,), {"operations": operations})("0001", "library")


def tables():
    """Return the columns and constraints of the tables; names of generated constraints end with a hash."""
    with connection.cursor() as cursor:
        columns = (
            "SELECT table_name, ordinal_position, column_name, data_type, character_maximum_length, is_nullable,"
            " column_default FROM information_schema.columns WHERE table_name LIKE 'library_%' ORDER BY 1, 2"
        )
        rows = list(cursor.execute(columns))
        constraints = (
            "SELECT conrelid::regclass::text, pg_get_constraintdef(oid), condeferrable FROM pg_constraint"
            " WHERE conrelid::regclass::text LIKE 'library_%' ORDER BY 1, 2"
        )
        rows += list(cursor.execute(constraints))
        rows += list(cursor.execute("SELECT indexdef FROM pg_indexes WHERE tablename LIKE 'library_%' ORDER BY 1"))
    return rows


def apply(operations, state):
    with connection.schema_editor() as editor:
        return migration(operations).apply(state, editor)


def test_operations_together_leave_what_they_leave_one_by_one(db):
    found = []
    for operations in (CHANGES, [Together(CHANGES)]):
        with transaction.atomic():
            state = apply(operations, apply(BEFORE, ProjectState()))
            found.append((tables(), set(state.models)))
            transaction.set_rollback(True)

    assert found[0] == found[1]
    assert "UNIQUE (title, shelf_id)" in str(found[0])


def test_operations_together_are_taken_back(db):
    state = apply(BEFORE, ProjectState())
    before = tables()
    apply([Together(CHANGES)], state.clone())

    with connection.schema_editor() as editor:
        migration([Together(CHANGES)]).unapply(state, editor)

    assert tables() == before


def test_an_operation_on_rows_is_refused():
    with pytest.raises(TypeError, match="RunSQL"):
        Together([*CHANGES, migrations.RunSQL("SELECT 1")])
