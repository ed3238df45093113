"""Encryption of columns with keys of their own. A new key is put first in the list; old ones still decrypt."""

from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models


@lru_cache(maxsize=4)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def encrypt(data: bytes) -> bytes:
    return _fernet(tuple(settings.FIELD_ENCRYPTION_KEYS)).encrypt(data)


def decrypt(token: bytes) -> bytes:
    """Decrypt a value. Raise ValueError if no key fits."""
    try:
        return _fernet(tuple(settings.FIELD_ENCRYPTION_KEYS)).decrypt(token)
    except InvalidToken as error:
        raise ValueError("None of FIELD_ENCRYPTION_KEYS decrypts this value.") from error


class EncryptedTextField(models.TextField):  # type: ignore[type-arg]  # generic in the stubs only
    """A text that is encrypted in the database. It cannot be searched or sorted; "" stays ""."""

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> str | None:
        return decrypt(value.encode()).decode() if value else value

    def get_prep_value(self, value: Any) -> Any:
        return encrypt(str(value).encode()).decode() if value else value
