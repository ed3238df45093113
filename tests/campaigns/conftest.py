from typing import Any

import pytest
from django.core.cache import cache

from campaigns.models import Campaign
from tests.campaigns.factories import CampaignFactory


@pytest.fixture
def campaign(db: None) -> Campaign:
    """The campaign DEMO1, whose records have two fields."""
    campaign: Campaign = CampaignFactory(code="DEMO1", fields=["first_name", "city"])
    return campaign


@pytest.fixture
def counted_again() -> None:
    """Let the progress of campaigns be counted by the test."""
    cache.clear()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Collect the messages to workers instead of sending them."""
    messages: list[tuple[str, Any]] = []
    for module in ("imports", "recycling"):
        monkeypatch.setattr(f"campaigns.verbs.{module}.enqueue", lambda task, pk: messages.append((task, pk)))
    return messages
