"""The triggers and the view of the audit log in the database, made from what the models declare.

They follow the models after each `migrate`, so a new model needs no migration for them. PostgreSQL alters no column
that a view reads, so the view is dropped before migrations and made again after them.
"""

import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from hashlib import sha256
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import BinaryField

from callcentre.core.advisory_locks import try_lock
from callcentre.core.audit import AUDITED, NAMES, SETTING, Audited, AuditEntry, AuditLog, histories, owner_of
from callcentre.core.changes import Change

_PREFIX = "callcentre_audit"
_SHOWN = "(some_row - string_to_array(TG_ARGV[4], ' '))"
_PERSON = f"""CASE WHEN {_SHOWN} ? 'surname' THEN {_SHOWN}->>'login'
  || COALESCE(' (' || NULLIF(btrim(concat({_SHOWN}->>'name', ' ', {_SHOWN}->>'surname')), '') || ')', '') END"""
_NAMES = [_PERSON, *(f"{_SHOWN}->>'{name}'" for name in NAMES)]
# Its arguments are those of `_arguments`. The entry of a new row leaves out what is empty.
FUNCTION = f"""
CREATE OR REPLACE FUNCTION {_PREFIX}() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sender jsonb := COALESCE(NULLIF(current_setting('{SETTING}', true), ''), '{{}}')::jsonb;
  old_row jsonb := CASE WHEN TG_OP = 'INSERT' THEN '{{}}' ELSE to_jsonb(OLD) END;
  new_row jsonb := CASE WHEN TG_OP = 'DELETE' THEN '{{}}' ELSE to_jsonb(NEW) END;
  some_row jsonb := old_row || new_row;
  different jsonb;
BEGIN
  IF (sender->>'is_bulk')::boolean THEN
    RETURN NULL;
  END IF;
  SELECT jsonb_object_agg(name, CASE
    WHEN name = ANY(string_to_array(TG_ARGV[4], ' ')) THEN '[null, "•••"]'::jsonb
    ELSE jsonb_build_array(old_row->name, new_row->name) END)
  INTO different
  FROM jsonb_object_keys(some_row) AS name
  WHERE name <> ALL(string_to_array(TG_ARGV[3], ' ')) AND old_row->name IS DISTINCT FROM new_row->name
    AND NOT (TG_OP <> 'UPDATE' AND some_row->name IN ('null', '""', '"\\\\x"', '[]', '{{}}'));
  IF different IS NULL THEN
    RETURN NULL;
  END IF;
  INSERT INTO callcentre_auditentry
    (at, actor_kind, actor_id, actor_name, actor_address, action, changes, model, object_id, object_name, part)
  VALUES (
    now(), COALESCE(sender->>'kind', 'system'), (sender->>'id')::bigint, COALESCE(sender->>'name', 'system'),
    (sender->>'address')::inet,
    CASE WHEN TG_ARGV[2] <> '' THEN 'edit' WHEN TG_OP = 'INSERT' THEN 'create' WHEN TG_OP = 'DELETE' THEN 'delete'
      ELSE 'edit' END,
    different, TG_ARGV[0], some_row->>TG_ARGV[1],
    CASE WHEN TG_ARGV[2] <> '' THEN '' ELSE left(COALESCE({", ".join(_NAMES)}, ''), 200) END,
    TG_ARGV[2]);
  RETURN NULL;
END $$;
"""  # noqa: S608  (of our own constants)
# Held by one `migrate` from its beginning to its end, so that another one does not make the view meanwhile.
_LOCK = 0x61756474
_PAUSE_SECONDS = 0.2
# The comment of a trigger has its arguments, so that a changed declaration replaces it.
_TRIGGERS = "SELECT tgrelid::regclass::text, obj_description(oid) FROM pg_trigger WHERE tgname = %s"


class _Turn(threading.local):
    """The lock of this thread, which waits for the end of another `migrate`.

    It is of another connection: a statement that waits would have a snapshot, for which the building of an index in the
    other process waits.
    """

    def __init__(self) -> None:
        self._held = ExitStack()
        self._is_ours = False

    def acquire(self) -> None:
        """Wait for the lock unless this thread has it."""
        while not self._is_ours:
            self._is_ours = self._held.enter_context(try_lock(_LOCK))
            if not self._is_ours:
                self._held.close()
                time.sleep(_PAUSE_SECONDS)

    def release(self) -> None:
        self._is_ours = False
        self._held.close()


_turn = _Turn()


def prepare(plan: Sequence[Any], **kwargs: Any) -> None:
    """Drop the view if there are migrations to apply. Its page answers 503 until `install` makes it again."""
    if plan:
        _turn.acquire()
        with connection.cursor() as cursor:
            cursor.execute(f"DROP VIEW IF EXISTS {AuditLog._meta.db_table}")


