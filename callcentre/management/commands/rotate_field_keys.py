from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.db import models, transaction

from callcentre.core.encryption import EncryptedTextField, decrypt, encrypt
from callcentre.models import IdempotencyRecord


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
                keys = list(model._default_manager.order_by("pk").values_list("pk", flat=True))
                for key in keys:
                    _rotate(model, columns, key)
                self.stdout.write(f"{model._meta.label}: {len(keys)} rows")


@transaction.atomic
def _rotate(model: type[models.Model], columns: list[str], key: Any) -> None:
    """Read a row and write it again. By queries, not by verbs, since its values do not change."""
    rows = model._base_manager.filter(pk=key)
    try:
        for values in rows.select_for_update(no_key=True).values(*columns):
            if answer := values.get("answer"):
                values["answer"] = encrypt(decrypt(bytes(answer)))
            rows.update(**values)
    except ValueError as error:
        raise CommandError(f"{model._meta.label} {key}: {error}") from error
