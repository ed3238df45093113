from typing import Any

import pytest


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Collect the messages to workers instead of sending them."""
    messages: list[tuple[str, Any]] = []
    for module in ("imports", "recycling"):
        monkeypatch.setattr(f"campaigns.verbs.{module}.enqueue", lambda task, pk: messages.append((task, pk)))
    return messages