def install(**kwargs: Any) -> None:
    """Create the missing triggers and the view, and remove those that the models no longer declare."""
    tables = connection.introspection.table_names()
    if AuditEntry._meta.db_table not in tables:
        return
    _turn.acquire()
    try:
        _install(tables)
    finally:
        _turn.release()


def _install(tables: list[str]) -> None:
    wanted = {table: _arguments(each) for table, each in AUDITED.items() if table in tables}
    with transaction.atomic(), connection.cursor() as cursor:
        _install_function(cursor)
        cursor.execute(_TRIGGERS, [_PREFIX])
        found = {table.strip('"'): description for table, description in cursor.fetchall()}
        for table, arguments in wanted.items():
            if found.get(table) != (described := " | ".join(arguments)):
                _replace_trigger(cursor, table, arguments, described)
        for table in found.keys() - wanted.keys():
            cursor.execute(f'DROP TRIGGER {_PREFIX} ON "{table}"')
        _install_view(cursor, tables)


def _arguments(declared: Audited) -> tuple[str, str, str, str, str]:
    """Return the label of the object, the column of its id, the label of the part, ignored columns, secret columns."""
    meta = declared.model._meta
    key: str = meta.pk.column  # type: ignore[assignment]  # each of our models has one
    object_label, part = str(meta.label_lower), ""
    if declared.part_of:
        owner: Any = meta.get_field(declared.part_of)
        object_label, key, part = owner.related_model._meta.label_lower, owner.column, object_label
    ignored = ("id", key, "created_at", "updated_at", *declared.ignored)
    # The content of a file is no text to read.
    files: list[Any] = [field.column for field in meta.concrete_fields if isinstance(field, BinaryField)]
    return object_label, key, part, " ".join(ignored), " ".join([*declared.secret, *files])


def _install_function(cursor: CursorWrapper) -> None:
    cursor.execute("SELECT obj_description(to_regproc(%s))", [_PREFIX])
    if cursor.fetchone() != ((described := _fingerprint(FUNCTION)),):
        cursor.execute(FUNCTION)
        cursor.execute(f"COMMENT ON FUNCTION {_PREFIX}() IS '{described}'")


def _replace_trigger(cursor: CursorWrapper, table: str, arguments: Sequence[str], described: str) -> None:
    given = ", ".join(f"'{argument}'" for argument in arguments)
    cursor.execute(f'DROP TRIGGER IF EXISTS {_PREFIX} ON "{table}"')
    cursor.execute(
        f'CREATE TRIGGER {_PREFIX} AFTER INSERT OR UPDATE OR DELETE ON "{table}" FOR EACH ROW '
        f"EXECUTE FUNCTION {_PREFIX}({given})"
    )
    cursor.execute(f"COMMENT ON TRIGGER {_PREFIX} ON \"{table}\" IS '{described}'")


def _install_view(cursor: CursorWrapper, tables: list[str]) -> None:
    entries = _select(AuditEntry, "model", "object_id", "object_name", "part")
    parts = [entries, *(_part_of(model) for model in histories() if model._meta.db_table in tables)]
    view = " UNION ALL ".join(parts)
    name = AuditLog._meta.db_table
    cursor.execute("SELECT obj_description(to_regclass(%s))", [name])
    if cursor.fetchone() != ((described := _fingerprint(view)),):
        cursor.execute(f"DROP VIEW IF EXISTS {name}")
        cursor.execute(f"CREATE VIEW {name} AS {view}")
        cursor.execute(f"COMMENT ON VIEW {name} IS '{described}'")


def _part_of(history: type[Change]) -> str:
    owner = owner_of(history)
    label = owner.related_model._meta.label_lower
    return _select(
        history, f"'{label}'::varchar(60)", f"{owner.column}::varchar(64)", "''::varchar(200)", "''::varchar(60)"
    )


def _select(model: type[Change], label: str, object_id: str, object_name: str, part: str) -> str:
    source = model._meta.label_lower
    bulk = ", ".join(f"'{action}'" for action in model.bulk_actions)
    left_out = f"WHERE NOT action IN ({bulk})" if bulk else ""
    return f"""
        SELECT ('{source}-' || id)::varchar(80) AS id, '{source}'::varchar(60) AS source, id AS row_id, at, actor_kind,
          actor_id, actor_name, actor_address, action, changes, {label} AS model, {object_id} AS object_id,
          {object_name} AS object_name, {part} AS part
        FROM {model._meta.db_table} {left_out}
    """  # noqa: S608  (of our own names)


def _fingerprint(text: str) -> str:
    return sha256(text.encode()).hexdigest()
