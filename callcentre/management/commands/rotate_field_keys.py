from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.db import models, transaction

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
            for key in keys[start : start + PIECE]:
                _rotate_row(model, key, columns)
    return len(keys)


def _rotate_row(model: type[models.Model], key: Any, columns: list[str]) -> None:
    """Read the columns of a row, which decrypts them, and write them, which encrypts them with the first key."""
    row = model._base_manager.filter(pk=key)
    try:
        for values in row.select_for_update(no_key=True).values(*columns):
            if answer := values.get("answer"):
                values["answer"] = encrypt(decrypt(bytes(answer)))
            row.update(**values)
    except ValueError as error:
        raise CommandError(f"{model._meta.label} {key}: {error}") from error
