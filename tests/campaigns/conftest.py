from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def own_files(settings: Any, tmp_path: Path) -> None:
    """Store files in a folder of the test."""
    backend = "django.core.files.storage.FileSystemStorage"
    default = {"BACKEND": backend, "OPTIONS": {"location": tmp_path / "files"}}
    settings.STORAGES = settings.STORAGES | {"default": default}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Collect the messages to workers instead of sending them."""
    messages: list[tuple[str, Any]] = []
    monkeypatch.setattr("campaigns.verbs.imports.enqueue", lambda task, pk: messages.append((task, pk)))
    return messages
