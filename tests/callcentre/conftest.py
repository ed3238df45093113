import pytest


@pytest.fixture
def no_stores_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let launchers start stores of their own, not those of the test run."""
    for name in ("DATABASE_URL", "REDIS_URL", "CALLCENTRE_VAR"):
        monkeypatch.delenv(name, raising=False)
