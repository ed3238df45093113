from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.db import connection, models, transaction

from callcentre.core.encryption import EncryptedTextField, decrypt, encrypt
from callcentre.models import IdempotencyRecord

# Rows in one transaction.
PIECE = 500


class Command(BaseCommand):
    help = (
        "Encrypt what is stored encrypted anew, with the first of FIELD_ENCRYPTION_KEYS. Afterwards the others may be"
        " taken away; until then the new key stands first and the old ones behind it. May be repeated."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        for model in apps.get_models():
            columns = [field.attname for field in model._meta.fields if isinstance(field, EncryptedTextField)]
            if model is IdempotencyRecord:
                columns.append("answer")
            if columns:
                self.stdout.write(f"{model._meta.label}: {_rotate(model, columns)} rows")


def _rotate(model: type[models.Model], columns: list[str]) -> int:
    """Return the number of rows. Written by queries, not by verbs, since their values do not change."""
    keys = list(model._default_manager.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), PIECE):
        with transaction.atomic():
            _rotate_piece(model, columns, keys[start : start + PIECE])
    return len(keys)


def _rotate_piece(model: type[models.Model], columns: list[str], keys: list[Any]) -> None:
    table = connection.ops.quote_name(model._meta.db_table)
    names = [connection.ops.quote_name(column) for column in columns]
    select = f"SELECT id, {', '.join(names)} FROM {table} WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE"  # noqa: S608
    update = f"UPDATE {table} SET {', '.join(f'{name} = %s' for name in names)} WHERE id = %s"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(select, [keys])
        for key, *values in cursor.fetchall():
            try:
                cursor.execute(update, [*map(_anew, values), key])
            except ValueError as error:
                raise CommandError(f"{model._meta.label} {key}: {error}") from error


def _anew(value: Any) -> Any:
    if not value:
        return value
    if isinstance(value, str):
        return encrypt(decrypt(value.encode())).decode()
    return encrypt(decrypt(bytes(value)))
