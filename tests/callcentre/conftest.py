import pytest


@pytest.fixture
def no_stores_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launchers start stores of their own, not following the test run."""
    for name in ("DATABASE_URL", "REDIS_URL", "FOLLOW_PARENT", "CALLCENTRE_VAR"):
        monkeypatch.delenv(name, raising=False)
