"""Files of tests, in a folder of their own."""

from pathlib import Path
from typing import Any


def use_folder(settings: Any, folder: Path) -> None:
    backend = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(folder)}}
    settings.STORAGES = settings.STORAGES | {"default": backend}
